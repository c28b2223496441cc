/* A stencil as one writes it first: rows are dealt out one by one, every element is read where it is needed. */
#include <stdio.h>
#include <upc_relaxed.h>
#include <upc_tick.h>

#ifndef N
#define N 256
#endif
#define ROWS (N * THREADS)

shared [N] double now[ROWS][N], next[ROWS][N];

int main(void) {
  upc_forall (int i = 0; i < ROWS; i++; &now[i][0])
    for (int j = 0; j < N; j++) now[i][j] = 3 * i + 5 * j;
  upc_barrier;

  const upc_tick_t begin = upc_ticks_now();
  upc_forall (int i = 1; i < ROWS - 1; i++; &next[i][0])
    for (int j = 1; j < N - 1; j++)
      next[i][j] = 0.25 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
  upc_barrier;
  const double seconds = upc_ticks_to_ns(upc_ticks_now() - begin) * 1e-9;

  int wrong = 0; /* the mean of the neighbours of a plane is the plane */
  upc_forall (int i = 1; i < ROWS - 1; i++; &next[i][0])
    for (int j = 1; j < N - 1; j++) wrong += next[i][j] != 3 * i + 5 * j;
  if (wrong) {
    fprintf(stderr, "thread %d: %d elements are wrong\n", MYTHREAD, wrong);
    upc_global_exit(1);
  }
  upc_barrier;
  if (MYTHREAD == 0) printf("%d threads: %.6f s\n", THREADS, seconds);
  return 0;
}
