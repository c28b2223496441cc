/* transpose.cpp with messages of MPI: what goes to a rank is packed, and unpacked where it comes. */
#include <mpi.h>
#include <stdio.h>

#include "example_mpi.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const uint64_t n = number(argc, argv, 1, 500);
  int size, me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const uint64_t rank = (uint64_t)me, ranks = (uint64_t)size, mine = (n + ranks - 1 - rank) / ranks;
  double* const before = malloc((4 * mine * n + 4) * sizeof(double));
  double *const after = before + mine * n, *const out = after + mine * n, *const in = out + mine * n;
  int* const counts = malloc(2 * ranks * sizeof *counts);
  int* const starts = counts + ranks;
  for (uint64_t k = 0; k < mine; ++k) /* row k * ranks + rank */
    for (uint64_t j = 0; j < n; ++j) before[k * n + j] = (double)((k * ranks + rank) * n + j);
  MPI_Barrier(MPI_COMM_WORLD);

  const double begin = MPI_Wtime();
  uint64_t packed = 0;
  for (uint64_t other = 0; other < ranks; ++other) { /* which gets the columns that are its rows */
    starts[other] = (int)packed;
    for (uint64_t k = 0; k < mine; ++k)
      for (uint64_t j = other; j < n; j += ranks) out[packed++] = before[k * n + j];
    counts[other] = (int)packed - starts[other]; /* as many come back */
  }
  MPI_Alltoallv(out, counts, starts, MPI_DOUBLE, in, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
  uint64_t at = 0;
  for (uint64_t other = 0; other < ranks; ++other)
    for (uint64_t i = other; i < n; i += ranks)
      for (uint64_t k = 0; k < mine; ++k) after[k * n + i] = in[at++];
  MPI_Barrier(MPI_COMM_WORLD);
  const double took = MPI_Wtime() - begin;

  uint64_t bits = 0;
  for (uint64_t k = 0; k < mine; ++k)
    for (uint64_t j = 0; j < n; ++j) bits += mixed((k * ranks + rank) * n + j, after[k * n + j]);
  MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0) printf("bits %016llx, %.6f s\n", (unsigned long long)bits, took);
  free(before);
  free(counts);
  MPI_Finalize();
  return 0;
}
