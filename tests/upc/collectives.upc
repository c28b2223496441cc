/* All collectives, with all ways to synchronise, and atomic operations. */
#include <upc.h>
#include <upc_atomic.h>
#include <upc_collective.h>
#include "check.h"

#define N 6
shared [N] int from[N * THREADS];
shared [N] int to[N * THREADS];
/* For up to 16 threads. */
shared [N * 16] int wide[THREADS][N * 16], other[THREADS][N * 16];
shared [] int single[N * 16];
shared int perm[THREADS];
shared [3] double terms[N * THREADS], sums[N * THREADS];
shared double total;
shared long counter;
shared int *shared pointer;

static double product(double a, double b) { return a * b; }

static void moves(upc_flag_t flags) {
  for (int i = 0; i < N; ++i) from[N * MYTHREAD + i] = 100 * MYTHREAD + i, to[N * MYTHREAD + i] = -1;
  for (int i = 0; i < N * THREADS; ++i) wide[MYTHREAD][i] = 1000 * MYTHREAD + i, other[MYTHREAD][i] = -1;
  perm[MYTHREAD] = (MYTHREAD + 1) % THREADS;
  if (!MYTHREAD)
    for (int i = 0; i < N * THREADS; ++i) single[i] = i;
  upc_barrier;
  const int root = THREADS - 1;
  upc_all_broadcast(to, &from[N * root], N * sizeof(int), flags);
  upc_barrier;
  for (int i = 0; i < N; ++i) CHECK(to[N * MYTHREAD + i] == 100 * root + i);
  upc_barrier;
  upc_all_scatter(to, single, N * sizeof(int), flags);
  upc_barrier;
  for (int i = 0; i < N; ++i) CHECK(to[N * MYTHREAD + i] == N * MYTHREAD + i);
  upc_barrier;
  upc_all_gather(&other[root][0], from, N * sizeof(int), flags);
  upc_barrier;
  for (int i = 0; i < N * THREADS; ++i) CHECK(other[root][i] == 100 * (i / N) + i % N);
  upc_barrier;
  upc_all_gather_all(other, from, N * sizeof(int), flags);
  upc_barrier;
  for (int i = 0; i < N * THREADS; ++i) CHECK(other[MYTHREAD][i] == 100 * (i / N) + i % N);
  upc_barrier;
  upc_all_exchange(other, wide, N * sizeof(int), flags);
  upc_barrier;
  for (int i = 0; i < N * THREADS; ++i) CHECK(other[MYTHREAD][i] == 1000 * (i / N) + N * MYTHREAD + i % N);
  upc_barrier;
  upc_all_permute(to, from, perm, N * sizeof(int), flags);
  upc_barrier;
  const int before = (MYTHREAD + THREADS - 1) % THREADS;
  for (int i = 0; i < N; ++i) CHECK(to[N * MYTHREAD + i] == 100 * before + i);
  upc_barrier;
}

static void reductions(upc_flag_t flags) {
  for (int i = 0; i < N * THREADS; ++i)
    if (upc_threadof(&terms[i]) == MYTHREAD) terms[i] = i + 1;
  upc_barrier;
  upc_all_reduceD(&total, terms, UPC_ADD, N * THREADS, 3, NULL, flags);
  upc_barrier;
  CHECK(total == N * THREADS * (N * THREADS + 1) / 2);
  upc_barrier;
  upc_all_reduceD(&total, terms, UPC_FUNC, 5, 3, product, flags);
  upc_barrier;
  CHECK(total == 120);
  upc_barrier;
  upc_all_reduceD(&total, terms + 4, UPC_MAX, 2, 3, NULL, flags);
  upc_barrier;
  CHECK(total == 6);
  upc_all_prefix_reduceD(sums, terms, UPC_ADD, N * THREADS, 3, NULL, flags);
  upc_barrier;
  for (int i = 0; i < N * THREADS; ++i) CHECK(sums[i] == (i + 1) * (i + 2) / 2);
  upc_barrier;
}

static void atomics(void) {
  upc_atomicdomain_t* longs = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_GET | UPC_MULT | UPC_INC | UPC_CSWAP | UPC_SET, 0);
  upc_atomicdomain_t* pointers = upc_all_atomicdomain_alloc(UPC_PTS, UPC_GET | UPC_SET | UPC_CSWAP, 0);
  long one = 1, got, three = 3;
  shared int *first = &perm[0], *null = NULL, *was;
  if (!MYTHREAD) counter = 0, pointer = NULL;
  upc_barrier;
  for (int i = 0; i < 50; ++i) upc_atomic_relaxed(longs, NULL, UPC_ADD, &counter, &one, NULL);
  for (int i = 0; i < 50; ++i) upc_atomic_strict(longs, &got, UPC_INC, &counter, NULL, NULL);
  upc_atomic_relaxed(pointers, &was, UPC_CSWAP, &pointer, &null, &first);
  CHECK(was == NULL || was == first);
  upc_barrier;
  upc_atomic_relaxed(longs, &got, UPC_GET, &counter, NULL, NULL);
  CHECK(got == 100 * THREADS && pointer == first);
  upc_barrier;
  if (!MYTHREAD) {
    upc_atomic_relaxed(longs, &got, UPC_SET, &counter, &three, NULL);
    CHECK(got == 100 * THREADS);
    upc_atomic_relaxed(longs, &got, UPC_CSWAP, &counter, &three, &one);
    CHECK(got == 3 && counter == 1);
    upc_atomic_relaxed(longs, &got, UPC_MULT, &counter, &three, NULL);
    CHECK(got == 1 && counter == 3);
  }
  upc_all_atomicdomain_free(longs);
  upc_all_atomicdomain_free(pointers);
}

int main(void) {
  const upc_flag_t in[] = {UPC_IN_ALLSYNC, UPC_IN_MYSYNC, UPC_IN_NOSYNC};
  const upc_flag_t out[] = {UPC_OUT_ALLSYNC, UPC_OUT_MYSYNC, UPC_OUT_NOSYNC};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) moves(in[i] | out[j]), reductions(in[i] | out[j]);
  moves(0);
  atomics();
  RIGHT();
  return 0;
}
