/* What the probes print of a case. Every one is one source file, so that it is static. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Rank 0 prints what every rank has sent between two counts of messages and bytes. */
static void print_case(int number, const unsigned long long before[2], const unsigned long long after[2]) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const unsigned long long sent[2] = {after[0] - before[0], after[1] - before[1]};
  unsigned long long* all = malloc((size_t)ranks * sizeof sent);
  if (!all) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Gather(sent, 2, MPI_UNSIGNED_LONG_LONG, all, 2, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("isthmus-case %d", number);
    for (int i = 0; i < 2 * ranks; i++) printf(" %llu", all[i]);
    printf("\n");
    fflush(stdout);
  }
  free(all);
}
