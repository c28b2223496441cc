/* One call of a collective. Vectors that are summed are of floats where their size allows it, as in other benchmarks.
 */
#include "operations.h"

#include <stdlib.h>
#include <string.h>

enum {
  BARRIER,
  BCAST,
  REDUCE,
  ALLREDUCE,
  GATHER,
  GATHERV,
  ALLGATHER,
  ALLGATHERV,
  SCATTER,
  SCATTERV,
  ALLTOALL,
  ALLTOALLV,
  ALLTOALLW,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BLOCK,
  SCAN,
  EXSCAN,
  NEIGHBOR_ALLGATHER,
  NEIGHBOR_ALLGATHERV,
  NEIGHBOR_ALLTOALL,
  NEIGHBOR_ALLTOALLV,
  NEIGHBOR_ALLTOALLW
};

const char* const operation_name[OPERATIONS] = {"barrier",
                                                "bcast",
                                                "reduce",
                                                "allreduce",
                                                "gather",
                                                "gatherv",
                                                "allgather",
                                                "allgatherv",
                                                "scatter",
                                                "scatterv",
                                                "alltoall",
                                                "alltoallv",
                                                "alltoallw",
                                                "reduce_scatter",
                                                "reduce_scatter_block",
                                                "scan",
                                                "exscan",
                                                "neighbor_allgather",
                                                "neighbor_allgatherv",
                                                "neighbor_alltoall",
                                                "neighbor_alltoallv",
                                                "neighbor_alltoallw"};

/* Around a ring, which every rank number fits; made once for each communicator. */
static MPI_Comm ring_of(MPI_Comm comm, int size) {
  static MPI_Comm known[64][2];
  static int count;
  for (int i = 0; i < count; i++) {
    if (known[i][0] == comm) return known[i][1];
  }
  const int periodic = 1;
  MPI_Comm cart;
  MPI_Cart_create(comm, 1, &size, &periodic, 0, &cart);
  if (count < 64) {
    known[count][0] = comm;
    known[count++][1] = cart;
  }
  return cart;
}

static int* list(int count, int step) {
  int* out = malloc(sizeof *out * (size_t)(count < 2 ? 2 : count));
  for (int i = 0; out && i < (count < 2 ? 2 : count); i++) out[i] = i * step;
  return out;
}

const char* operation_make(Operation* o, const char* name, int bytes, const Team* team) {
  *o = (Operation){.which = -1, .bytes = bytes, .size = team->size, .me = team->me, .comm = team->comm};
  for (int i = 0; i < OPERATIONS; i++) {
    if (strcmp(name, operation_name[i]) == 0) o->which = i;
  }
  if (o->which < 0) return "there is no collective of this name";
  if (o->which >= NEIGHBOR_ALLGATHER) o->cart = ring_of(team->comm, team->size);
  const size_t all = (size_t)bytes * (size_t)(team->size < 2 ? 2 : team->size);
  if (all > 0x7fffffff) return "the blocks of all ranks together are more than 2 GiB";
  o->out = buffer_out(all);
  o->in = buffer_in(all);
  if (!o->out || !o->in) return "there is not enough memory";
  const bool floats = bytes % (int)sizeof(float) == 0;
  o->type = floats ? MPI_FLOAT : MPI_BYTE;
  o->op = floats ? MPI_SUM : MPI_BOR;
  o->elements = floats ? bytes / (int)sizeof(float) : bytes;
  static int *counts, *elements, *displacements;
  static MPI_Datatype* types;
  free(counts);
  free(elements);
  free(displacements);
  free(types);
  counts = list(team->size, 0);
  elements = list(team->size, 0);
  displacements = list(team->size, bytes);
  const int n = team->size < 2 ? 2 : team->size;
  types = malloc(sizeof(MPI_Datatype) * (size_t)n);
  for (int i = 0; i < n; i++) {
    counts[i] = bytes;
    elements[i] = o->elements;
    types[i] = MPI_BYTE;
  }
  o->counts = counts;
  o->ones = elements;
  o->displacements = displacements;
  o->types = types;
  return NULL;
}

#define CALL(name, Iname, ...)                      \
  do {                                              \
    if (request) MPI_##Iname(__VA_ARGS__, request); \
    else MPI_##name(__VA_ARGS__);                   \
  } while (0)

static void neighbors(const Operation* o, MPI_Request* request) {
  const int n = o->bytes, *counts = o->counts, *at = o->displacements;
  const MPI_Comm cart = o->cart;
  const MPI_Aint places[2] = {0, n};
  switch (o->which) {
    case NEIGHBOR_ALLGATHER:
      CALL(Neighbor_allgather, Ineighbor_allgather, o->out, n, MPI_BYTE, o->in, n, MPI_BYTE, cart);
      break;
    case NEIGHBOR_ALLGATHERV:
      CALL(Neighbor_allgatherv, Ineighbor_allgatherv, o->out, n, MPI_BYTE, o->in, counts, at, MPI_BYTE, cart);
      break;
    case NEIGHBOR_ALLTOALL:
      CALL(Neighbor_alltoall, Ineighbor_alltoall, o->out, n, MPI_BYTE, o->in, n, MPI_BYTE, cart);
      break;
    case NEIGHBOR_ALLTOALLV:
      CALL(Neighbor_alltoallv, Ineighbor_alltoallv, o->out, counts, at, MPI_BYTE, o->in, counts, at, MPI_BYTE, cart);
      break;
    default:
      CALL(Neighbor_alltoallw, Ineighbor_alltoallw, o->out, counts, places, o->types, o->in, counts, places, o->types,
           cart);
  }
}

void operation_do(const Operation* o, MPI_Request* request) {
  char *out = o->out, *in = o->in;
  const int n = o->bytes, e = o->elements, *counts = o->counts, *at = o->displacements;
  const MPI_Comm comm = o->comm;
  const MPI_Datatype b = MPI_BYTE;
  switch (o->which) {
    case BARRIER: CALL(Barrier, Ibarrier, comm); break;
    case BCAST: CALL(Bcast, Ibcast, out, n, b, 0, comm); break;
    case REDUCE: CALL(Reduce, Ireduce, out, in, e, o->type, o->op, 0, comm); break;
    case ALLREDUCE: CALL(Allreduce, Iallreduce, out, in, e, o->type, o->op, comm); break;
    case GATHER: CALL(Gather, Igather, out, n, b, in, n, b, 0, comm); break;
    case GATHERV: CALL(Gatherv, Igatherv, out, n, b, in, counts, at, b, 0, comm); break;
    case ALLGATHER: CALL(Allgather, Iallgather, out, n, b, in, n, b, comm); break;
    case ALLGATHERV: CALL(Allgatherv, Iallgatherv, out, n, b, in, counts, at, b, comm); break;
    case SCATTER: CALL(Scatter, Iscatter, out, n, b, in, n, b, 0, comm); break;
    case SCATTERV: CALL(Scatterv, Iscatterv, out, counts, at, b, in, n, b, 0, comm); break;
    case ALLTOALL: CALL(Alltoall, Ialltoall, out, n, b, in, n, b, comm); break;
    case ALLTOALLV: CALL(Alltoallv, Ialltoallv, out, counts, at, b, in, counts, at, b, comm); break;
    case ALLTOALLW: CALL(Alltoallw, Ialltoallw, out, counts, at, o->types, in, counts, at, o->types, comm); break;
    case REDUCE_SCATTER: CALL(Reduce_scatter, Ireduce_scatter, out, in, o->ones, o->type, o->op, comm); break;
    case REDUCE_SCATTER_BLOCK:
      CALL(Reduce_scatter_block, Ireduce_scatter_block, out, in, e, o->type, o->op, comm);
      break;
    case SCAN: CALL(Scan, Iscan, out, in, e, o->type, o->op, comm); break;
    case EXSCAN: CALL(Exscan, Iexscan, out, in, e, o->type, o->op, comm); break;
    default: neighbors(o, request);
  }
}
