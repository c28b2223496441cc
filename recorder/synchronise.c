/* Offsets between the clocks of hosts: along a binomial tree, so that the time it takes grows with the logarithm of
 * their number. Each pair exchanges messages to and fro; the exchange that took the least time says most. */
#include <stdlib.h>

#include "recorder.h"

enum { EXCHANGES = 20, TAG = 4711 };

static void answer(MPI_Comm comm, int child, const struct trace_sync* own) {
  for (int i = 0; i < EXCHANGES; i++) {
    int64_t now;
    PMPI_Recv(&now, 1, MPI_INT64_T, child, TAG, comm, MPI_STATUS_IGNORE);
    now = clock_now();
    PMPI_Send(&now, 1, MPI_INT64_T, child, TAG, comm);
  }
  PMPI_Send((void*)own, sizeof *own, MPI_BYTE, child, TAG, comm);
}

static void ask(MPI_Comm comm, int parent, struct trace_sync* own) {
  int64_t best = INT64_MAX, offset = 0, local = 0;
  for (int i = 0; i < EXCHANGES; i++) {
    int64_t there, before = clock_now();
    PMPI_Send(&before, 1, MPI_INT64_T, parent, TAG, comm);
    PMPI_Recv(&there, 1, MPI_INT64_T, parent, TAG, comm, MPI_STATUS_IGNORE);
    int64_t after = clock_now();
    if (after - before >= best) continue;
    best = after - before;
    local = before + best / 2;
    offset = there - local;
  }
  struct trace_sync parents;
  PMPI_Recv(&parents, sizeof parents, MPI_BYTE, parent, TAG, comm, MPI_STATUS_IGNORE);
  own->local_ns = local;
  own->offset_ns = offset + parents.offset_ns;
  own->error_ns = best / 2 + parents.error_ns;
}

static void along_tree(MPI_Comm comm, struct trace_sync* own) {
  int rank, size, step = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  while (step < size) step *= 2;
  for (step /= 2; step > 0; step /= 2) {
    if (rank % (2 * step) == 0 && rank + step < size) answer(comm, rank + step, own);
    if (rank % (2 * step) == step) ask(comm, rank - step, own);
  }
}

void synchronise(struct trace_sync* sync, int* world_local) {
  MPI_Comm host, leaders;
  int ranks, rank_here, ranks_here;
  *sync = (struct trace_sync){.local_ns = clock_now()};
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  PMPI_Comm_rank(host, &rank_here);
  PMPI_Comm_size(host, &ranks_here);
  if (world_local) *world_local = ranks_here;
  const char* force = getenv("ISTHMUS_SYNCHRONISE");
  const bool forced = force && force[0] == '1';
  if (ranks_here < ranks || forced) {
    PMPI_Comm_split(MPI_COMM_WORLD, forced || rank_here == 0 ? 0 : MPI_UNDEFINED, 0, &leaders);
    if (leaders != MPI_COMM_NULL) {
      along_tree(leaders, sync);
      PMPI_Comm_free(&leaders);
    }
    if (!forced) PMPI_Bcast(sync, sizeof *sync, MPI_BYTE, 0, host);
  }
  PMPI_Comm_free(&host);
}
