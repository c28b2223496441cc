/* Times between hosts for bench/hosts.py. Run with 2 ranks; rank 0 prints lines of what, bytes and seconds (medians).
 *
 *     hosts                    half ping-pongs ("oneway"); MPI_Send to a rank that waits for nothing else ("send") and
 *                              MPI_Recv of what has arrived before ("recv"), after pauses in which the link is idle
 *     hosts COLLECTIVE BYTES   allreduce, bcast, allgather or alltoall: from a barrier until the last rank is done
 *
 * Bytes are those of the vector, or of a block for allgather and alltoall. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200 };

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

static void wait_for(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) continue;
}

static void pingpong(int rank, char* buffer, int bytes, int count) {
  double there[MOST];
  for (int i = -2; i < count; i++) {
    const double begin = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (i >= 0) there[i] = (MPI_Wtime() - begin) / 2;
    } else {
      MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) printf("oneway %d %.9e\n", bytes, median(there, count));
}

/* Of the processors alone: eager messages, received long after they arrived. */
static void overhead(int rank, char* buffer, int bytes, double pause, int count) {
  double took[MOST], other = 0;
  for (int i = -2; i < count; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) wait_for(pause);
    const double begin = MPI_Wtime();
    if (rank == 0) MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i >= 0) took[i] = MPI_Wtime() - begin;
  }
  double mine = median(took, count);
  if (rank == 1) MPI_Send(&mine, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
  if (rank != 0) return;
  MPI_Recv(&other, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("send %d %.9e\nrecv %d %.9e\n", bytes, mine, bytes, other);
}

static void collective(int rank, int ranks, const char* name, int bytes) {
  enum { TIMES = 9 };
  char* out = calloc((size_t)bytes * (size_t)ranks, 1);
  char* in = calloc((size_t)bytes * (size_t)ranks, 1);
  double took[TIMES];
  for (int i = -2; i < TIMES; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (strcmp(name, "allreduce") == 0) MPI_Allreduce(out, in, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    if (strcmp(name, "bcast") == 0) MPI_Bcast(out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (strcmp(name, "allgather") == 0) MPI_Allgather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
    if (strcmp(name, "alltoall") == 0) MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
    const double mine = MPI_Wtime() - begin;
    double last = 0;
    MPI_Reduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (i >= 0) took[i] = last;
  }
  if (rank == 0) printf("%s %d %.9e\n", name, bytes, median(took, TIMES));
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 2) {
    collective(rank, ranks, argv[1], atoi(argv[2]));
  } else {
    char* buffer = calloc(1 << 20, 1);
    pingpong(rank, buffer, 1, MOST);
    overhead(rank, buffer, 1, 1e-3, 31);
    overhead(rank, buffer, 1 << 15, 5e-3, 31);
    for (int bytes = 1 << 16; bytes <= 1 << 20; bytes *= 4) pingpong(rank, buffer, bytes, 9);
    free(buffer);
  }
  MPI_Finalize();
  return 0;
}
