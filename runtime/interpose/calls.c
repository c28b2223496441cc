/* From a call of MPI to one of Isthmus: what is given and got, as bytes one after the other, and numbers of them. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

const char* const collective_names[COLLECTIVES] = {
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
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
    "neighbor_alltoallw",
};

bool reduces(enum collective kind) {
  return kind == REDUCE || kind == ALLREDUCE || (kind >= REDUCE_SCATTER && kind <= EXSCAN);
}
static bool rooted(enum collective kind) {
  return kind == BCAST || kind == REDUCE || (kind >= GATHER && kind <= SCATTERV);
}
static bool of_neighbours(enum collective kind) { return kind >= NEIGHBOR_ALLGATHER; }

bool call_gives(const struct arguments* a, const struct communicator* c) {
  const bool scatters = a->kind == SCATTER || a->kind == SCATTERV;
  return a->kind != BARRIER && a->kind != BCAST && (!scatters || c->rank == a->root) && a->sbuf != MPI_IN_PLACE;
}

bool call_gets(const struct arguments* a, const struct communicator* c) {
  const bool gathers = a->kind == GATHER || a->kind == GATHERV;
  return a->kind != BARRIER && (!gathers || c->rank == a->root) && a->rbuf != MPI_IN_PLACE;
}

/* Wrong arguments are left to the MPI library, which has its words for them. Only those that matter are looked at: the
 * others may be anything. */
static bool wrong(const struct arguments* a, const struct communicator* c) {
  if (rooted(a->kind) && (a->root < 0 || a->root >= c->size)) return true;
  if (reduces(a->kind)) return a->scount < 0 || a->rcount < 0;
  const bool typed = a->kind != ALLTOALLW && a->kind != NEIGHBOR_ALLTOALLW;
  if (call_gives(a, c) && (a->scount < 0 || (typed && a->stype == MPI_DATATYPE_NULL))) return true;
  return call_gets(a, c) && (a->rcount < 0 || (typed && a->rtype == MPI_DATATYPE_NULL));
}

bool call_comparable(enum collective kind, const struct communicator* c) {
  return !c->twice || kind < NEIGHBOR_ALLTOALL;
}

const char* call_refused(const struct arguments* a, struct communicator* c, struct reduction* reduction) {
  if (!c->team) return c->why;
  if (wrong(a, c)) return "a wrong argument";
  if (reduces(a->kind)) return reduction_of(a->op, a->stype, reduction);
  if (!of_neighbours(a->kind)) return NULL;
  communicator_neighbours(c, a->comm);
  return c->away;
}

static int64_t bytes_of(int64_t count, MPI_Datatype type) {
  if (count == 0 || type == MPI_DATATYPE_NULL) return 0;
  return count * type_of(type).size;
}

int64_t call_size(const struct arguments* a, const struct communicator* c, int64_t* own) {
  int64_t sum = 0;
  switch (a->kind) {
    case BARRIER: return *own = 0;
    case BCAST: return *own = bytes_of(a->rcount, a->rtype);
    case REDUCE:
    case ALLREDUCE:
    case SCAN:
    case EXSCAN: return *own = bytes_of(a->scount, a->stype);
    case GATHER:
    case ALLGATHER:
      return *own = a->sbuf == MPI_IN_PLACE ? bytes_of(a->rcount, a->rtype) : bytes_of(a->scount, a->stype);
    case SCATTER: return *own = a->rbuf == MPI_IN_PLACE ? bytes_of(a->scount, a->stype) : bytes_of(a->rcount, a->rtype);
    case ALLTOALL: return *own = bytes_of(a->rcount, a->rtype);
    case REDUCE_SCATTER_BLOCK: return *own = bytes_of(a->rcount, a->stype);
    case REDUCE_SCATTER:
    case ALLGATHERV:
      for (int i = 0; i < c->size; ++i) sum += int_at(a->rcounts, i);
      return *own = bytes_of(sum, a->kind == ALLGATHERV ? a->rtype : a->stype) / c->size;
    case GATHERV:
      *own = a->sbuf == MPI_IN_PLACE ? bytes_of(int_at(a->rcounts, c->rank), a->rtype) : bytes_of(a->scount, a->stype);
      return -1;
    case SCATTERV:
      *own = a->rbuf == MPI_IN_PLACE ? bytes_of(int_at(a->scounts, c->rank), a->stype) : bytes_of(a->rcount, a->rtype);
      return -1;
    case ALLTOALLV:
      for (int i = 0; i < c->size; ++i) sum += int_at(a->rcounts, i);
      *own = bytes_of(sum, a->rtype) / c->size;
      return -1;
    default: *own = bytes_of(a->rcount, a->rtype); return -1;
  }
}

static struct side one(const void* base, MPI_Datatype type, int64_t count) {
  return (struct side){.base = (char*)base, .type = type_of(type), .count = count, .blocks = 1};
}

static struct side equal(const void* base, MPI_Datatype type, int64_t count, int blocks, const int* ranks) {
  struct side s = one(base, type, count);
  s.blocks = blocks;
  s.ranks = ranks;
  return s;
}

static struct side different(const void* base, MPI_Datatype type, struct ints counts, struct ints displs, int blocks,
                             const int* ranks) {
  struct side s = equal(base, type, 0, blocks, ranks);
  s.counts = counts;
  s.displs = displs;
  return s;
}

static struct side typed(const void* base, struct types types, struct ints counts, struct ints displs, int blocks,
                         const int* ranks) {
  return (struct side){
      .base = (char*)base, .types = types, .counts = counts, .displs = displs, .blocks = blocks, .ranks = ranks};
}

/* What a rank gives to all, or to each. */
static struct side given(const struct arguments* a, const struct communicator* c) {
  switch (a->kind) {
    case SCATTER: return equal(a->sbuf, a->stype, a->scount, c->size, NULL);
    case ALLTOALL: return equal(a->sbuf, a->stype, a->scount, c->size, NULL);
    case SCATTERV:
    case ALLTOALLV: return different(a->sbuf, a->stype, a->scounts, a->sdispls, c->size, NULL);
    case ALLTOALLW: return typed(a->sbuf, a->stypes, a->scounts, a->sdispls, c->size, NULL);
    case NEIGHBOR_ALLTOALL: return equal(a->sbuf, a->stype, a->scount, c->outs, c->out);
    case NEIGHBOR_ALLTOALLV: return different(a->sbuf, a->stype, a->scounts, a->sdispls, c->outs, c->out);
    case NEIGHBOR_ALLTOALLW: return typed(a->sbuf, a->stypes, a->scounts, a->sdispls, c->outs, c->out);
    case REDUCE_SCATTER_BLOCK: return equal(a->sbuf, a->stype, a->rcount, c->size, NULL);
    case REDUCE_SCATTER: {
      int64_t sum = 0;
      for (int i = 0; i < c->size; ++i) sum += int_at(a->rcounts, i);
      return one(a->sbuf, a->stype, sum);
    }
    default: return one(a->sbuf, a->stype, a->scount);
  }
}

/* What it gets. */
static struct side got(const struct arguments* a, const struct communicator* c) {
  switch (a->kind) {
    case GATHER:
    case ALLGATHER:
    case ALLTOALL: return equal(a->rbuf, a->rtype, a->rcount, c->size, NULL);
    case GATHERV:
    case ALLGATHERV:
    case ALLTOALLV: return different(a->rbuf, a->rtype, a->rcounts, a->rdispls, c->size, NULL);
    case ALLTOALLW: return typed(a->rbuf, a->rtypes, a->rcounts, a->rdispls, c->size, NULL);
    case NEIGHBOR_ALLGATHER:
    case NEIGHBOR_ALLTOALL: return equal(a->rbuf, a->rtype, a->rcount, c->ins, c->in);
    case NEIGHBOR_ALLGATHERV:
    case NEIGHBOR_ALLTOALLV: return different(a->rbuf, a->rtype, a->rcounts, a->rdispls, c->ins, c->in);
    case NEIGHBOR_ALLTOALLW: return typed(a->rbuf, a->rtypes, a->rcounts, a->rdispls, c->ins, c->in);
    case REDUCE:
    case ALLREDUCE:
    case SCAN:
    case EXSCAN: return one(a->rbuf, a->stype, a->scount);
    case REDUCE_SCATTER_BLOCK: return one(a->rbuf, a->stype, a->rcount);
    case REDUCE_SCATTER: return one(a->rbuf, a->stype, int_at(a->rcounts, c->rank));
    default: return one(a->rbuf, a->rtype, a->rcount);
  }
}

static void* memory(int64_t bytes) { return malloc(bytes > 0 ? (size_t)bytes : 1); }

/* Bytes of elements with gaps that an operator takes with their gaps (pairs) are moved as they lie. */
static void with_gaps(const struct call* call, struct side* s) {
  if (!call->reduction.by_mpi || !call->reduction.type.named) return;
  s->type.size = s->type.extent;
  s->type.dense = true;
}

/* The input is where the side is, or a copy of it. */
static bool take_input(struct call* call, struct side s, bool copied) {
  with_gaps(call, &s);
  if (!copied && side_lies(&s, &call->input)) return true;
  call->input = call->packed = memory(side_bytes(&s));
  if (!call->packed) return false;
  side_pack(&s, call->packed);
  return true;
}

/* The same of the output; `begins`: with what the side holds, `ends`: it is wanted at the end. */
static bool take_output(struct call* call, struct side s, bool begins, bool ends) {
  with_gaps(call, &s);
  if (ends && side_lies(&s, &call->output)) return true;
  if (begins && side_lies(&s, &call->output)) return true;
  call->output = call->pending = memory(side_bytes(&s));
  if (!call->pending) return false;
  if (begins) side_pack(&s, call->pending);
  if (ends) call->to = s;
  return true;
}

/* Numbers that Isthmus copies when a call begins. */
static int64_t* numbers(int64_t n) {
  static _Thread_local int64_t* room; /* the lock may be given up before they are copied */
  static _Thread_local int64_t most;
  if (n > most) {
    int64_t* larger = realloc(room, (size_t)(2 * n) * sizeof *room);
    if (!larger) return NULL;
    room = larger;
    most = 2 * n;
  }
  return room;
}

static bool set_counts(struct call* call, const struct arguments* a, const struct communicator* c) {
  const bool both = a->kind == ALLTOALLV || a->kind == ALLTOALLW, root = c->rank == a->root;
  int64_t n = of_neighbours(a->kind) ? 3 * ((int64_t)c->ins + c->outs) : both ? 2 * c->size : c->size;
  int64_t *to = numbers(n + 1), own;
  struct side in, out;
  if (!to) return false;
  switch (a->kind) {
    case GATHERV:
    case SCATTERV:
      /* The others know their own only: the root does what it does with each of them alone. */
      call->call.algorithm = "linear";
      call_size(a, c, &own);
      memset(to, 0, (size_t)n * sizeof *to);
      to[c->rank] = own;
      if (root) in = a->kind == GATHERV ? got(a, c) : given(a, c);
      for (int i = 0; root && i < c->size; ++i) to[i] = side_block(&in, i);
      break;
    case ALLGATHERV:
      out = got(a, c);
      for (int i = 0; i < c->size; ++i) to[i] = side_block(&out, i);
      break;
    case REDUCE_SCATTER:
      for (int i = 0; i < c->size; ++i) to[i] = int_at(a->rcounts, i);
      break;
    case ALLTOALLV:
    case ALLTOALLW:
      call->call.algorithm = "linear";
      out = got(a, c);
      in = a->sbuf == MPI_IN_PLACE ? out : given(a, c);
      for (int i = 0; i < c->size; ++i) {
        to[i] = side_block(&in, i);
        to[c->size + i] = side_block(&out, i);
      }
      break;
    default: {
      const bool gathers = a->kind == NEIGHBOR_ALLGATHER;
      in = given(a, c);
      out = got(a, c);
      n = 0;
      for (int i = 0; i < c->outs; ++i) {
        if (c->out[i] == MPI_PROC_NULL) continue;
        to[n++] = c->out[i];
        to[n++] = gathers ? side_bytes(&in) : side_block(&in, i);
        to[n++] = 0;
      }
      for (int i = 0; i < c->ins; ++i) {
        if (c->in[i] == MPI_PROC_NULL) continue;
        to[n++] = c->in[i];
        to[n++] = 0;
        to[n++] = side_block(&out, i);
      }
    }
  }
  call->call.counts = to;
  call->call.counts_length = (size_t)n;
  return true;
}

/* Blocks of neighbours stay where they are, in the order in which messages meet: not so where the algorithm may be one
 * that needs them one after the other, which is for all ranks to know. */
static bool placed(enum collective kind, const struct communicator* c) {
  return kind == NEIGHBOR_ALLGATHERV || kind == NEIGHBOR_ALLTOALLV || kind == NEIGHBOR_ALLTOALLW ||
         (kind == NEIGHBOR_ALLTOALL && c->both_sides);
}

/* The first byte of a side whose blocks are all without gaps. NULL: one of them is not, or there are none. */
static char* least_place(const struct side* s) {
  char *least = NULL, *at;
  for (int i = 0; i < s->blocks; ++i) {
    if (!side_place(s, i, &at)) return NULL;
    if (side_block(s, i) > 0 && (!least || at < least)) least = at;
  }
  return least;
}

/* Appends a message of block i, which lies so many bytes behind the beginning of its side; `end`: of the block before.
 * `offset`: 1, it is sent, or 2, it comes. */
static int64_t* add_message(int64_t* to, int neighbour, int offset, int64_t at, int64_t bytes, int64_t* end) {
  if (at != *end) {
    to[0] = ISTHMUS_GAP;
    to[1] = to[2] = 0;
    to[offset] = at - *end;
    to += 3;
  }
  to[0] = neighbour;
  to[1] = to[2] = 0;
  to[offset] = bytes;
  *end = at + bytes;
  return to + 3;
}

static bool take_neighbours(struct call* call, const struct arguments* a, const struct communicator* c) {
  struct side in = given(a, c), out = got(a, c);
  const bool gathers = a->kind == NEIGHBOR_ALLGATHERV;
  int64_t *const first = numbers(6 * ((int64_t)c->ins + c->outs) + 1), *to = first, end = 0, packed = 0;
  if (!first) return false;
  char *from = least_place(&in), *into = least_place(&out), *at;
  call->input = from;
  if (!from && !take_input(call, in, true)) return false;
  call->output = into;
  if (!into) {
    call->output = call->pending = memory(side_bytes(&out));
    if (!call->pending) return false;
    call->to = out;
  }
  for (int i = 0; i < c->outs; ++i) {
    const int64_t bytes = side_block(&in, gathers ? 0 : i);
    if (c->out[i] == MPI_PROC_NULL || bytes == 0) continue;
    if (from) side_place(&in, gathers ? 0 : i, &at);
    to = add_message(to, c->out[i], 1, from ? at - from : packed, bytes, &end);
    packed += gathers ? 0 : bytes;
  }
  /* Messages of two ranks meet in their order. In a grid the first one, to the lower side, comes from the upper one. */
  int64_t* places = into ? NULL : malloc(((size_t)c->ins + 1) * sizeof *places);
  packed = 0;
  for (int i = 0; places && i < c->ins; ++i) {
    places[i] = packed;
    packed += side_block(&out, i);
  }
  if (!into && !places) return false;
  end = 0;
  for (int k = 0; k < c->ins; ++k) {
    const int i = c->both_sides ? k ^ 1 : k;
    const int64_t bytes = side_block(&out, i);
    if (c->in[i] == MPI_PROC_NULL || bytes == 0) continue;
    if (into) side_place(&out, i, &at);
    to = add_message(to, c->in[i], 2, into ? at - into : places[i], bytes, &end);
  }
  free(places);
  call->call.algorithm = "linear";
  call->call.counts = first;
  call->call.counts_length = (size_t)(to - first);
  return true;
}

/* The same block for every neighbour. */
static bool take_repeated(struct call* call, const struct side* in, const struct communicator* c) {
  const int64_t bytes = side_bytes(in);
  int64_t n = 0;
  for (int i = 0; i < c->outs; ++i) n += c->out[i] != MPI_PROC_NULL;
  call->input = call->packed = memory(n * bytes);
  if (!call->packed) return false;
  if (n > 0) side_pack(in, call->packed);
  for (int64_t i = 1; i < n; ++i) memcpy((char*)call->packed + i * bytes, call->packed, (size_t)bytes);
  return true;
}

static bool take_buffers(struct call* call, const struct arguments* a, struct communicator* c) {
  const bool root = c->rank == a->root, given_there = a->sbuf == MPI_IN_PLACE;
  struct side out, in;
  switch (a->kind) {
    case BARRIER: return true;
    case BCAST: return take_output(call, got(a, c), root, !root);
    case REDUCE:
      if (call->reduction.commutes) {
        call->call.in_place = root && given_there;
        if (root && !take_output(call, got(a, c), given_there, true)) return false;
        return call->call.in_place || take_input(call, given(a, c), false);
      }
      /* In the order of ranks; the others have no use for the result. */
      call->call.kind = ISTHMUS_ALLREDUCE;
      out = root ? got(a, c) : one(NULL, a->stype, a->scount);
      return take_input(call, root && given_there ? out : given(a, c), root && given_there) &&
             take_output(call, out, false, root);
    case EXSCAN:
    case ALLREDUCE:
    case SCAN:
      call->call.in_place = given_there;
      return take_output(call, got(a, c), given_there, given_there || a->kind != EXSCAN || c->rank > 0) &&
             (given_there || take_input(call, given(a, c), false));
    case GATHER:
    case GATHERV:
    case ALLGATHER:
    case ALLGATHERV: {
      const bool all = a->kind == ALLGATHER || a->kind == ALLGATHERV;
      if (!all && !root) return take_input(call, given(a, c), false);
      out = got(a, c);
      if (!take_output(call, out, false, true)) return false;
      if (!given_there) return take_input(call, given(a, c), false);
      call->call.in_place = call->pending == NULL;
      if (call->call.in_place) return true;
      call->input = call->packed = memory(side_block(&out, c->rank));
      if (call->packed) side_pack_block(&out, c->rank, call->packed);
      return call->packed != NULL;
    }
    case SCATTER:
    case SCATTERV:
      if (root && !take_input(call, given(a, c), false)) return false;
      call->call.in_place = root && a->rbuf == MPI_IN_PLACE;
      return call->call.in_place || take_output(call, got(a, c), false, true);
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
      out = got(a, c);
      return take_input(call, given_there ? out : given(a, c), given_there) && take_output(call, out, false, true);
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK:
      in = given(a, c);
      if (given_there) in.base = a->rbuf;
      return take_input(call, in, given_there) && take_output(call, got(a, c), false, true);
    case NEIGHBOR_ALLGATHER:
      in = given(a, c);
      return take_repeated(call, &in, c) && take_output(call, got(a, c), false, true);
    default: return take_input(call, given(a, c), false) && take_output(call, got(a, c), false, true);
  }
}

static isthmus_kind kind_of(enum collective kind) {
  static const isthmus_kind kinds[COLLECTIVES] = {
      [BARRIER] = ISTHMUS_BARRIER,
      [BCAST] = ISTHMUS_BCAST,
      [REDUCE] = ISTHMUS_REDUCE,
      [ALLREDUCE] = ISTHMUS_ALLREDUCE,
      [GATHER] = ISTHMUS_GATHER,
      [GATHERV] = ISTHMUS_GATHER,
      [SCATTER] = ISTHMUS_SCATTER,
      [SCATTERV] = ISTHMUS_SCATTER,
      [ALLGATHER] = ISTHMUS_ALLGATHER,
      [ALLGATHERV] = ISTHMUS_ALLGATHER,
      [ALLTOALL] = ISTHMUS_ALLTOALL,
      [ALLTOALLV] = ISTHMUS_ALLTOALL,
      [ALLTOALLW] = ISTHMUS_ALLTOALL,
      [REDUCE_SCATTER] = ISTHMUS_REDUCE_SCATTER,
      [REDUCE_SCATTER_BLOCK] = ISTHMUS_REDUCE_SCATTER,
      [SCAN] = ISTHMUS_SCAN,
      [EXSCAN] = ISTHMUS_EXSCAN,
  };
  return of_neighbours(kind) ? ISTHMUS_NEIGHBOR_ALLTOALL : kinds[kind];
}

bool call_prepare(struct call* call, const struct arguments* a, struct communicator* c,
                  const struct reduction* reduction) {
  *call = (struct call){.comm = c};
  call->call.size = sizeof call->call;
  call->call.kind = kind_of(a->kind);
  call->call.element = ISTHMUS_U8;
  if (rooted(a->kind)) call->call.root = (uint32_t)a->root;
  int64_t own;
  if (reduces(a->kind)) {
    call->reduction = *reduction;
    call->call.count = (uint64_t)(a->kind == REDUCE_SCATTER_BLOCK ? a->rcount
                                  : a->kind == REDUCE_SCATTER     ? 0
                                                                  : a->scount);
    if (reduction->by_mpi) {
      call->call.element = ISTHMUS_BYTES;
      call->call.element_bytes = (uint32_t)reduction->element_bytes;
      call->call.combine = reduction_combine;
      call->call.data = &call->reduction;
      call->call.commutes = reduction->commutes;
    } else {
      call->call.element = (isthmus_element)reduction->type.element;
      call->call.operation = reduction->operation;
    }
  } else {
    const int64_t bytes = call_size(a, c, &own);
    call->call.count = bytes < 0 ? 0 : (uint64_t)bytes;
  }
  const bool counted = a->kind == GATHERV || a->kind == SCATTERV || a->kind == ALLGATHERV || a->kind == ALLTOALLV ||
                       a->kind == ALLTOALLW || a->kind == REDUCE_SCATTER || of_neighbours(a->kind);
  if (placed(a->kind, c)) {
    call->call.count = 0;
    return take_neighbours(call, a, c);
  }
  if (counted) {
    call->call.count = 0;
    if (!set_counts(call, a, c)) return false;
  }
  return take_buffers(call, a, c);
}

void call_finish(struct call* call) {
  if (call->to.blocks > 0) side_unpack(&call->to, call->pending);
}

void call_release(struct call* call) {
  free(call->packed);
  free(call->pending);
}
