/* A transpose as one writes it first: a thread reads a column of the other array, element by element. */
#include <stdio.h>
#include <upc_relaxed.h>
#include <upc_tick.h>

#ifndef N
#define N 256
#endif
#define ROWS (N * THREADS)

shared [N] double from[ROWS][N];
shared [N] double to[ROWS][N]; /* row i * THREADS + k has column i of part k of the other array */

int main(void) {
  upc_forall (int i = 0; i < ROWS; i++; &from[i][0])
    for (int j = 0; j < N; j++) from[i][j] = i * N + j;
  upc_barrier;

  const upc_tick_t begin = upc_ticks_now();
  upc_forall (int i = 0; i < ROWS; i++; &to[i][0]) {
    const int column = i / THREADS, part = i % THREADS * N;
    for (int j = 0; j < N; j++) to[i][j] = from[part + j][column];
  }
  upc_barrier;
  const double seconds = upc_ticks_to_ns(upc_ticks_now() - begin) * 1e-9;

  int wrong = 0;
  upc_forall (int i = 0; i < ROWS; i++; &to[i][0])
    for (int j = 0; j < N; j++) wrong += to[i][j] != (i % THREADS * N + j) * N + i / THREADS;
  if (wrong) {
    fprintf(stderr, "thread %d: %d elements are wrong\n", MYTHREAD, wrong);
    upc_global_exit(1);
  }
  upc_barrier;
  if (MYTHREAD == 0) printf("%d threads: %.6f s\n", THREADS, seconds);
  return 0;
}
