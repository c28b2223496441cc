/* Reads kept from one loop to the next: what has changed is read again. */
#include <upc_relaxed.h>
#include "check.h"

#define N 40
shared long single[N * THREADS], other[N * THREADS];
shared [N] long row[N * THREADS][N];
strict shared int flag;
upc_lock_t *lock;

static long sum(void) { /* kept from one turn to the next, and not from one call to the next */
  long found = 0;
  for (int turn = 0; turn < 3; ++turn)
    for (int i = 0; i < N * THREADS; ++i) found += single[i];
  return found;
}
#define ALL (N * THREADS)
static int wrong;
#define CHECK_LATER(condition) (wrong += !(condition)) /* without a call */

static void turns(long *through, int into) {
  long found = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < ALL; ++i) {
      found += single[i];
      if (into && turn && i % THREADS == MYTHREAD) CHECK_LATER(single[i] == turn * 1000 - 1000 + i / THREADS);
    }
    for (int i = 0; i < N; ++i) through[i] = turn * 1000 + i;
  }
}

int main(void) {
  long found = 0, mine[ALL];
  shared long *const pointer = single;
  if (MYTHREAD == 0) for (int i = 0; i < ALL; ++i) single[i] = i, other[i] = 0;
  lock = upc_all_lock_alloc();
  upc_barrier;
  /* Other arrays are written meanwhile. */
  for (int turn = 0; turn < 4; ++turn) {
    for (int i = 0; i < ALL; ++i) other[i] = single[i] + turn;
    for (int i = 0; i < ALL; ++i) mine[i] = single[i];
  }
  upc_barrier;
  for (int i = 0; i < ALL; ++i) CHECK(mine[i] == i && other[i] == i + 3);
  upc_barrier;
  /* A private pointer that leads to memory of the thread, or into the array. */
  turns(mine, 0);
  upc_barrier;
  turns((long *)&single[MYTHREAD], 1);
  upc_barrier;
  for (int i = 0; i < ALL; ++i) CHECK(single[i] == 2000 + i / THREADS);
  upc_barrier;
  /* The array itself is written, by its name. */
  if (MYTHREAD == THREADS - 1)
    for (int turn = 0; turn < 4; ++turn) {
      for (int i = 0; i < ALL; ++i) mine[i] = single[i];
      for (int i = 0; i < ALL; ++i) single[i] = mine[i] + 1;
    }
  upc_barrier;
  for (int i = 0; i < ALL; ++i) CHECK(single[i] == 2004 + i / THREADS);
  /* And by a pointer. */
  if (MYTHREAD == THREADS - 1)
    for (int turn = 0; turn < 4; ++turn) {
      for (int i = 0; i < ALL; ++i) mine[i] = single[i];
      for (int i = 0; i < N; ++i) pointer[2 * i] = mine[2 * i] + 1;
    }
  upc_barrier;
  for (int i = 0; i < 2 * N; i += 2) CHECK(single[i] == 2008 + i / THREADS);
  upc_barrier;
  if (MYTHREAD == 0) for (int i = 0; i < ALL; ++i) single[i] = 1;
  upc_barrier;
  CHECK(sum() == 3 * ALL);
  upc_barrier;
  /* Synchronisation of each kind between two calls, or between two loops. */
  for (int round = 2; round < 5; ++round) {
    upc_barrier;
    if (MYTHREAD == round % THREADS) for (int i = 0; i < ALL; ++i) single[i] = round;
    upc_notify round;
    upc_wait round;
    CHECK(sum() == 3 * ALL * round);
  }
  upc_barrier;
  for (int round = 0; round < 4; ++round) {
    upc_lock(lock);
    long before = 0, after = 0;
    for (int i = 0; i < ALL; ++i) before += single[i];
    if (before == single[0] * ALL) for (int i = 0; i < ALL; ++i) single[i] = before / ALL + 1;
    else CHECK(0);
    for (int i = 0; i < ALL; ++i) after += single[i];
    CHECK(after == before + ALL);
    upc_unlock(lock);
  }
  upc_barrier;
  CHECK(sum() == 3L * ALL * (4 + 4 * THREADS));
  upc_barrier;
  /* A strict flag says that the other thread has written. */
  if (MYTHREAD == 0) {
    for (int i = 0; i < ALL; ++i) single[i] = 77;
    flag = 1;
  } else {
    for (int turn = 0; !found || turn < 1; ++turn) {
      long now = 0;
      while (!flag) {}
      for (int i = 0; i < ALL; ++i) now += single[i];
      CHECK(now == 77 * ALL);
      found = 1;
    }
  }
  upc_barrier;
  /* Rows of an array, in a dealt loop. */
  upc_forall (int i = 0; i < ALL; ++i; &row[i][0])
    for (int j = 0; j < N; ++j) row[i][j] = i * N + j;
  upc_barrier;
  upc_forall (int i = 0; i < N; ++i; i) {
    for (int k = 0; k < N; ++k) {
      long now = 0;
      for (int j = 0; j < ALL; ++j) now += row[j][i];
      CHECK_LATER(now == (long)N * ALL * (ALL - 1) / 2 + (long)ALL * i);
    }
  }
  CHECK(wrong == 0);
  RIGHT();
  return 0;
}
