/* Separate compilation: with parts.upc, and plain.c, which knows nothing of UPC. */
#include "parts.h"
#include "check.h"

shared [2] int values[4 * THREADS];
shared int only_here;
int plain(int* values, int count);

int main(void) {
  fill(7);
  upc_barrier;
  for (int i = 0; i < 4 * THREADS; ++i) CHECK(values[i] == 7 + i);
  CHECK(own() == 5 && plain((int*)&values[2 * MYTHREAD], 2) == 14 + 4 * MYTHREAD + 1);
  CHECK(head == &values[3]);
  upc_forall (int i = 0; i < 3; ++i; i) CHECK(in_other_file() == 4);
  RIGHT();
  return 0;
}
