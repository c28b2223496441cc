/* Barriers and collectives of libisthmus. */
#include "pgas.h"

/* key: of its request, 0: blocking. */
void record_joint(const struct call* call, int kind, const struct members* members, uint64_t key, int64_t root,
                  uint64_t bytes, uint64_t sent, uint64_t received) {
  const uint32_t serial = key ? request_add(key, REQUEST_OTHER)->serial : 0;
  struct trace_collective* record = record_call(call, FORM_COLLECTIVE, 1, sizeof *record);
  if (!record) return;
  *record = (struct trace_collective){.request = serial,
                                      .kind = (uint16_t)kind,
                                      .root = (int32_t)root,
                                      .comm = members->id,
                                      .bytes = bytes,
                                      .sent = sent,
                                      .received = received};
  record_commit(call->end);
}

/* ---- barriers in two steps ---- */

static uint64_t barrier_key(isthmus_space* space) { return event_key(space, 0xBA881E8); }

EXPORT int isthmus_notify(isthmus_space* space, const int64_t* id) {
  CALL(notify, space, id);
  struct space* s = space_of(space);
  if (status < 0 || !s) record_plain(&c.call);
  else record_joint(&c.call, COLLECTIVE_BARRIER, &s->members, barrier_key(space), TRACE_NONE, 0, 0, 0);
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
  CALL(barrier, space, id);
  struct space* s = space_of(space);
  if (status < 0 || !s) record_plain(&c.call);
  else record_joint(&c.call, COLLECTIVE_BARRIER, &s->members, 0, TRACE_NONE, 0, 0, 0);
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

static void record_shape(const struct call* call, const struct shape* shape, const struct members* m, uint64_t key,
                         int64_t root, uint64_t bytes) {
  const bool is_root = root == m->rank;
  const int gives = is_root ? shape->root_gives : shape->gives, gets = is_root ? shape->root_gets : shape->gets;
  const uint64_t ranks = (uint64_t)m->size;
  record_joint(call, shape->kind, m, key, root, bytes, bytes * (gives < 0 ? ranks : (uint64_t)gives),
               bytes * (gets < 0 ? ranks : (uint64_t)gets));
}

static void record_manner(const struct call* call, isthmus_space* space, const isthmus_manner* manner,
                          const struct shape* shape, int64_t root, uint64_t bytes) {
  const struct members* m = call->error ? NULL : manner_members(space, manner);
  if (m) record_shape(call, shape, m, manner_key(space, manner), root, bytes);
  else record_plain(call);
}

EXPORT int isthmus_barrier_of(isthmus_space* space, const isthmus_manner* manner) {
  CALL(barrier_of, space, manner);
  record_manner(&c.call, space, manner, &barrier, TRACE_NONE, 0);
  return status;
}
EXPORT int isthmus_broadcast(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint32_t root,
                             uint64_t from, uint64_t bytes) {
  CALL(broadcast, space, manner, to, root, from, bytes);
  record_manner(&c.call, space, manner, &broadcast, root, bytes);
  return status;
}
EXPORT int isthmus_scatter(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint32_t root,
                           uint64_t from, uint64_t bytes) {
  CALL(scatter, space, manner, to, root, from, bytes);
  record_manner(&c.call, space, manner, &scatter, root, bytes);
  return status;
}
EXPORT int isthmus_gather(isthmus_space* space, const isthmus_manner* manner, uint32_t root, uint64_t to, uint64_t from,
                          uint64_t bytes) {
  CALL(gather, space, manner, root, to, from, bytes);
  record_manner(&c.call, space, manner, &gather, root, bytes);
  return status;
}
EXPORT int isthmus_gather_all(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                              uint64_t bytes) {
  CALL(gather_all, space, manner, to, from, bytes);
  record_manner(&c.call, space, manner, &gather_all, TRACE_NONE, bytes);
  return status;
}
EXPORT int isthmus_exchange_all(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                                uint64_t bytes) {
  CALL(exchange_all, space, manner, to, from, bytes);
  record_manner(&c.call, space, manner, &exchange, TRACE_NONE, bytes);
  return status;
}
static uint64_t element_bytes(isthmus_element element, uint32_t given) {
  static const uint8_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16};
  return element == ISTHMUS_BYTES ? given : (size_t)element < sizeof sizes ? sizes[element] : 0;
}

/* Ranks combine their own elements first: one of each goes over the network. */
EXPORT int isthmus_reduce(isthmus_space* space, const isthmus_manner* manner, uint32_t root, uint64_t to, uint64_t from,
                          const isthmus_reduction* given) {
  CALL(reduce, space, manner, root, to, from, given);
  record_manner(&c.call, space, manner, &reduction, root,
                status < 0 ? 0 : element_bytes(given->element, given->element_bytes));
  return status;
}
EXPORT int isthmus_prefix_reduce(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                                 const isthmus_reduction* given) {
  CALL(prefix_reduce, space, manner, to, from, given);
  record_manner(&c.call, space, manner, &scan, TRACE_NONE,
                status < 0 ? 0 : element_bytes(given->element, given->element_bytes));
  return status;
}

/* ---- collectives of a team ---- */

static const struct shape* const by_kind[] = {NULL,        &barrier, &broadcast, &reduction, &all_reduction, &gather,
                                              &gather_all, &scatter, &exchange,  NULL,       &scan,          &scan};

static void record_team_call(const struct call* call, const isthmus_team* team, const isthmus_call* given,
                             uint64_t key) {
  if (call->error) {
    record_plain(call);
    return;
  }
  const struct members* m = &team_of(team)->members;
  const size_t kinds = sizeof by_kind / sizeof by_kind[0];
  const struct shape* shape = (size_t)given->kind < kinds ? by_kind[given->kind] : NULL;
  /* Blocks that differ are not looked at: of these the recording has that ranks were together. */
  if (!shape || given->counts) {
    record_joint(call, COLLECTIVE_OTHER, m, key, TRACE_NONE, 0, 0, 0);
    return;
  }
  const bool rooted = shape->root_gives || shape->root_gets;
  record_shape(call, shape, m, key, rooted ? (int64_t)given->root : TRACE_NONE,
               given->kind == ISTHMUS_BARRIER ? 0 : given->count * element_bytes(given->element, given->element_bytes));
}

static uint64_t operation_key(const isthmus_operation* operation) { return event_key(NULL, (uintptr_t)operation); }

EXPORT int isthmus_run(isthmus_team* team, const isthmus_call* call, const void* input, void* output) {
  CALL(run, team, call, input, output);
  record_team_call(&c.call, team, call, 0);
  return status;
}
EXPORT int isthmus_begin(isthmus_team* team, const isthmus_call* call, const void* input, void* output,
                         isthmus_operation** operation) {
  CALL(begin, team, call, input, output, operation);
  record_team_call(&c.call, team, call, status < 0 ? 0 : operation_key(*operation));
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
