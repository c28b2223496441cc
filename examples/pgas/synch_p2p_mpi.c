/* synch_p2p.cpp with messages of MPI. */
#include <mpi.h>
#include <stdio.h>

#include "example_mpi.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const uint64_t n = number(argc, argv, 1, 300), m = number(argc, argv, 2, 200), iterations = number(argc, argv, 3, 5);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint64_t first = n * (uint64_t)rank / (uint64_t)ranks,
                 columns = n * ((uint64_t)rank + 1) / (uint64_t)ranks - first, row = columns + 1;
  double* const grid = calloc(m * row, sizeof(double));
  for (uint64_t j = 0; j <= columns; ++j)
    if (first + j > 0) grid[j] = (double)(first + j - 1);
  for (uint64_t i = 0; i < m && rank == 0; ++i) grid[i * row + 1] = (double)i;
  MPI_Barrier(MPI_COMM_WORLD);

  const double begin = MPI_Wtime();
  for (uint64_t iteration = 0; iteration < iterations; ++iteration) {
    for (uint64_t i = 1; i < m; ++i) {
      double* const now = &grid[i * row];
      const double* const above = now - row;
      if (rank > 0) MPI_Recv(now, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (uint64_t j = rank == 0 ? 2 : 1; j <= columns; ++j) now[j] = above[j] + now[j - 1] - above[j - 1];
      if (rank + 1 < ranks) MPI_Send(now + columns, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    }
    double corner = -grid[(m - 1) * row + columns];
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank + 1 == ranks) MPI_Isend(&corner, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &request);
    if (rank == 0) MPI_Recv(grid + 1, 1, MPI_DOUBLE, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double took = MPI_Wtime() - begin;

  uint64_t bits = 0;
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 1; j <= columns; ++j) bits += mixed(i * n + first + j - 1, grid[i * row + j]);
  MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("bits %016llx, %.6f s\n", (unsigned long long)bits, took);
  free(grid);
  MPI_Finalize();
  return 0;
}
