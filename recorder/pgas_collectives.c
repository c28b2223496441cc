/* Barriers and collectives of libisthmus. */
#include "pgas.h"

void joins(struct pgas_call* c, struct trace_collective* joint, int kind, const struct members* members, int64_t root,
           uint64_t bytes, uint64_t sent, uint64_t received) {
  if (!members) return;
  *joint = (struct trace_collective){.kind = (uint16_t)kind,
                                     .root = (int32_t)root,
                                     .comm = members->id,
                                     .bytes = bytes,
                                     .sent = sent,
                                     .received = received};
  pgas_describe(c, FORM_COLLECTIVE, 1, joint, sizeof *joint);
}

/* ---- barriers in two steps ---- */

static uint64_t barrier_key(isthmus_space* space) { return event_key(space, 0xBA881E8); }

static void meets(struct pgas_call* c, struct trace_collective* joint, isthmus_space* space) {
  const struct space* s = space_of(space);
  if (s) joins(c, joint, COLLECTIVE_BARRIER, &s->members, TRACE_NONE, 0, 0, 0);
}

EXPORT int isthmus_notify(isthmus_space* space, const int64_t* id) {
  struct trace_collective joint;
  CALL_OF(notify, meets(&c, &joint, space), space, id);
  pgas_record(&c, barrier_key(space));
  return status;
}
EXPORT int isthmus_await(isthmus_space* space) {
  CALL(await, space);
  if (status < 0) record_plain(&c.call);
  else record_event_done(&c.call, barrier_key(space));
  return status;
}
EXPORT int isthmus_try_await(isthmus_space* space) {
  CALL(try_await, space);
  if (status < 0) record_plain(&c.call);
  else if (status == ISTHMUS_IN_PROGRESS) record_poll(&c.call);
  else record_event_done(&c.call, barrier_key(space));
  return status;
}
EXPORT int isthmus_barrier(isthmus_space* space, const int64_t* id) {
  struct trace_collective joint;
  CALL_OF(barrier, meets(&c, &joint, space), space, id);
  pgas_record(&c, 0);
  return status;
}

/* ---- collectives of a space ---- */

/* How many blocks of `bytes` a rank gives and gets: the root, if there is one, and others; -1: one for each rank. */
struct shape {
  int kind, root_gives, root_gets, gives, gets;
};
static const struct shape barrier = {COLLECTIVE_BARRIER, 0, 0, 0, 0}, broadcast = {COLLECTIVE_BCAST, 1, 0, 0, 1},
                          scatter = {COLLECTIVE_SCATTER, -1, 1, 0, 1}, gather = {COLLECTIVE_GATHER, 1, -1, 1, 0},
                          gather_all = {COLLECTIVE_ALLGATHER, 0, 0, 1, -1},
                          exchange = {COLLECTIVE_ALLTOALL, 0, 0, -1, -1}, reduction = {COLLECTIVE_REDUCE, 1, 1, 1, 0},
                          all_reduction = {COLLECTIVE_ALLREDUCE, 0, 0, 1, 1}, scan = {COLLECTIVE_SCAN, 0, 0, 1, 1};

static void shaped(struct pgas_call* c, struct trace_collective* joint, const struct shape* shape,
                   const struct members* m, int64_t root, uint64_t bytes) {
  if (!m) return;
  const bool is_root = root == m->rank;
  const int gives = is_root ? shape->root_gives : shape->gives, gets = is_root ? shape->root_gets : shape->gets;
  const uint64_t ranks = (uint64_t)m->size;
  joins(c, joint, shape->kind, m, root, bytes, bytes * (gives < 0 ? ranks : (uint64_t)gives),
        bytes * (gets < 0 ? ranks : (uint64_t)gets));
}

/* A wrapper of a collective of a space. */
#define RECORD_SHAPE(name, shape, root, bytes, ...)                                                                 \
  struct trace_collective joint;                                                                                    \
  CALL_OF(name, shaped(&c, &joint, shape, manner_members(space, manner), root, bytes), space, manner, __VA_ARGS__); \
  pgas_record(&c, manner_key(space, manner));                                                                       \
  return status

EXPORT int isthmus_barrier_of(isthmus_space* space, const isthmus_manner* manner) {
  struct trace_collective joint;
  CALL_OF(barrier_of, shaped(&c, &joint, &barrier, manner_members(space, manner), TRACE_NONE, 0), space, manner);
  pgas_record(&c, manner_key(space, manner));
  return status;
}
EXPORT int isthmus_broadcast(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint32_t root,
                             uint64_t from, uint64_t bytes) {
  RECORD_SHAPE(broadcast, &broadcast, root, bytes, to, root, from, bytes);
}
EXPORT int isthmus_scatter(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint32_t root,
                           uint64_t from, uint64_t bytes) {
  RECORD_SHAPE(scatter, &scatter, root, bytes, to, root, from, bytes);
}
EXPORT int isthmus_gather(isthmus_space* space, const isthmus_manner* manner, uint32_t root, uint64_t to, uint64_t from,
                          uint64_t bytes) {
  RECORD_SHAPE(gather, &gather, root, bytes, root, to, from, bytes);
}
EXPORT int isthmus_gather_all(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                              uint64_t bytes) {
  RECORD_SHAPE(gather_all, &gather_all, TRACE_NONE, bytes, to, from, bytes);
}
EXPORT int isthmus_exchange_all(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                                uint64_t bytes) {
  RECORD_SHAPE(exchange_all, &exchange, TRACE_NONE, bytes, to, from, bytes);
}
static uint64_t element_bytes(isthmus_element element, uint32_t given) {
  static const uint8_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16};
  return element == ISTHMUS_BYTES ? given : (size_t)element < sizeof sizes ? sizes[element] : 0;
}

static uint64_t reduced_bytes(const isthmus_reduction* given) {
  return given ? element_bytes(given->element, given->element_bytes) : 0;
}

/* Ranks combine their own elements first: one of each goes over the network. */
EXPORT int isthmus_reduce(isthmus_space* space, const isthmus_manner* manner, uint32_t root, uint64_t to, uint64_t from,
                          const isthmus_reduction* given) {
  RECORD_SHAPE(reduce, &reduction, root, reduced_bytes(given), root, to, from, given);
}
EXPORT int isthmus_prefix_reduce(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                                 const isthmus_reduction* given) {
  RECORD_SHAPE(prefix_reduce, &scan, TRACE_NONE, reduced_bytes(given), to, from, given);
}

/* ---- collectives of a team ---- */

static const struct shape* const by_kind[] = {NULL,        &barrier, &broadcast, &reduction, &all_reduction, &gather,
                                              &gather_all, &scatter, &exchange,  NULL,       &scan,          &scan};

static void team_calls(struct pgas_call* c, struct trace_collective* joint, const isthmus_team* team,
                       const isthmus_call* given) {
  if (!team || !given) return;
  const struct members* m = &team_of(team)->members;
  const size_t kinds = sizeof by_kind / sizeof by_kind[0];
  const struct shape* shape = (size_t)given->kind < kinds ? by_kind[given->kind] : NULL;
  /* Blocks that differ are not looked at: of these the recording has that ranks were together. */
  if (!shape || given->counts) {
    joins(c, joint, COLLECTIVE_OTHER, m, TRACE_NONE, 0, 0, 0);
    return;
  }
  const bool rooted = shape->root_gives || shape->root_gets;
  shaped(c, joint, shape, m, rooted ? (int64_t)given->root : TRACE_NONE,
         given->kind == ISTHMUS_BARRIER ? 0 : given->count * element_bytes(given->element, given->element_bytes));
}

static uint64_t operation_key(const isthmus_operation* operation) { return event_key(NULL, (uintptr_t)operation); }

EXPORT int isthmus_run(isthmus_team* team, const isthmus_call* call, const void* input, void* output) {
  struct trace_collective joint;
  CALL_OF(run, team_calls(&c, &joint, team, call), team, call, input, output);
  pgas_record(&c, 0);
  return status;
}
EXPORT int isthmus_begin(isthmus_team* team, const isthmus_call* call, const void* input, void* output,
                         isthmus_operation** operation) {
  struct trace_collective joint;
  CALL_OF(begin, team_calls(&c, &joint, team, call), team, call, input, output, operation);
  pgas_record(&c, status < 0 ? 0 : operation_key(*operation));
  return status;
}
static void record_operation(const struct pgas_call* c, const isthmus_operation* operation, int status) {
  if (c->call.error) record_plain(&c->call);
  else if (status == ISTHMUS_IN_PROGRESS) record_poll(&c->call);
  else record_event_done(&c->call, operation_key(operation));
}
EXPORT int isthmus_test(isthmus_operation* operation) {
  CALL(test, operation);
  record_operation(&c, operation, status);
  return status;
}
EXPORT int isthmus_wait(isthmus_operation* operation) {
  CALL(wait, operation);
  record_operation(&c, operation, status);
  return status;
}
