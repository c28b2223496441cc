/* gups.cpp by windows of MPI: MPI_Accumulate is atomic for each word. */
#include <mpi.h>
#include <stdio.h>

#include "example_mpi.h"

static uint64_t next(uint64_t random) { return random << 1 ^ ((int64_t)random < 0 ? 7 : 0); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const uint64_t size = (uint64_t)1 << number(argc, argv, 1, 16), updates = number(argc, argv, 2, 20000);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint64_t part = size / (uint64_t)ranks + 1, first = part * (uint64_t)rank;
  const uint64_t mine = first >= size ? 0 : size - first < part ? size - first : part;
  uint64_t* table;
  MPI_Win window;
  MPI_Win_allocate((MPI_Aint)(part * sizeof *table), sizeof *table, MPI_INFO_NULL, MPI_COMM_WORLD, &table, &window);
  for (uint64_t i = 0; i < mine; ++i) table[i] = first + i;
  MPI_Barrier(MPI_COMM_WORLD);

  double took = 0;
  uint64_t sums[2] = {0, 0}; /* bits; wrong words */
  for (int time = 0; time < 2; ++time) {
    const double begin = MPI_Wtime();
    uint64_t random = mixed((uint64_t)rank + 1, 1);
    MPI_Win_lock_all(0, window);
    for (uint64_t i = 0; i < updates; ++i) {
      random = next(random);
      const uint64_t at = random & (size - 1);
      MPI_Accumulate(&random, 1, MPI_UINT64_T, (int)(at / part), (MPI_Aint)(at % part), 1, MPI_UINT64_T, MPI_BXOR,
                     window);
      MPI_Win_flush_local((int)(at / part), window); /* the number changes */
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    took += MPI_Wtime() - begin;
    if (time == 0)
      for (uint64_t i = 0; i < mine; ++i) sums[0] += (table[i] ^ (first + i)) * (2 * (first + i) + 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (uint64_t i = 0; i < mine; ++i) sums[1] += table[i] != first + i;
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%llu wrong, bits %016llx, %.6f s\n", (unsigned long long)sums[1], (unsigned long long)sums[0], took);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
