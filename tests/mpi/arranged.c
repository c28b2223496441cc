/* Communicators with a topology, made with reorder = 1: which process has which rank, and whether everybody has the
 * neighbours that belong to its new rank. Prints `order KIND NEW OLD` for every rank, and how much was wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int checks, wrong;
static int world, ranks;

static void check(int good) {
  ++checks;
  wrong += !good;
}

/* Prints who is who. */
static void tell(const char* kind, MPI_Comm comm) {
  int rank, size, result, *old = malloc(sizeof(int) * (size_t)ranks);
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  if (size == ranks) check(result == MPI_CONGRUENT || result == MPI_SIMILAR);
  MPI_Gather(&world, 1, MPI_INT, old, 1, MPI_INT, 0, comm);
  for (int i = 0; rank == 0 && i < size; ++i) printf("order %s %d %d\n", kind, i, old[i]);
  free(old);
}

/* Everybody tells its neighbours its rank. */
static void talk(MPI_Comm comm, int ins, const int* in, int outs) {
  int rank, *sent = malloc(sizeof(int) * (size_t)(outs + 1)), *got = malloc(sizeof(int) * (size_t)(ins + 1));
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < outs; ++i) sent[i] = rank;
  MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm);
  for (int i = 0; i < ins; ++i) check(in[i] == MPI_PROC_NULL || got[i] == in[i]);
  free(sent);
  free(got);
}

static void grids(int rows, int columns, int used_rows) {
  for (int k = 0; k < 2; ++k) {
    const int dims[] = {k ? used_rows : rows, columns}, periods[] = {1, k};
    int there[2], wraps[2], at[2], rank, in[4];
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    tell(k ? "part" : "cart", grid);
    if (grid == MPI_COMM_NULL) continue;
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_get(grid, 2, there, wraps, at);
    check(there[0] == dims[0] && there[1] == dims[1] && !wraps[0] == !periods[0] && !wraps[1] == !periods[1]);
    check(at[0] * columns + at[1] == rank);
    for (int d = 0; d < 2; ++d) MPI_Cart_shift(grid, d, 1, &in[2 * d], &in[2 * d + 1]);
    check(in[1] == (at[0] + 1) % dims[0] * columns + at[1]);
    if (dims[0] > 2 && columns > 2) talk(grid, 4, in, 4);
    MPI_Comm_free(&grid);
  }
}

/* Rank r of a graph has the neighbours r + stride and r - stride, far apart by their numbers. */
static int stride(void) { return ranks / 2; }

static void graphs(void) {
  int *index = malloc(sizeof(int) * (size_t)ranks), *edges = malloc(sizeof(int) * 2 * (size_t)ranks), rank, n, in[2];
  MPI_Comm comm;
  for (int i = 0; i < ranks; ++i) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + stride()) % ranks;
    edges[2 * i + 1] = (i - stride() + ranks) % ranks;
  }
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 1, &comm);
  tell("graph", comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Graph_neighbors_count(comm, rank, &n);
  check(n == 2);
  MPI_Graph_neighbors(comm, rank, 2, in);
  check(in[0] == edges[2 * rank] && in[1] == edges[2 * rank + 1]);
  MPI_Comm_free(&comm);
  free(index);
  free(edges);
}

static int weight(int from, int to) { return 1 + (from * 7 + to * 3) % 5; }

static void neighbours(const char* kind, MPI_Comm comm, int weighted, int ordered) {
  int rank, ins, outs, known, in[2], out[2], inw[2], outw[2];
  tell(kind, comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Dist_graph_neighbors_count(comm, &ins, &outs, &known);
  const int more = rank % 3 != 0;
  check(!known == !weighted);
  check(outs == 1 + more && ins == 1 + ((rank - 1 + ranks) % ranks % 3 != 0));
  if (ins > 2 || outs > 2) return;
  MPI_Dist_graph_neighbors(comm, ins, in, inw, outs, out, outw);
  const int far = (rank + stride()) % ranks, near = (rank + 1) % ranks;
  if (outs == 2 && (ordered ? out[0] == far && out[1] == near : out[0] + out[1] == far + near)) check(1);
  else check(outs == 1 && out[0] == far);
  for (int i = 0; weighted && i < outs; ++i) check(outw[i] == weight(rank, out[i]));
  for (int i = 0; weighted && i < ins; ++i) check(inw[i] == weight(in[i], rank));
  if (ordered) check(in[0] == (rank - stride() + ranks) % ranks);
  talk(comm, ins, in, outs);
}

static void dist_graphs(int weighted) {
  /* Every rank tells the edges of another one. */
  const int source = (world + 3) % ranks, degree = 1 + (source % 3 != 0);
  const int to[] = {(source + stride()) % ranks, (source + 1) % ranks};
  const int w[] = {weight(source, to[0]), weight(source, to[1])};
  MPI_Comm comm;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, to, weighted ? w : MPI_UNWEIGHTED, MPI_INFO_NULL, 1,
                        &comm);
  neighbours(weighted ? "weighted" : "dist_graph", comm, weighted, 0);
  MPI_Comm_free(&comm);

  const int before = (world - 1 + ranks) % ranks, ins = 1 + (before % 3 != 0), outs = 1 + (world % 3 != 0);
  const int in[] = {(world - stride() + ranks) % ranks, before},
            out[] = {(world + stride()) % ranks, (world + 1) % ranks};
  const int inw[] = {weight(in[0], world), weight(in[1], world)},
            outw[] = {weight(world, out[0]), weight(world, out[1])};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, in, weighted ? inw : MPI_UNWEIGHTED, outs, out,
                                 weighted ? outw : MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm);
  neighbours(weighted ? "adjacent_weighted" : "adjacent", comm, weighted, 1);
  MPI_Comm_free(&comm);
}

/* Some ranks only, in another order. */
static void part(void) {
  MPI_Comm half, ring;
  int size, one = 1;
  MPI_Comm_split(MPI_COMM_WORLD, world % 2, -world, &half);
  MPI_Comm_size(half, &size);
  MPI_Cart_create(half, 1, &size, &one, 1, &ring);
  tell(world % 2 ? "odd" : "even", ring);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&half);
}

/* What is to stay as it is, and what is wrong. */
static void others(void) {
  const int dims[] = {2, ranks}, dim = ranks, period = 0, none = 0;
  int result;
  MPI_Comm comm = MPI_COMM_NULL, half, between;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &dim, &period, 0, &comm);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  check(result == MPI_CONGRUENT);
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, dims, 1, &comm) != MPI_SUCCESS);
  comm = MPI_COMM_NULL;
  /* A graph in which nobody has neighbours. */
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, &none, MPI_WEIGHTS_EMPTY, 0, &none, MPI_WEIGHTS_EMPTY,
                                 MPI_INFO_NULL, 1, &comm);
  MPI_Comm_free(&comm);
  if (ranks < 2) return;
  MPI_Comm_split(MPI_COMM_WORLD, world % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world % 2, 1, &between);
  MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
  check(MPI_Cart_create(between, 1, &dim, &period, 1, &comm) != MPI_SUCCESS);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  int sums[2], mine[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rows = atoi(argv[1]);
  grids(rows, ranks / rows, rows > 1 ? rows - 1 : 1);
  graphs();
  dist_graphs(0);
  dist_graphs(1);
  part();
  others();
  mine[0] = checks, mine[1] = wrong;
  MPI_Reduce(mine, sums, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (world == 0) printf("%d checks, %d wrong\n", sums[0], sums[1]);
  MPI_Finalize();
}
