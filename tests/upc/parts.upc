#include "parts.h"

static shared int only_here = 5;
shared [2] int* head = &values[3];

void fill(int from) {
  upc_forall (int i = 0; i < 4 * THREADS; i++; &values[i]) values[i] = from + i;
}
int own(void) { return only_here; }
int in_other_file(void) {
  int count = 0;
  upc_forall (int i = 0; i < 4; ++i; i) ++count;
  return count;
}
