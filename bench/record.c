/* Times MPI calls for bench/record.py, with or without the recorder. Prints, from rank 0, lines of
 *
 *   NAME CALLS SECONDS      one round takes SECONDS and consists of CALLS calls
 *
 * medians over batches; and init, finalize (in seconds) and memory (largest resident set, in bytes, in the place of
 * seconds). Run with one rank or two; with two, messages go to the other rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

/* Short batches, so that few of them are interrupted. */
enum { BATCHES = 501, ROUNDS = 100 };

static int rank, ranks;
static char out[8], in[8];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void ask(void) {
  int r;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
}

static void exchange(void) {
  MPI_Request requests[2];
  int peer = ranks - 1 - rank;
  MPI_Irecv(in, 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void exchange_blocking(void) {
  int peer = ranks - 1 - rank;
  MPI_Sendrecv(out, 8, MPI_CHAR, peer, 0, in, 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void reduce(void) {
  double a = 1, b;
  MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void time_rounds(const char* name, int calls, void (*round)(void)) {
  double times[BATCHES];
  for (int i = 0; i < ROUNDS; i++) round();
  for (int b = 0; b < BATCHES; b++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (int i = 0; i < ROUNDS; i++) round();
    times[b] = (now() - begin) / ROUNDS;
  }
  qsort(times, BATCHES, sizeof *times, ascending);
  if (rank == 0) printf("%s %d %.6e\n", name, calls, times[BATCHES / 2]);
}

int main(int argc, char** argv) {
  struct rusage usage;
  double begin = now();
  MPI_Init(&argc, &argv);
  double init = now() - begin;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 2) MPI_Abort(MPI_COMM_WORLD, 2);
  time_rounds("Comm_rank", 1, ask);
  time_rounds("Irecv+Isend+Waitall", 3, exchange);
  time_rounds("Sendrecv", 1, exchange_blocking);
  time_rounds("Allreduce", 1, reduce);
  MPI_Barrier(MPI_COMM_WORLD);
  begin = now();
  MPI_Finalize();
  getrusage(RUSAGE_SELF, &usage);
  if (rank == 0)
    printf("init 1 %.6e\nfinalize 1 %.6e\nmemory 1 %.6e\n", init, now() - begin, 1024.0 * (double)usage.ru_maxrss);
  return 0;
}
