/* Litmus programs of the memory model: store buffering and message passing with strict accesses. */
#include <upc_strict.h>
#include "check.h"

strict shared int x, y;
relaxed shared int data[THREADS];
strict shared int flag[THREADS];
shared [] int seen[2];

int main(void) {
  const int rounds = 2000;
  for (int i = 1; i <= rounds; ++i) {
    if (MYTHREAD == 0) {
      x = i;
      seen[0] = y;
    } else if (MYTHREAD == 1) {
      y = i;
      seen[1] = x;
    }
    upc_barrier;
    if (THREADS > 1) CHECK(seen[0] == i || seen[1] == i);
    upc_barrier;
  }
  if (THREADS > 1 && MYTHREAD < 2)
    for (int i = 1; i <= rounds; ++i) {
      if (MYTHREAD == 0) {
#pragma upc relaxed
        data[1] = i;
        flag[1] = i;
        while (flag[0] != i) continue;
      } else {
        while (flag[1] != i) continue;
        CHECK(data[1] == i);
        flag[0] = i;
      }
    }
  RIGHT();
  return 0;
}
