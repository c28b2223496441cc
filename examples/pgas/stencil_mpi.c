/* stencil.cpp with messages of MPI. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

#include "example_mpi.h"

enum { RADIUS = 2 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const uint64_t n = number(argc, argv, 1, 400), iterations = number(argc, argv, 2, 20);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint64_t first = n * (uint64_t)rank / (uint64_t)ranks,
                 rows = n * ((uint64_t)rank + 1) / (uint64_t)ranks - first;
  double* const all = calloc((rows + 2 * RADIUS) * n, sizeof(double));
  double* const out = calloc(rows * n, sizeof(double));
  double* const in = all + RADIUS * n;
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < n; ++j) in[i * n + j] = (double)(first + i + j);
  double weight[RADIUS + 1];
  for (int d = 1; d <= RADIUS; ++d) weight[d] = 1 / (2.0 * d * RADIUS);
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, behind = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  const int halo = (int)(RADIUS * n);
  MPI_Barrier(MPI_COMM_WORLD);

  const double begin = MPI_Wtime();
  for (uint64_t iteration = 0; iteration < iterations; ++iteration) {
    MPI_Request requests[4];
    MPI_Irecv(all, halo, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in + rows * n, halo, MPI_DOUBLE, behind, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(in, halo, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(in + (rows - RADIUS) * n, halo, MPI_DOUBLE, behind, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    const uint64_t from = first < RADIUS ? RADIUS - first : 0;
    const uint64_t to = first + rows > n - RADIUS ? n - RADIUS - first : rows;
    for (uint64_t i = from; i < to; ++i)
      for (uint64_t j = RADIUS; j < n - RADIUS; ++j) {
        const double* const at = in + i * n + j;
        double sum = 0;
        for (int d = 1; d <= RADIUS; ++d) sum += weight[d] * (at[d] - at[-d]);
        for (uint64_t d = 1; d <= RADIUS; ++d) sum += weight[d] * (at[d * n] - *(at - d * n));
        out[i * n + j] += sum;
      }
    for (uint64_t i = 0; i < rows * n; ++i) in[i] += 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double took = MPI_Wtime() - begin;

  uint64_t bits = 0;
  for (uint64_t i = 0; i < rows * n; ++i) bits += mixed(first * n + i, out[i]);
  MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("bits %016llx, %.6f s\n", (unsigned long long)bits, took);
  free(all);
  free(out);
  MPI_Finalize();
  return 0;
}
