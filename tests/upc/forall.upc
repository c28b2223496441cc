/* upc_forall: who does which iterations, section 6.6.2. */
#include <upc.h>
#include "check.h"

#define N 53
shared int owner[N * THREADS];
shared [4] int blocks[N * THREADS];
int mine[N * 16];

static int inner(void) {
  int done = 0;
  upc_forall (int i = 0; i < N; i++; i) ++done;
  return done;
}

int main(void) {
  int i, j, count = 0, turns = 0;
  upc_forall (i = 0; i < N * THREADS; i++; &owner[i]) owner[i] = MYTHREAD + 1;
  CHECK(i == N * THREADS);
  upc_forall (i = 0; i < N * THREADS; ++i; &blocks[i]) blocks[i] = MYTHREAD + 1;
  upc_barrier;
  for (i = 0; i < N * THREADS; i++) CHECK(owner[i] == i % THREADS + 1 && blocks[i] == i / 4 % THREADS + 1);
  upc_forall (i = -N; i < N; i += 3; i) CHECK(((i % THREADS) + THREADS) % THREADS == MYTHREAD);
  upc_forall (i = 0; i < N; i++; continue) ++count;
  CHECK(count == N);
  upc_forall (i = 0; i < 3; i++;) ++count;
  CHECK(count == N + 3);
  upc_forall (i = 0, j = N; i < j; i++, --j; i * 2) {
    if (i % 3 == 0) continue;
    CHECK(2 * i % THREADS == MYTHREAD);
  }
  /* The outermost one that deals out does so, lexically and in calls. */
  count = 0;
  upc_forall (i = 0; i < N; i++; i) {
    ++turns;
    upc_forall (j = 0; j < 5; j++; j) ++count;
    CHECK(inner() == N);
  }
  CHECK(count == 5 * turns && turns == N / THREADS + (MYTHREAD < N % THREADS));
  count = 0;
  upc_forall (i = 0; i < 4; i++; continue) upc_forall (j = 0; j < THREADS; j++; j) {
    ++count;
    CHECK(j == MYTHREAD);
  }
  CHECK(count == 4);
  CHECK(inner() == N / THREADS + (MYTHREAD < N % THREADS));
  upc_forall (i = N * THREADS - 1; i >= 0; i--; &blocks[i]) ++mine[i];
  for (i = 0; i < N * THREADS; i++) CHECK(mine[i] == (i / 4 % THREADS == MYTHREAD));
  unsigned long big;
  upc_forall (big = 0; big < 20; big++; big) CHECK(big % THREADS == MYTHREAD);
  shared [4] int* p;
  count = 0;
  upc_forall (p = blocks; p < blocks + N * THREADS; p++; p) count += *p;
  int have = 0;
  for (i = 0; i < N * THREADS; i++) have += i / 4 % THREADS == MYTHREAD;
  CHECK(count == have * (MYTHREAD + 1));
  RIGHT();
  return 0;
}
