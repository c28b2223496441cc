/* Persistent collectives started in another order by each rank, many times, as MPI 4 allows: any_order ROUNDS. All
 * ranks say what is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS = 7, MOST = 3000 };
static const int counts[REQUESTS] = {1, 1, MOST, 40, 3, MOST, 0};
static int in[REQUESTS][MOST], out[REQUESTS][MOST];
static MPI_Request requests[REQUESTS];
static MPI_Status statuses[REQUESTS];
static int rank, ranks;

/* Two broadcasts and two sums of few bytes, which are alike in all but their values; long ones; a barrier. */
static void make(void) {
  MPI_Bcast_init(out[0], counts[0], MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(out[1], counts[1], MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Bcast_init(out[2], counts[2], MPI_INT, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  for (int i = 3; i < 6; ++i)
    MPI_Allreduce_init(in[i], out[i], counts[i], MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[6]);
}

static int value(int request, int round, int i) { return 1000 * request + 7 * round + i; }

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  int wrong = 0, level;
  /* Otherwise requests of several nodes are left to the MPI library. */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  srand((unsigned)rank + 1);
  make();
  for (int round = 0; round < rounds; ++round) {
    int order[REQUESTS];
    for (int k = 0; k < REQUESTS; ++k) {
      const int j = rand() % (k + 1);
      order[k] = order[j];
      order[j] = k;
      for (int i = 0; i < counts[k]; ++i) {
        in[k][i] = value(k, round, i);
        out[k][i] = k < 3 && rank == (k < 2 ? 0 : ranks - 1) ? value(k, round, i) : -1;
      }
    }
    const int before = rand() % (REQUESTS + 1); /* a call that waits comes between starts, too */
    int sum = 0;
    for (int k = 0; k <= REQUESTS; ++k) {
      if (k == before) MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (k < REQUESTS) MPI_Start(&requests[order[k]]);
    }
    wrong += sum != round * ranks;
    MPI_Waitall(REQUESTS, requests, statuses); /* compilers warn of MPICH's MPI_STATUSES_IGNORE */
    for (int k = 0; k < REQUESTS; ++k)
      for (int i = 0; i < counts[k]; ++i) wrong += out[k][i] != value(k, round, i) * (k < 3 ? 1 : ranks);
  }
  for (int k = 0; k < REQUESTS; ++k) MPI_Request_free(&requests[k]);
  if (wrong) fprintf(stderr, "rank %d: %d wrong\n", rank, wrong);
  MPI_Finalize();
  return wrong != 0;
}
