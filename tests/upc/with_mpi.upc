/* A program of UPC that begins and ends MPI itself, as one of MPI does, and uses both in turns. */
#include <mpi.h>
#include <upc_relaxed.h>
#include "check.h"

#define N 100
shared [N] double part[THREADS][N];

int main(int argc, char** argv) {
  int rank, size, begun, given;
  MPI_Init(&argc, &argv);
  MPI_Initialized(&begun);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(begun && rank == MYTHREAD && size == THREADS);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &given);
  CHECK(given >= MPI_THREAD_FUNNELED);
  for (int turn = 0; turn < 10; ++turn) {
    const int next = (MYTHREAD + 1) % THREADS, before = (MYTHREAD + THREADS - 1) % THREADS;
    double sum = 0, all = 0, from = 0, to = MYTHREAD + 100 * turn;
    for (int i = 0; i < N; ++i) part[next][i] = MYTHREAD + i + turn; /* in the memory of the next thread */
    upc_barrier;
    for (int i = 0; i < N; ++i) sum += part[MYTHREAD][i];
    CHECK(sum == N * (double)(before + turn) + N * (N - 1) / 2);
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == THREADS * (N * (double)turn + N * (N - 1) / 2) + N * (double)(THREADS * (THREADS - 1) / 2));
    MPI_Sendrecv(&to, 1, MPI_DOUBLE, next, 7, &from, 1, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(from == before + 100 * turn);
    upc_barrier;
  }
  MPI_Finalize();
  CHECK(part[(MYTHREAD + 1) % THREADS][1] == MYTHREAD + 10);
  RIGHT();
  return 0;
}
