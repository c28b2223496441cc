/* Reads that may not be kept from one loop to the next, although the statements between look harmless. */
#include <upc_relaxed.h>
#include "check.h"

#define N 32
#define ALL (N * THREADS)
shared long a[N * THREADS];
shared int ready[8 * THREADS], begun;
static int wrong;

static int meet(int value) {
  upc_barrier;
  if (MYTHREAD == THREADS - 1) for (int i = 0; i < ALL; ++i) a[i] = value;
  upc_barrier;
  return 1;
}
static void ends(int *value) { meet(*value); }

int main(void) {
  /* The array is written by C through its name. */
  upc_forall (int i = 0; i < ALL; ++i; i) a[i] = 1000 + i;
  upc_barrier;
  if (MYTHREAD == 0)
    for (int i = 0; i < ALL; ++i) {
      if (i % THREADS == 0) wrong += a[i] != (i ? 7 : 1000);
      if (i / THREADS + 1 < N) ((long *)(a + MYTHREAD))[i / THREADS + 1] = 7;
    }
  upc_barrier;
  CHECK(wrong == 0);
  if (MYTHREAD == 0)
    for (int turn = 0; turn < 3; ++turn) {
      for (int i = 0; i < ALL; ++i) wrong += i % THREADS == 0 && turn && a[i] != turn * 10 - 10;
      for (int k = 0; k < N; ++k) ((long *)a)[k] = turn * 10;
    }
  upc_barrier;
  CHECK(wrong == 0);
  /* A function is called when the life of a variable ends, or for a length. */
  meet(1);
  for (int i = 0; i < ALL; ++i) wrong += a[i] != 1;
  {
    int value __attribute__((cleanup(ends))) = 2;
    (void)value;
  }
  for (int i = 0; i < ALL; ++i) wrong += a[i] != 2;
  upc_barrier;
  for (int i = 0; i < ALL; ++i) wrong += a[i] != 2;
  wrong += (int)sizeof(char[meet(3)]) - 1;
  for (int i = 0; i < ALL; ++i) wrong += a[i] != 3;
  void *none = (char (*)[meet(4)])0;
  for (int i = 0; i < ALL; ++i) wrong += a[i] != 4;
  CHECK(wrong == 0 && !none);
  /* A loop that counts waits for another thread all the same. */
  for (int i = 0; i < 8; ++i) ready[i * THREADS + MYTHREAD] = MYTHREAD == 0;
  upc_barrier;
  if (MYTHREAD == 0) {
    int sum = 0;
    for (long look = 0; look < 100000; ++look) {
      sum = 0;
      for (int i = 0; i < 8 * THREADS; ++i) sum += ready[i];
      begun = 1;
      if (sum == 8 * THREADS) break;
    }
    CHECK(sum == 8 * THREADS);
  } else {
    while (!begun) {}
    for (int i = 0; i < 8; ++i) ready[i * THREADS + MYTHREAD] = 1;
  }
  RIGHT();
  return 0;
}
