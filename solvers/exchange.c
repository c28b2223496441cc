#include "exchange.h"

#include <HYPRE.h>
#include <_hypre_utilities.h>
#include <isthmus/isthmus_mpi.h>
#include <stdlib.h>
#include <string.h>

#include "steps.h"

static void* room(size_t count, size_t size) {
  void* const found = calloc(count ? count : 1, size);
  if (!found) abort();
  return found;
}

static isthmus_call call_of(isthmus_kind kind) {
  return (isthmus_call){
      .size = sizeof(isthmus_call), .kind = kind, .element = sizeof(HYPRE_Real) == 8 ? ISTHMUS_F64 : ISTHMUS_F32};
}

static void check(struct group* group, int status) {
  if (status < 0) group->failed = 1;
}

/* Everybody's node becomes known to all. */
static struct group* with_nodes(struct group* group) {
  group->node_of = room((size_t)group->ranks, sizeof *group->node_of);
  MPI_Allgather(&group->node, 1, MPI_INT, group->node_of, 1, MPI_INT, group->comm);
  return group;
}

struct group* group_of(MPI_Comm comm, int runtime, int ranks_per_node) {
  struct group* const group = room(1, sizeof *group);
  MPI_Comm_dup(comm, &group->comm);
  MPI_Comm_rank(comm, &group->rank);
  MPI_Comm_size(comm, &group->ranks);
  if (runtime && group->ranks > 1 && isthmus_join_mpi(comm, &group->team) != ISTHMUS_DONE) {
    MPI_Comm_free(&group->comm);
    free(group);
    return NULL;
  }
  if (ranks_per_node > 0) {
    group->node = group->rank / ranks_per_node;
  } else {
    MPI_Comm near;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Allreduce(&group->rank, &group->node, 1, MPI_INT, MPI_MIN, near);
    MPI_Comm_free(&near);
  }
  return with_nodes(group);
}

struct group* group_split(struct group* group, int colour) {
  struct group* const part = room(1, sizeof *part);
  if (group->team) check(group, isthmus_split(group->team, colour, 0, &part->team));
  MPI_Comm_split(group->comm, colour < 0 ? MPI_UNDEFINED : colour, 0, &part->comm);
  if (part->comm == MPI_COMM_NULL) return free(part), NULL;
  MPI_Comm_rank(part->comm, &part->rank);
  MPI_Comm_size(part->comm, &part->ranks);
  part->node = group->node;
  return with_nodes(part);
}

void group_free(struct group* group) {
  if (!group) return;
  if (group->team) isthmus_leave(group->team);
  MPI_Comm_free(&group->comm);
  free(group->node_of);
  free(group);
}

struct exchange* exchange_make(struct group* group, int sends, const int* to, const HYPRE_Int* sent, int receives,
                               const int* from, const HYPRE_Int* received, int in_steps) {
  struct exchange* const made = room(1, sizeof *made);
  made->group = group;
  HYPRE_Int outgoing = 0, incoming = 0;
  for (int i = 0; i < sends; ++i) {
    outgoing += sent[i], made->messages += sent[i] > 0;
    made->far += sent[i] > 0 && group->node_of[to[i]] != group->node;
  }
  for (int i = 0; i < receives; ++i) incoming += received[i];
  made->bytes = (long long)outgoing * (long long)sizeof(HYPRE_Real);
  made->out = room((size_t)outgoing, sizeof *made->out);
  made->in = room((size_t)incoming, sizeof *made->in);
  if (group->ranks == 1) return made;
  if (in_steps && (made->steps = steps_make(group, sends, to, sent, receives, from, received))) {
    steps_count(made->steps, &made->messages, &made->bytes, &made->far);
    return made;
  }
  if (group->team) {
    int64_t* const counts = room((size_t)(sends + receives) * 3, sizeof *counts);
    for (int i = 0; i < sends; ++i) counts[3 * i] = to[i], counts[3 * i + 1] = sent[i];
    for (int i = 0; i < receives; ++i) counts[3 * (sends + i)] = from[i], counts[3 * (sends + i) + 2] = received[i];
    isthmus_call call = call_of(ISTHMUS_NEIGHBOR_ALLTOALL);
    call.counts = counts;
    call.counts_length = (size_t)(sends + receives) * 3;
    check(group, isthmus_make(group->team, &call, &made->operation));
    free(counts);
    return made;
  }
  made->partners = sends + receives;
  made->requests = room((size_t)made->partners, sizeof *made->requests);
  made->partner = room((size_t)made->partners, sizeof *made->partner);
  made->count = room((size_t)made->partners, sizeof *made->count);
  made->receives = receives;
  for (int i = 0; i < receives; ++i) made->partner[i] = from[i], made->count[i] = (int)received[i];
  for (int i = 0; i < sends; ++i) made->partner[receives + i] = to[i], made->count[receives + i] = (int)sent[i];
  return made;
}

static void begin_by_mpi(struct exchange* exchange) {
  HYPRE_Real* at = exchange->in;
  exchange->pending = 0;
  for (int i = 0; i < exchange->partners; at += exchange->count[i++]) {
    if (i == exchange->receives) at = exchange->out;
    if (!exchange->count[i]) continue;
    MPI_Request* const request = exchange->requests + exchange->pending++;
    if (i < exchange->receives)
      MPI_Irecv(at, exchange->count[i], HYPRE_MPI_REAL, exchange->partner[i], 0, exchange->group->comm, request);
    else MPI_Isend(at, exchange->count[i], HYPRE_MPI_REAL, exchange->partner[i], 0, exchange->group->comm, request);
  }
}

void exchange_begin(struct exchange* exchange) {
  ++exchange->times;
  if (exchange->steps) steps_begin(exchange->steps, exchange->out);
  else if (exchange->operation) check(exchange->group, isthmus_start(exchange->operation, exchange->out, exchange->in));
  else begin_by_mpi(exchange);
}

void exchange_end(struct exchange* exchange) {
  if (exchange->steps) steps_end(exchange->steps, exchange->in);
  else if (exchange->operation) check(exchange->group, isthmus_wait(exchange->operation));
  else if (exchange->pending) MPI_Waitall(exchange->pending, exchange->requests, MPI_STATUSES_IGNORE);
}

void exchange_free(struct exchange* exchange) {
  if (!exchange) return;
  steps_free(exchange->steps);
  if (exchange->operation) isthmus_free(exchange->operation);
  free(exchange->requests), free(exchange->partner), free(exchange->count);
  free(exchange->out);
  free(exchange->in);
  free(exchange);
}

struct assembly* assembly_make(struct group* group, isthmus_kind kind, HYPRE_Int own) {
  struct assembly* const made = room(1, sizeof *made);
  const int mine = (int)own;
  made->group = group;
  made->kind = kind;
  made->own = own;
  made->counts = room((size_t)group->ranks, sizeof *made->counts);
  made->first = room((size_t)group->ranks + 1, sizeof *made->first);
  MPI_Allgather(&mine, 1, MPI_INT, made->counts, 1, MPI_INT, group->comm);
  for (int i = 0; i < group->ranks; ++i) made->first[i + 1] = made->first[i] + made->counts[i];
  made->all = made->first[group->ranks];
  if (group->team && group->ranks > 1) {
    int64_t* const counts = room((size_t)group->ranks, sizeof *counts);
    for (int i = 0; i < group->ranks; ++i) counts[i] = made->counts[i];
    isthmus_call call = call_of(kind);
    call.counts = counts;
    call.counts_length = (size_t)group->ranks;
    check(group, isthmus_make(group->team, &call, &made->operation));
    free(counts);
  }
  return made;
}

void assembly_run(struct assembly* assembly, const HYPRE_Real* from, HYPRE_Real* to) {
  struct group* const group = assembly->group;
  ++assembly->times;
  if (group->ranks == 1) {
    memcpy(to, from, (size_t)assembly->own * sizeof *to);
  } else if (assembly->operation) {
    check(group, isthmus_start(assembly->operation, from, to));
    check(group, isthmus_wait(assembly->operation));
  } else if (assembly->kind == ISTHMUS_GATHER) {
    MPI_Gatherv((void*)from, (int)assembly->own, HYPRE_MPI_REAL, to, assembly->counts, assembly->first, HYPRE_MPI_REAL,
                0, group->comm);
  } else if (assembly->kind == ISTHMUS_SCATTER) {
    MPI_Scatterv((void*)from, assembly->counts, assembly->first, HYPRE_MPI_REAL, to, (int)assembly->own, HYPRE_MPI_REAL,
                 0, group->comm);
  } else {
    MPI_Allgatherv((void*)from, (int)assembly->own, HYPRE_MPI_REAL, to, assembly->counts, assembly->first,
                   HYPRE_MPI_REAL, group->comm);
  }
}

void assembly_free(struct assembly* assembly) {
  if (!assembly) return;
  if (assembly->operation) isthmus_free(assembly->operation);
  free(assembly->counts);
  free(assembly->first);
  free(assembly);
}
