/* One collective for SMPI to simulate: bench/network.py runs it.
 *
 *     collective alltoall|allreduce BYTES
 *
 * Prints the simulated seconds of the slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int alltoall = strcmp(argv[1], "alltoall") == 0;
  const int bytes = atoi(argv[2]);
  char* out = calloc(alltoall ? (size_t)bytes * ranks : (size_t)bytes, 1);
  char* in = calloc(alltoall ? (size_t)bytes * ranks : (size_t)bytes, 1);
  const double begin = MPI_Wtime();
  if (alltoall) MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
  else MPI_Allreduce(out, in, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - begin;
  double slowest = 0;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("simulated %.9e\n", slowest);
  MPI_Finalize();
  return 0;
}
