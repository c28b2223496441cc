/* Neighbours that a rank has twice: grids whose periodic extents are 1 or 2, graphs in which edges repeat. All
 * neighbour collectives in all forms, beside what MPI 4.1 says: in a grid, block s of the sender is block s ^ 1 of the
 * receiver; in a graph, the k-th edge to a rank is its k-th edge from there. `twice ROUNDS SEED [mpi]`: what the MPI
 * library's own blocking calls give is compared, too. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12, LONGEST = 9, CELLS = MOST * (2 * LONGEST + 3) };
static int rank, ranks, ins, outs, in[MOST], out[MOST], grid, beside;
static int all_outs[64], all_out[64][MOST];
static long checks, wrong, theirs_wrong;
static unsigned common, own;
static MPI_Comm comm;
static MPI_Datatype gapped; /* a long, and a gap as long */

static int any(unsigned* state, int below) {
  *state = *state * 1664525u + 1013904223u;
  return (int)((*state >> 8) % (unsigned)below);
}

static long value(int sender, int slot, int i) { return 10000L * sender + 100 * slot + i; }

/* The block that comes to `slot`: which one of its sender's it is. */
static int slot_of_sender(int slot) {
  if (grid) return slot ^ 1;
  int before = 0, k = -1;
  for (int i = 0; i < slot; ++i) before += in[i] == in[slot];
  for (int left = before; left >= 0; --left) do
      ++k;
    while (all_out[in[slot]][k] != rank);
  return k;
}

static int length_of(int kind, int salt, int sender, int slot) {
  return kind >= 3 ? (7 * salt + 5 * sender + 3 * slot) % LONGEST : 1 + salt % LONGEST;
}

/* kind 0, 1: allgather, allgatherv; 2, 3, 4: alltoall, alltoallv, alltoallw */
static void run(int kind, int form, int salt, int theirs) {
  long sent[CELLS], got[CELLS];
  int scounts[MOST], rcounts[MOST], sd[MOST], rd[MOST], at;
  MPI_Aint sb[MOST], rb[MOST];
  MPI_Datatype st[MOST], rt[MOST];
  const int gathers = kind < 2, v = kind == 1 || kind >= 3, spread = any(&own, 2), gaps = any(&own, 2);
  MPI_Datatype rtype = gaps ? gapped : MPI_LONG;
  const int width = gaps ? 2 : 1;
  MPI_Request request = MPI_REQUEST_NULL;
  memset(sent, -1, sizeof sent);
  memset(got, -1, sizeof got);
  at = 0;
  for (int k = 0; k < outs; ++k) {
    scounts[k] = length_of(kind, salt, rank, gathers ? 0 : k);
    sd[k] = gathers ? 0 : v ? at + spread : k * scounts[0];
    at = sd[k] + scounts[k];
    for (int i = 0; i < scounts[k]; ++i) sent[sd[k] + i] = value(rank, gathers ? 0 : k, i);
    sb[k] = 8L * sd[k];
    st[k] = MPI_LONG;
  }
  if (gathers)
    for (int i = 0; i < length_of(kind, salt, rank, 0); ++i) sent[i] = value(rank, 0, i);
  at = 0;
  for (int k = 0; k < ins; ++k) {
    const int none = in[k] == MPI_PROC_NULL;
    rcounts[k] = length_of(kind, salt, none ? 0 : in[k], gathers || none ? 0 : slot_of_sender(k));
    rd[k] = v ? at + spread : k * rcounts[0];
    at = rd[k] + rcounts[k];
    rb[k] = 8L * width * rd[k];
    rt[k] = rtype;
  }
  const int one = length_of(kind, salt, rank, 0), from = ins ? rcounts[0] : one;
#define CALL(name, ...)                                                                       \
  do {                                                                                        \
    if (theirs) PMPI_Neighbor_##name(__VA_ARGS__, comm);                                      \
    else if (form == 0) MPI_Neighbor_##name(__VA_ARGS__, comm);                               \
    else if (form == 1 || MPI_VERSION < 4) MPI_Ineighbor_##name(__VA_ARGS__, comm, &request); \
    else PERSISTENT(name, __VA_ARGS__);                                                       \
  } while (0)
#if MPI_VERSION >= 4
#define PERSISTENT(name, ...) \
  MPI_Neighbor_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request), MPI_Start(&request)
#else
#define PERSISTENT(name, ...) (void)0
#endif
  switch (kind) {
    case 0: CALL(allgather, sent, one, MPI_LONG, got, from, rtype); break;
    case 1: CALL(allgatherv, sent, one, MPI_LONG, got, rcounts, rd, rtype); break;
    case 2: CALL(alltoall, sent, one, MPI_LONG, got, from, rtype); break;
    case 3: CALL(alltoallv, sent, scounts, sd, MPI_LONG, got, rcounts, rd, rtype); break;
    default: CALL(alltoallw, sent, scounts, sb, st, got, rcounts, rb, rt); break;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  int bad = 0;
  for (int k = 0; k < ins; ++k)
    for (int i = 0; i < rcounts[k]; ++i) {
      const long expected = in[k] == MPI_PROC_NULL ? -1 : value(in[k], gathers ? 0 : slot_of_sender(k), i);
      bad += got[width * (rd[k] + i)] != expected;
      bad += gaps && got[width * (rd[k] + i) + 1] != -1;
    }
  if (theirs) {
    theirs_wrong += bad > 0;
    return;
  }
  ++checks;
  if (bad && ++wrong < 4)
    printf("rank %d: kind %d, form %d, %s: %d wrong\n", rank, kind, form, grid ? "grid" : "graph", bad);
}

static void make_grid(int dimensions) {
  int dims[3] = {1, 1, 1}, periods[3], rest = ranks;
  for (int divisor = 2; rest > 1;)
    if (rest % divisor == 0) dims[any(&common, dimensions)] *= divisor, rest /= divisor;
    else ++divisor;
  for (int d = 0; d < dimensions; ++d) periods[d] = any(&common, 4) > 0;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm);
  for (int d = 0; d < dimensions; ++d) MPI_Cart_shift(comm, d, 1, &out[2 * d], &out[2 * d + 1]);
  ins = outs = 2 * dimensions;
  memcpy(in, out, sizeof in);
}

/* Edges in an order of their own on both sides; most ranks have some of them twice or more often. */
static void make_graph(void) {
  int from[2 * MOST], to[2 * MOST];
  const int edges = 1 + any(&common, 2 * MOST - 1);
  ins = outs = 0;
  for (int e = 0; e < edges; ++e) from[e] = any(&common, ranks), to[e] = any(&common, ranks);
  for (int e = 0; e < edges; ++e) {
    int sent = 0, come = 0;
    for (int f = 0; f < e; ++f) sent += from[f] == from[e], come += to[f] == to[e];
    /* Not more than there is room for. */
    if (sent >= MOST || come >= MOST) from[e] = -1, to[e] = -2;
  }
  for (int e = 0; e < edges; ++e)
    if (from[e] == rank) out[outs++] = to[e];
  for (int e = edges; e-- > 0;)
    if (to[e] == rank) in[ins++] = from[e];
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, in, MPI_UNWEIGHTED, outs, out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rounds = atoi(argv[1]);
  common = (unsigned)atoi(argv[2]);
  own = common + 17u * (unsigned)rank;
  beside = argc > 3;
  MPI_Type_create_resized(MPI_LONG, 0, 16, &gapped);
  MPI_Type_commit(&gapped);
  for (int round = 0; round < rounds; ++round) {
    grid = round % 4 < 3;
    if (grid) make_grid(1 + round % 4);
    else make_graph();
    PMPI_Allgather(&outs, 1, MPI_INT, all_outs, 1, MPI_INT, MPI_COMM_WORLD);
    PMPI_Allgather(out, MOST, MPI_INT, all_out, MOST, MPI_INT, MPI_COMM_WORLD);
    for (int kind = 0; kind < 5; ++kind)
      for (int form = 0; form < 3; ++form) {
        const int salt = any(&common, 1000);
        /* As the one before, which is not prepared again, with other gaps. */
        for (int again = 0; again < 2; ++again) run(kind, form, salt, 0);
        if (beside && form == 0) run(kind, form, salt, 1);
      }
    MPI_Comm_free(&comm);
  }
  long all[3], mine[3] = {checks, wrong, theirs_wrong};
  PMPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld calls checked, %ld wrong, %ld wrong by the MPI library\n", all[0], all[1], all[2]);
  MPI_Type_free(&gapped);
  MPI_Finalize();
  return wrong != 0;
}
