/* Collectives among the neighbours of a topology. */
#include <string.h>

#include "recorder.h"

void communicator_neighbours(struct communicator* c, MPI_Comm comm) {
  if (c->neighbours_known) return;
  c->neighbours_known = true;
  int dims = 0, weighted, ins = 0, outs = 0;
  switch (c->topology) {
    case 1:
      PMPI_Cartdim_get(comm, &dims);
      ins = outs = 2 * dims;
      break;
    case 2:
      PMPI_Graph_neighbors_count(comm, c->rank, &ins);
      outs = ins;
      break;
    case 3: PMPI_Dist_graph_neighbors_count(comm, &ins, &outs, &weighted); break;
  }
  c->in = recorder_allocate((size_t)ins * sizeof *c->in);
  c->out = recorder_allocate((size_t)outs * sizeof *c->out);
  c->ins = ins;
  c->outs = outs;
  switch (c->topology) {
    case 1:
      for (int d = 0; d < dims; d++) PMPI_Cart_shift(comm, d, 1, &c->in[2 * d], &c->in[2 * d + 1]);
      memcpy(c->out, c->in, (size_t)outs * sizeof *c->out);
      break;
    case 2:
      PMPI_Graph_neighbors(comm, c->rank, ins, c->in);
      memcpy(c->out, c->in, (size_t)outs * sizeof *c->out);
      break;
    case 3: {
      int* weights = recorder_allocate((size_t)(ins + outs) * sizeof *weights);
      PMPI_Dist_graph_neighbors(comm, ins, c->in, weights, outs, c->out, weights + ins);
      recorder_release(weights, (size_t)(ins + outs) * sizeof *weights);
      break;
    }
  }
  for (int i = 0; i < ins; i++) c->in[i] = peer_number(c->in[i]);
  for (int i = 0; i < outs; i++) c->out[i] = peer_number(c->out[i]);
}

static struct communicator* begin(struct collective* k, MPI_Comm comm) {
  struct communicator* c = communicator_of(comm);
  *k = (struct collective){.comm = c};
  k->record.kind = COLLECTIVE_NEIGHBOR;
  k->record.root = TRACE_NONE;
  k->record.comm = c->id;
  communicator_neighbours(c, comm);
  /* A triple of each edge: those out first. */
  k->counts = scratch_counts(3 * ((int64_t)c->ins + c->outs));
  return c;
}

static void edge(struct collective* k, int peer, uint64_t to, uint64_t from) {
  if (peer < 0) return;
  int64_t* at = k->counts + k->record.counts;
  at[0] = peer;
  at[1] = (int64_t)to;
  at[2] = (int64_t)from;
  k->record.counts += 3;
  k->record.bytes += to;
  k->record.sent += to;
  k->record.received += from;
}

/* Bytes of the i-th edge of one direction: one size for all, counts of a type, or counts of types. */
struct sizes {
  uint64_t all;
  struct ints counts;
  MPI_Datatype type;
  struct handles types;
};

static uint64_t size_of(struct sizes sizes, int64_t i) {
  if (!sizes.counts.at) return sizes.all;
  return type_bytes(int_at(sizes.counts, i), sizes.types.at ? type_at(sizes.types, i) : sizes.type);
}

static void set(struct collective* k, struct sizes to, struct sizes from, MPI_Comm comm) {
  struct communicator* c = begin(k, comm);
  for (int i = 0; i < c->outs; i++) edge(k, c->out[i], size_of(to, i), 0);
  uint32_t outs = k->record.counts / 3;
  for (int i = 0, j = 0; i < c->ins; i++) {
    /* Where both ways lead to the same neighbours in the same order, one triple says both. */
    bool both = c->ins == c->outs && c->in[i] == c->out[i] && c->in[i] >= 0 && (uint32_t)j < outs;
    uint64_t bytes = size_of(from, i);
    if (both && k->counts[3 * j] == c->in[i]) {
      k->counts[3 * j++ + 2] = (int64_t)bytes;
      k->record.received += bytes;
    } else {
      edge(k, c->in[i], 0, bytes);
    }
  }
}

void set_neighbor(struct collective* k, int64_t scount, MPI_Datatype stype, int64_t rcount, MPI_Datatype rtype,
                  MPI_Comm comm) {
  set(k, (struct sizes){.all = type_bytes(scount, stype)}, (struct sizes){.all = type_bytes(rcount, rtype)}, comm);
}

void set_neighbor_gatherv(struct collective* k, int64_t scount, MPI_Datatype stype, struct ints rcounts,
                          MPI_Datatype rtype, MPI_Comm comm) {
  set(k, (struct sizes){.all = type_bytes(scount, stype)}, (struct sizes){.counts = rcounts, .type = rtype}, comm);
}

void set_neighbor_alltoallv(struct collective* k, struct ints scounts, MPI_Datatype stype, struct ints rcounts,
                            MPI_Datatype rtype, MPI_Comm comm) {
  set(k, (struct sizes){.counts = scounts, .type = stype}, (struct sizes){.counts = rcounts, .type = rtype}, comm);
}

void set_neighbor_alltoallw(struct collective* k, struct ints scounts, struct handles stypes, struct ints rcounts,
                            struct handles rtypes, MPI_Comm comm) {
  set(k, (struct sizes){.counts = scounts, .types = stypes}, (struct sizes){.counts = rcounts, .types = rtypes}, comm);
}
