/* Communicators of all kinds, with messages in them that are counted between ranks of the world. */
#include "known.h"

static int out[100], in[100];

/* A message round the communicator whose member i is world rank `world(i)`. */
static void ring(MPI_Comm comm, const int* world, int bytes) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  CHECK(world[me] == rank);
  MPI_Sendrecv(out, bytes, MPI_BYTE, right, 0, in, bytes, MPI_BYTE, left, 0, comm, MPI_STATUS_IGNORE);
  sent(world[right], bytes), received(world[left], bytes);
}

static void groups(void) {
  int world[RANKS_MAX], n = 0;
  MPI_Comm comm, other;
  /* In reverse order, twice with handles that may be the same. */
  for (int i = ranks - 1; i >= 0; i--)
    if (i % 2 == rank % 2) world[n++] = i;
  for (int i = 0; i < 2; i++) {
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    ring(comm, world, 8 + i);
    MPI_Comm_dup(comm, &other);
    MPI_Comm_free(&comm);
    ring(other, world, 16 + i);
    MPI_Comm_free(&other);
  }
  /* Not everybody. */
  MPI_Group all, some;
  int range[1][3] = {{1, ranks - 1, 1}};
  for (int i = 1; i < ranks; i++) world[i - 1] = i;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, 1, range, &some);
  MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
  if (rank > 0) {
    ring(comm, world, 32);
    MPI_Comm_free(&comm);
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &comm);
    ring(comm, world, 33);
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  for (int i = 0; i < ranks; i++) world[i] = i;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  ring(comm, world, 34);
  MPI_Comm_free(&comm);
  /* Duplicated meanwhile. */
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ring(comm, world, 35);
  MPI_Comm_free(&comm);
  int self = rank;
  ring(MPI_COMM_SELF, &self, 36);
}

static void between_groups(void) {
  MPI_Comm half, between, merged;
  const int lower = rank < ranks / 2, mine = lower ? rank : rank - ranks / 2;
  const int others = lower ? ranks - ranks / 2 : ranks / 2, first = lower ? ranks / 2 : 0;
  MPI_Comm_split(MPI_COMM_WORLD, lower, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first, 1, &between);
  MPI_Request request;
  if (mine < others) {
    MPI_Irecv(in, 40, MPI_BYTE, mine, 0, between, &request);
    MPI_Send(out, 40, MPI_BYTE, mine, 0, between);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sent(first + mine, 40), received(first + mine, 40);
  }
  MPI_Barrier(between);
  moved("barrier", 0, 0);
  const int root = lower ? (mine == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  MPI_Bcast(out, 50, MPI_BYTE, root, between);
  moved("bcast", root == MPI_ROOT ? 50 : 0, lower ? 0 : 50);
  int all[RANKS_MAX];
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, between);
  moved("allgather", 4, 4 * others);
  MPI_Intercomm_merge(between, !lower, &merged);
  int world[RANKS_MAX];
  for (int i = 0; i < ranks; i++) world[i] = i;
  ring(merged, world, 41);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

static void topologies(void) {
  MPI_Comm grid, row, graph;
  int dims[2] = {0, 0}, periods[2] = {1, 0}, me, coordinates[2], world[RANKS_MAX], keep[2] = {0, 1};
  MPI_Dims_create(ranks, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &me);
  MPI_Cart_coords(grid, me, 2, coordinates);
  int a[4] = {rank, rank, rank, rank}, b[4], neighbours = 2 + (coordinates[1] > 0) + (coordinates[1] < dims[1] - 1);
  MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, grid);
  moved("neighbor", 4 * neighbours, 4 * neighbours);
  MPI_Cart_sub(grid, keep, &row);
  for (int i = 0; i < dims[1]; i++) world[i] = coordinates[0] * dims[1] + i;
  ring(row, world, 44);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
  /* Everybody to rank 0. */
  int from[RANKS_MAX], to[1] = {0};
  for (int i = 0; i < ranks; i++) from[i] = i;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0 ? ranks : 0, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, from, 1, MPI_INT, graph);
  moved("neighbor", 4, rank == 0 ? 4 * ranks : 0);
  MPI_Comm_free(&graph);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  begin_known();
  groups();
  between_groups();
  topologies();
  /* Very many, a few at once. */
  const int many = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Comm kept[4];
  for (int i = 0; i < many; i++) {
    if (i >= 4) MPI_Comm_free(&kept[i % 4]);
    MPI_Comm_dup(MPI_COMM_WORLD, &kept[i % 4]);
  }
  for (int i = many; i < many + 4; i++) MPI_Comm_free(&kept[i % 4]);
  print_known();
  MPI_Finalize();
  return 0;
}
