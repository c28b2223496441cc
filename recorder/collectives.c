/* Collectives: how many bytes each call puts in and gets out, and the counts of the forms that have them. */
#include <string.h>

#include "recorder.h"

enum { IN_PLACE = 1, INTER = 2, PERSISTENT = 4, CREATED = 8, ORDERED = 16, CONTINUED = 32 };

int64_t* scratch_counts(int64_t n) {
  static _Thread_local int64_t* counts;
  static _Thread_local int64_t room;
  if (n > room) {
    recorder_release(counts, (size_t)room * sizeof *counts);
    counts = recorder_allocate((size_t)(2 * n) * sizeof *counts);
    room = 2 * n;
  }
  return counts;
}

void write_collective(const struct call* call, const struct trace_collective* record, const int64_t* counts) {
  struct trace_collective* at = record_call(call, FORM_COLLECTIVE, 1, sizeof *at + record->counts * sizeof *counts);
  if (!at) return;
  *at = *record;
  if (record->counts) memcpy(at + 1, counts, record->counts * sizeof *counts);
  record_commit(call->end);
}

void record_started(const struct call* call, const struct persistent* again, bool first) {
  if (first) return write_collective(call, &again->collective, again->counts);
  struct trace_collective record = again->collective;
  record.flags |= CONTINUED;
  struct call rest = *call;
  rest.begin = call->end;
  rest.cpu_gap = 0;
  write_collective(&rest, &record, again->counts);
}

void record_collective(const struct call* call, struct collective* k) { write_collective(call, &k->record, k->counts); }

void record_icollective(const struct call* call, struct collective* k, uint64_t request) {
  k->record.request = request_add(request, REQUEST_OTHER)->serial;
  write_collective(call, &k->record, k->counts);
}

void record_collective_init(const struct call* call, struct collective* k, uint64_t request) {
  struct request* r = request_add(request, REQUEST_OTHER);
  r->active = 0;
  r->again = recorder_allocate(sizeof *r->again);
  r->again->kind = REQUEST_OTHER;
  r->again->is_collective = true;
  r->again->collective = k->record;
  r->again->collective.flags |= PERSISTENT;
  const size_t bytes = k->record.counts * sizeof *k->counts;
  if (bytes) r->again->counts = memcpy(recorder_allocate(bytes), k->counts, bytes);
  k->record.flags |= CREATED;
  write_collective(call, &k->record, k->counts);
}

/* Where a call on a communicator is: at the root, at one that only watches (MPI_PROC_NULL between groups), or neither.
 */
enum place { ROOT, LEAF, WATCHER };

static enum place begin(struct collective* k, int kind, bool in_place, int root, MPI_Comm comm) {
  struct communicator* c = communicator_of(comm);
  *k = (struct collective){.comm = c};
  k->record.kind = (uint16_t)kind;
  k->record.root = root == TRACE_NONE ? TRACE_NONE : peer_number(root);
  k->record.comm = c ? c->id : 0;
  k->record.flags = (uint16_t)((in_place ? IN_PLACE : 0) | (c && c->remote ? INTER : 0));
  if (root == MPI_PROC_NULL) return WATCHER;
  return root == MPI_ROOT || (c && !c->remote && root == c->rank) ? ROOT : LEAF;
}

/* Ranks at the other end of a rooted collective, partners of the others. */
static int64_t partners(const struct collective* k) { return k->comm->remote ? k->comm->remote : k->comm->size; }

static void amounts(struct collective* k, uint64_t bytes, uint64_t sent, uint64_t received) {
  k->record.bytes = bytes;
  k->record.sent = sent;
  k->record.received = received;
}

static uint64_t fill(int64_t* to, struct ints counts, MPI_Datatype type, int64_t n) {
  uint64_t each = 0, sum = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t count = int_at(counts, i);
    if (count > 0 && !each) each = type_of(type).bytes;
    to[i] = count > 0 ? count * (int64_t)each : 0;
    sum += (uint64_t)to[i];
  }
  return sum;
}

static uint64_t fill_types(int64_t* to, struct ints counts, struct handles types, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t count = int_at(counts, i);
    to[i] = count > 0 ? (int64_t)type_bytes(count, type_at(types, i)) : 0;
    sum += (uint64_t)to[i];
  }
  return sum;
}

static int64_t* give_counts(struct collective* k, int64_t n) {
  k->record.counts = (uint32_t)n;
  return k->counts = scratch_counts(n);
}

static atomic_ullong freed = 1;

void op_freed(void) { atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed); }

void set_op(struct collective* k, MPI_Op op) {
  /* A handle may become that of another operator once it is freed. */
  static _Thread_local struct {
    uint64_t handle, epoch;
    bool commutes;
  } cache[8];
  const uint64_t handle = HANDLE(op), epoch = atomic_load_explicit(&freed, memory_order_relaxed);
  const size_t at = (handle ^ handle >> 4 ^ handle >> 9) % 8;
  if (UNLIKELY(cache[at].handle != handle || cache[at].epoch != epoch)) {
    int commutes = 1;
    if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS) commutes = 1;
    cache[at].handle = handle;
    cache[at].epoch = epoch;
    cache[at].commutes = commutes != 0;
  }
  if (!cache[at].commutes) k->record.flags |= ORDERED;
}

void set_barrier(struct collective* k, MPI_Comm comm) { begin(k, COLLECTIVE_BARRIER, false, TRACE_NONE, comm); }
void set_other(struct collective* k, MPI_Comm comm) { begin(k, COLLECTIVE_OTHER, false, TRACE_NONE, comm); }

void set_bcast(struct collective* k, int64_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  enum place place = begin(k, COLLECTIVE_BCAST, false, root, comm);
  uint64_t bytes = place == WATCHER ? 0 : type_bytes(count, type);
  amounts(k, bytes, place == ROOT ? bytes : 0, place == LEAF ? bytes : 0);
}

void set_reduce(struct collective* k, bool in_place, int64_t count, MPI_Datatype type, int root, MPI_Comm comm) {
  enum place place = begin(k, COLLECTIVE_REDUCE, in_place, root, comm);
  uint64_t bytes = place == WATCHER ? 0 : type_bytes(count, type);
  bool gives = place == LEAF || (place == ROOT && !k->comm->remote);
  amounts(k, bytes, gives ? bytes : 0, place == ROOT ? bytes : 0);
}

void set_vector(struct collective* k, int kind, bool in_place, int64_t count, MPI_Datatype type, MPI_Comm comm) {
  begin(k, kind, in_place, TRACE_NONE, comm);
  uint64_t bytes = type_bytes(count, type);
  amounts(k, bytes, bytes, kind == COLLECTIVE_EXSCAN && k->comm->rank == 0 ? 0 : bytes);
}

void set_gather(struct collective* k, bool in_place, int64_t scount, MPI_Datatype stype, int64_t rcount,
                MPI_Datatype rtype, int root, MPI_Comm comm) {
  enum place place = begin(k, COLLECTIVE_GATHER, in_place, root, comm);
  /* Arguments that do not matter at this rank are not looked at: they may be anything. */
  uint64_t block = place == WATCHER ? 0 : place == ROOT ? type_bytes(rcount, rtype) : type_bytes(scount, stype);
  bool gives = place == LEAF || (place == ROOT && !k->comm->remote);
  amounts(k, block, gives ? block : 0, place == ROOT ? block * (uint64_t)partners(k) : 0);
}

void set_scatter(struct collective* k, bool in_place, int64_t scount, MPI_Datatype stype, int64_t rcount,
                 MPI_Datatype rtype, int root, MPI_Comm comm) {
  enum place place = begin(k, COLLECTIVE_SCATTER, in_place, root, comm);
  uint64_t block = place == WATCHER ? 0 : place == ROOT ? type_bytes(scount, stype) : type_bytes(rcount, rtype);
  bool gets = place == LEAF || (place == ROOT && !k->comm->remote);
  amounts(k, block, place == ROOT ? block * (uint64_t)partners(k) : 0, gets ? block : 0);
}

void set_gatherv(struct collective* k, bool in_place, int64_t scount, MPI_Datatype stype, struct ints rcounts,
                 MPI_Datatype rtype, int root, MPI_Comm comm) {
  enum place place = begin(k, COLLECTIVE_GATHER, in_place, root, comm);
  if (place == WATCHER) return;
  if (place == LEAF) {
    uint64_t block = type_bytes(scount, stype);
    amounts(k, block, block, 0);
    return;
  }
  int64_t n = partners(k), *counts = give_counts(k, n);
  uint64_t sum = fill(counts, rcounts, rtype, n);
  uint64_t own = k->comm->remote ? 0 : (uint64_t)counts[k->comm->rank];
  amounts(k, own, own, sum);
}

void set_scatterv(struct collective* k, bool in_place, struct ints scounts, MPI_Datatype stype, int64_t rcount,
                  MPI_Datatype rtype, int root, MPI_Comm comm) {
  enum place place = begin(k, COLLECTIVE_SCATTER, in_place, root, comm);
  if (place == WATCHER) return;
  if (place == LEAF) {
    uint64_t block = type_bytes(rcount, rtype);
    amounts(k, block, 0, block);
    return;
  }
  int64_t n = partners(k), *counts = give_counts(k, n);
  uint64_t sum = fill(counts, scounts, stype, n);
  uint64_t own = k->comm->remote ? 0 : (uint64_t)counts[k->comm->rank];
  amounts(k, own, sum, own);
}

void set_blocks(struct collective* k, int kind, bool in_place, int64_t scount, MPI_Datatype stype, int64_t rcount,
                MPI_Datatype rtype, MPI_Comm comm) {
  begin(k, kind, in_place, TRACE_NONE, comm);
  uint64_t got = type_bytes(rcount, rtype), given = in_place ? got : type_bytes(scount, stype);
  uint64_t n = (uint64_t)partners(k);
  amounts(k, given, kind == COLLECTIVE_ALLTOALL ? given * n : given, got * n);
}

void set_allgatherv(struct collective* k, bool in_place, int64_t scount, MPI_Datatype stype, struct ints rcounts,
                    MPI_Datatype rtype, MPI_Comm comm) {
  begin(k, COLLECTIVE_ALLGATHER, in_place, TRACE_NONE, comm);
  int64_t n = partners(k), *counts = give_counts(k, n);
  uint64_t sum = fill(counts, rcounts, rtype, n);
  uint64_t own = in_place ? (uint64_t)counts[k->comm->rank] : type_bytes(scount, stype);
  amounts(k, own, own, sum);
}

void set_alltoallv(struct collective* k, bool in_place, struct ints scounts, MPI_Datatype stype, struct ints rcounts,
                   MPI_Datatype rtype, MPI_Comm comm) {
  begin(k, COLLECTIVE_ALLTOALL, in_place, TRACE_NONE, comm);
  int64_t n = partners(k), *counts = give_counts(k, 2 * n);
  uint64_t got = fill(counts + n, rcounts, rtype, n);
  uint64_t given = in_place ? fill(counts, rcounts, rtype, n) : fill(counts, scounts, stype, n);
  amounts(k, given, given, got);
}

void set_alltoallw(struct collective* k, bool in_place, struct ints scounts, struct handles stypes, struct ints rcounts,
                   struct handles rtypes, MPI_Comm comm) {
  begin(k, COLLECTIVE_ALLTOALL, in_place, TRACE_NONE, comm);
  int64_t n = partners(k), *counts = give_counts(k, 2 * n);
  uint64_t got = fill_types(counts + n, rcounts, rtypes, n);
  uint64_t given = in_place ? fill_types(counts, rcounts, rtypes, n) : fill_types(counts, scounts, stypes, n);
  amounts(k, given, given, got);
}

void set_reduce_scatter(struct collective* k, bool in_place, struct ints rcounts, MPI_Datatype type, MPI_Comm comm) {
  begin(k, COLLECTIVE_REDUCE_SCATTER, in_place, TRACE_NONE, comm);
  int64_t n = k->comm->size, *counts = give_counts(k, n);
  uint64_t sum = fill(counts, rcounts, type, n), own = (uint64_t)counts[k->comm->rank];
  amounts(k, own, sum, own);
}

void set_reduce_scatter_block(struct collective* k, bool in_place, int64_t count, MPI_Datatype type, MPI_Comm comm) {
  begin(k, COLLECTIVE_REDUCE_SCATTER, in_place, TRACE_NONE, comm);
  uint64_t block = type_bytes(count, type);
  amounts(k, block, block * (uint64_t)k->comm->size, block);
}
