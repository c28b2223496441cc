/* Times a call of MPI at several depths of the stack, for bench/record.py; C and C++. Prints, from rank 0, lines of
 *
 *   DEPTH CALLS SECONDS      a call takes SECONDS, the median over batches
 *
 * Functions are called from two places in turn, so that paths change from call to call. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 301, ROUNDS = 200 };
static const int depths[] = {5, 15, 40};
static volatile int sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void batch(void) {
  double a = 1, b;
  for (int i = 0; i < ROUNDS; i++) MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

/* So many frames below; frames are of different sizes. */
static __attribute__((noinline)) void deep(int frames, int other) {
  volatile char room[48];
  room[0] = (char)frames;
  if (frames <= 1) batch();
  else if (other) deep(frames - 1, !other);
  else deep(frames - 1, !other);
  sink += room[0];
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
    static double times[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
      const double begin = now();
      deep(depths[d] - 1, b % 2); /* main is a frame, too */
      times[b] = (now() - begin) / ROUNDS;
    }
    qsort(times, BATCHES, sizeof *times, ascending);
    if (rank == 0) printf("%d 1 %.6e\n", depths[d], times[BATCHES / 2]);
  }
  MPI_Finalize();
  return 0;
}
