/* All collectives, blocking and not, in place and not. */
#include "known.h"

#define BLOCK 3 /* integers */
#define B (4LL * BLOCK)
static int a[RANKS_MAX * RANKS_MAX * BLOCK], b[RANKS_MAX * RANKS_MAX * BLOCK];
static int counts[RANKS_MAX], displs[RANKS_MAX], byte_displs[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];

#define EVERY(call, icall)                 \
  do {                                     \
    MPI_Request request;                   \
    call;                                  \
    icall;                                 \
    MPI_Wait(&request, MPI_STATUS_IGNORE); \
  } while (0)

static void twice(const char* kind, long long in, long long out) {
  moved(kind, in, out);
  moved(kind, in, out);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  begin_known();
  const MPI_Comm w = MPI_COMM_WORLD;
  const int root = ranks - 1, is_root = rank == root;
  long long sum = 0;
  for (int i = 0; i < ranks; i++) {
    counts[i] = i; /* rank 0's block is empty */
    displs[i] = i * BLOCK * ranks;
    byte_displs[i] = 4 * displs[i];
    types[i] = MPI_INT;
    sum += 4 * i;
  }
  const long long own = 4 * rank, all = B * ranks;
  EVERY(MPI_Barrier(w), MPI_Ibarrier(w, &request));
  twice("barrier", 0, 0);
  EVERY(MPI_Bcast(a, BLOCK, MPI_INT, root, w), MPI_Ibcast(a, BLOCK, MPI_INT, root, w, &request));
  twice("bcast", is_root ? B : 0, is_root ? 0 : B);
  EVERY(MPI_Reduce(is_root ? MPI_IN_PLACE : a, is_root ? b : NULL, BLOCK, MPI_INT, MPI_SUM, root, w),
        MPI_Ireduce(a, b, BLOCK, MPI_INT, MPI_SUM, root, w, &request));
  twice("reduce", B, is_root ? B : 0);
  EVERY(MPI_Allreduce(MPI_IN_PLACE, b, BLOCK, MPI_INT, MPI_SUM, w),
        MPI_Iallreduce(a, b, BLOCK, MPI_INT, MPI_SUM, w, &request));
  twice("allreduce", B, B);
  EVERY(
      MPI_Gather(is_root ? MPI_IN_PLACE : a, BLOCK, is_root ? MPI_DATATYPE_NULL : MPI_INT, b, BLOCK, MPI_INT, root, w),
      MPI_Igather(a, BLOCK, MPI_INT, b, BLOCK, MPI_INT, root, w, &request));
  twice("gather", B, is_root ? all : 0);
  EVERY(MPI_Scatter(a, BLOCK, MPI_INT, is_root ? MPI_IN_PLACE : b, BLOCK, MPI_INT, root, w),
        MPI_Iscatter(a, BLOCK, MPI_INT, b, BLOCK, MPI_INT, root, w, &request));
  twice("scatter", is_root ? all : 0, B);
  EVERY(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, BLOCK, MPI_INT, w),
        MPI_Iallgather(a, BLOCK, MPI_INT, b, BLOCK, MPI_INT, w, &request));
  twice("allgather", B, all);
  EVERY(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, BLOCK, MPI_INT, w),
        MPI_Ialltoall(a, BLOCK, MPI_INT, b, BLOCK, MPI_INT, w, &request));
  twice("alltoall", all, all);
  EVERY(MPI_Gatherv(a, rank, MPI_INT, b, counts, displs, MPI_INT, root, w),
        MPI_Igatherv(a, rank, MPI_INT, b, counts, displs, MPI_INT, root, w, &request));
  twice("gather", own, is_root ? sum : 0);
  EVERY(MPI_Scatterv(a, counts, displs, MPI_INT, b, rank, MPI_INT, root, w),
        MPI_Iscatterv(a, counts, displs, MPI_INT, b, rank, MPI_INT, root, w, &request));
  twice("scatter", is_root ? sum : 0, own);
  EVERY(MPI_Allgatherv(a, rank, MPI_INT, b, counts, displs, MPI_INT, w),
        MPI_Iallgatherv(a, rank, MPI_INT, b, counts, displs, MPI_INT, w, &request));
  twice("allgather", own, sum);
  int to[RANKS_MAX];
  for (int i = 0; i < ranks; i++) to[i] = rank; /* rank r sends r integers to everybody */
  EVERY(MPI_Alltoallv(a, to, displs, MPI_INT, b, counts, displs, MPI_INT, w),
        MPI_Ialltoallv(a, to, displs, MPI_INT, b, counts, displs, MPI_INT, w, &request));
  twice("alltoall", own * ranks, sum);
  EVERY(MPI_Alltoallw(a, to, byte_displs, types, b, counts, byte_displs, types, w),
        MPI_Ialltoallw(a, to, byte_displs, types, b, counts, byte_displs, types, w, &request));
  twice("alltoall", own * ranks, sum);
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, displs, displs, MPI_INT, MPI_COMM_SELF);
  moved("alltoall", 0, 0);
  EVERY(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, w),
        MPI_Ireduce_scatter(a, b, counts, MPI_INT, MPI_SUM, w, &request));
  twice("reduce_scatter", sum, own);
  EVERY(MPI_Reduce_scatter_block(a, b, BLOCK, MPI_INT, MPI_SUM, w),
        MPI_Ireduce_scatter_block(a, b, BLOCK, MPI_INT, MPI_SUM, w, &request));
  twice("reduce_scatter", all, B);
  EVERY(MPI_Scan(a, b, BLOCK, MPI_INT, MPI_SUM, w), MPI_Iscan(a, b, BLOCK, MPI_INT, MPI_SUM, w, &request));
  twice("scan", B, B);
  EVERY(MPI_Exscan(a, b, BLOCK, MPI_INT, MPI_SUM, w), MPI_Iexscan(a, b, BLOCK, MPI_INT, MPI_SUM, w, &request));
  twice("exscan", B, rank == 0 ? 0 : B);
  print_known();
  MPI_Finalize();
  return 0;
}
