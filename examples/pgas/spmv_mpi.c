/* spmv.cpp with MPI: every rank gathers the whole vector. */
#include <mpi.h>
#include <stdio.h>

#include "example_mpi.h"

enum { OF_A_ROW = 9 };

static uint64_t column(uint64_t row, uint64_t k, uint64_t n) { return k == 0 ? row : mixed(OF_A_ROW * row + k, 1) % n; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const uint64_t n = number(argc, argv, 1, 3000), iterations = number(argc, argv, 2, 10);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint64_t part = (n + (uint64_t)ranks - 1) / (uint64_t)ranks;
  int* const counts = malloc(2 * (size_t)ranks * sizeof *counts);
  int* const starts = counts + ranks;
  for (int r = 0; r < ranks; ++r) {
    const uint64_t begin = part * (uint64_t)r < n ? part * (uint64_t)r : n, end = begin + part < n ? begin + part : n;
    starts[r] = (int)begin;
    counts[r] = (int)(end - begin);
  }
  const uint64_t first = (uint64_t)starts[rank], rows = (uint64_t)counts[rank];
  double* const x = malloc(n * sizeof *x);
  double* const y = malloc((rows + 1) * sizeof *y);
  uint64_t* const where = malloc((OF_A_ROW * rows + 1) * sizeof *where);
  for (uint64_t i = 0; i < OF_A_ROW * rows; ++i) where[i] = column(first + i / OF_A_ROW, i % OF_A_ROW, n);
  for (uint64_t i = 0; i < rows; ++i) y[i] = 1 + (double)((first + i) % 10);
  MPI_Barrier(MPI_COMM_WORLD);

  const double begin = MPI_Wtime();
  for (uint64_t iteration = 0; iteration < iterations; ++iteration) {
    MPI_Allgatherv(y, (int)rows, MPI_DOUBLE, x, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
    for (uint64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (uint64_t k = 0; k < OF_A_ROW; ++k) sum += (k == 0 ? 2.0 : -0.125) * x[where[OF_A_ROW * i + k]];
      y[i] = sum / 3;
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double took = MPI_Wtime() - begin;

  uint64_t bits = 0;
  for (uint64_t i = 0; i < rows; ++i) bits += mixed(first + i, y[i]);
  MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("bits %016llx, %.6f s\n", (unsigned long long)bits, took);
  free(counts);
  free(x);
  free(y);
  free(where);
  MPI_Finalize();
  return 0;
}
