/* Put, get, atomic operations and locks of libisthmus. */
#include "pgas.h"

uint64_t event_key(isthmus_space* space, uint64_t event) {
  const uint64_t key = (event ^ (uint64_t)(uintptr_t)space << 17) * 0x9E3779B97F4A7C15u;
  return (key & ~(KEY_MESSAGE | KEY_FILE)) | 1;
}

static bool access_to(struct trace_rma* access, int kind, isthmus_space* handle, uint32_t rank, uint64_t bytes,
                      uint64_t fetched, uint16_t flags) {
  const struct space* space = space_of(handle);
  if (!space || rank >= (uint32_t)space->members.size) return false;
  *access = (struct trace_rma){.kind = (uint16_t)kind,
                               .derived = flags,
                               .peer = (int32_t)rank,
                               .world = space->members.world[rank],
                               .comm = space->members.id,
                               .window = space->number,
                               .bytes = bytes,
                               .fetched = fetched};
  return true;
}

/* Done when the call ends. */
static void accesses(struct pgas_call* c, struct trace_rma* access, int kind, isthmus_space* space, uint32_t rank,
                     uint64_t bytes, uint64_t fetched, bool pieces) {
  if (access_to(access, kind, space, rank, bytes, fetched, (uint16_t)(TRACE_DONE_AT_ONCE | pieces)))
    pgas_describe(c, FORM_RMA, 1, access, sizeof *access);
}
static void puts_there(struct pgas_call* c, struct trace_rma* access, isthmus_space* space, uint32_t rank,
                       uint64_t bytes, bool pieces) {
  accesses(c, access, RMA_PUT, space, rank, bytes, 0, pieces);
}
static void gets_from(struct pgas_call* c, struct trace_rma* access, isthmus_space* space, uint32_t rank,
                      uint64_t bytes, bool pieces) {
  accesses(c, access, RMA_GET, space, rank, 0, bytes, pieces);
}
/* As pgas_record(), faster where no handler ran. */
static void record_access(struct pgas_call* c, const struct trace_rma* access) {
  if (UNLIKELY(c->opened || c->call.error || c->form == FORM_PLAIN)) {
    pgas_record(c, 0);
    return;
  }
  struct trace_rma* record = record_call(&c->call, FORM_RMA, 0, sizeof *record);
  if (!record) return;
  *record = *access;
  record_commit(c->call.end);
}
/* A wrapper of what `described` says of &c and &access. */
#define RECORD_ACCESS(name, described, ...) \
  struct trace_rma access;                  \
  CALL_OF(name, described, __VA_ARGS__);    \
  record_access(&c, &access);               \
  return status

EXPORT int isthmus_put_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes) {
  RECORD_ACCESS(put_elsewhere, puts_there(&c, &access, space, rank, bytes, false), space, rank, offset, from, bytes);
}
EXPORT int isthmus_get_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes) {
  RECORD_ACCESS(get_elsewhere, gets_from(&c, &access, space, rank, bytes, false), space, to, rank, offset, bytes);
}
/* What goes to the other rank is the value and how often. */
EXPORT int isthmus_set_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, int value, size_t bytes) {
  RECORD_ACCESS(set_elsewhere, puts_there(&c, &access, space, rank, 8, false), space, rank, offset, value, bytes);
}
EXPORT int isthmus_read_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes,
                                  isthmus_access ordered) {
  RECORD_ACCESS(read_elsewhere, gets_from(&c, &access, space, rank, bytes, false), space, to, rank, offset, bytes,
                ordered);
}
EXPORT int isthmus_write_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                                   isthmus_access ordered) {
  RECORD_ACCESS(write_elsewhere, puts_there(&c, &access, space, rank, bytes, false), space, rank, offset, from, bytes,
                ordered);
}

/* ---- many pieces ---- */

enum { MOST_DIMENSIONS = 16 }; /* at least as many as the library takes */
/* Of calls that may turn out to be wrong: nothing that is not there is read. */
static uint64_t box_bytes(uint64_t bytes, const size_t* extents, uint32_t dimensions) {
  if (!extents || dimensions > MOST_DIMENSIONS) return 0;
  for (uint32_t i = 0; i < dimensions; i++) bytes *= extents[i];
  return bytes;
}
static uint64_t blocks_bytes(const isthmus_block* blocks, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; blocks && i < count; i++) sum += blocks[i].bytes;
  return sum;
}

EXPORT int isthmus_put_strided(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides,
                               const void* from, const int64_t* from_strides, size_t bytes, const size_t* extents,
                               uint32_t dimensions) {
  RECORD_ACCESS(put_strided, puts_there(&c, &access, space, rank, box_bytes(bytes, extents, dimensions), true), space,
                rank, offset, strides, from, from_strides, bytes, extents, dimensions);
}
EXPORT int isthmus_get_strided(isthmus_space* space, void* to, const int64_t* to_strides, uint32_t rank,
                               uint64_t offset, const int64_t* strides, size_t bytes, const size_t* extents,
                               uint32_t dimensions) {
  RECORD_ACCESS(get_strided, gets_from(&c, &access, space, rank, box_bytes(bytes, extents, dimensions), true), space,
                to, to_strides, rank, offset, strides, bytes, extents, dimensions);
}
EXPORT int isthmus_put_vector(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                              const isthmus_block* from, size_t from_count) {
  RECORD_ACCESS(put_vector, puts_there(&c, &access, space, rank, blocks_bytes(from, from_count), true), space, rank, to,
                to_count, from, from_count);
}
EXPORT int isthmus_get_vector(isthmus_space* space, const isthmus_block* to, size_t to_count, uint32_t rank,
                              const isthmus_piece* from, size_t from_count) {
  RECORD_ACCESS(get_vector, gets_from(&c, &access, space, rank, blocks_bytes(to, to_count), true), space, to, to_count,
                rank, from, from_count);
}
EXPORT int isthmus_put_indexed(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count,
                               size_t to_bytes, void* const* from, size_t from_count, size_t from_bytes) {
  RECORD_ACCESS(put_indexed, puts_there(&c, &access, space, rank, to_count * to_bytes, true), space, rank, to, to_count,
                to_bytes, from, from_count, from_bytes);
}
EXPORT int isthmus_get_indexed(isthmus_space* space, void* const* to, size_t to_count, size_t to_bytes, uint32_t rank,
                               const uint64_t* from, size_t from_count, size_t from_bytes) {
  RECORD_ACCESS(get_indexed, gets_from(&c, &access, space, rank, to_count * to_bytes, true), space, to, to_count,
                to_bytes, rank, from, from_count, from_bytes);
}

/* ---- what goes on meanwhile ---- */

/* What is begun without an event, and not done at once, is done when all of it is waited for. */
static void record_begun(struct pgas_call* c, int kind, isthmus_space* space, uint32_t rank, uint64_t bytes,
                         bool pieces, const isthmus_event* event) {
  const bool get = kind == RMA_GET;
  const uint64_t key = event && !c->call.error && *event ? event_key(space, *event) : 0;
  struct trace_rma access;
  struct space* s = space_of(space);
  const bool open = !event && s && !isthmus_cast(space, rank, 0);
  if (open) s->began++;
  if (access_to(&access, kind, space, rank, get ? 0 : bytes, get ? bytes : 0,
                (uint16_t)((key || open ? 0 : TRACE_DONE_AT_ONCE) | pieces)))
    pgas_describe(c, FORM_RMA, 1, &access, sizeof access);
  pgas_record(c, key);
}

EXPORT int isthmus_begin_put_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from,
                                       size_t bytes, isthmus_event* event) {
  CALL(begin_put_elsewhere, space, rank, offset, from, bytes, event);
  record_begun(&c, RMA_PUT, space, rank, bytes, false, event);
  return status;
}
EXPORT int isthmus_begin_get_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes,
                                       isthmus_event* event) {
  CALL(begin_get_elsewhere, space, to, rank, offset, bytes, event);
  record_begun(&c, RMA_GET, space, rank, bytes, false, event);
  return status;
}
EXPORT int isthmus_begin_set(isthmus_space* space, uint32_t rank, uint64_t offset, int value, size_t bytes,
                             isthmus_event* event) {
  CALL(begin_set, space, rank, offset, value, bytes, event);
  record_begun(&c, RMA_PUT, space, rank, 8, false, event);
  return status;
}
EXPORT int isthmus_begin_put_strided(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides,
                                     const void* from, const int64_t* from_strides, size_t bytes, const size_t* extents,
                                     uint32_t dimensions, isthmus_event* event) {
  CALL(begin_put_strided, space, rank, offset, strides, from, from_strides, bytes, extents, dimensions, event);
  record_begun(&c, RMA_PUT, space, rank, box_bytes(bytes, extents, dimensions), true, event);
  return status;
}
EXPORT int isthmus_begin_get_strided(isthmus_space* space, void* to, const int64_t* to_strides, uint32_t rank,
                                     uint64_t offset, const int64_t* strides, size_t bytes, const size_t* extents,
                                     uint32_t dimensions, isthmus_event* event) {
  CALL(begin_get_strided, space, to, to_strides, rank, offset, strides, bytes, extents, dimensions, event);
  record_begun(&c, RMA_GET, space, rank, box_bytes(bytes, extents, dimensions), true, event);
  return status;
}
EXPORT int isthmus_begin_put_vector(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                                    const isthmus_block* from, size_t from_count, isthmus_event* event) {
  CALL(begin_put_vector, space, rank, to, to_count, from, from_count, event);
  record_begun(&c, RMA_PUT, space, rank, blocks_bytes(from, from_count), true, event);
  return status;
}
EXPORT int isthmus_begin_get_vector(isthmus_space* space, const isthmus_block* to, size_t to_count, uint32_t rank,
                                    const isthmus_piece* from, size_t from_count, isthmus_event* event) {
  CALL(begin_get_vector, space, to, to_count, rank, from, from_count, event);
  record_begun(&c, RMA_GET, space, rank, blocks_bytes(to, to_count), true, event);
  return status;
}
EXPORT int isthmus_begin_put_indexed(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count,
                                     size_t to_bytes, void* const* from, size_t from_count, size_t from_bytes,
                                     isthmus_event* event) {
  CALL(begin_put_indexed, space, rank, to, to_count, to_bytes, from, from_count, from_bytes, event);
  record_begun(&c, RMA_PUT, space, rank, to_count * to_bytes, true, event);
  return status;
}
EXPORT int isthmus_begin_get_indexed(isthmus_space* space, void* const* to, size_t to_count, size_t to_bytes,
                                     uint32_t rank, const uint64_t* from, size_t from_count, size_t from_bytes,
                                     isthmus_event* event) {
  CALL(begin_get_indexed, space, to, to_count, to_bytes, rank, from, from_count, from_bytes, event);
  record_begun(&c, RMA_GET, space, rank, to_count * to_bytes, true, event);
  return status;
}

/* What is waited for here alone is not in the recording: it is no later than the rest. */
static void record_with(struct pgas_call* c, isthmus_space* space, uint32_t rank, uint64_t bytes, bool pieces,
                        const isthmus_completion* completion) {
  if (completion && !c->call.error && completion->notice != ISTHMUS_NOTICE_NONE)
    record_told(c, space, rank, bytes, completion);
  else record_begun(c, RMA_PUT, space, rank, bytes, pieces, completion ? completion->event : NULL);
}

EXPORT int isthmus_begin_put_with(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                                  const isthmus_completion* completion) {
  CALL(begin_put_with, space, rank, offset, from, bytes, completion);
  record_with(&c, space, rank, bytes, false, completion);
  return status;
}
EXPORT int isthmus_begin_put_strided_with(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides,
                                          const void* from, const int64_t* from_strides, size_t bytes,
                                          const size_t* extents, uint32_t dimensions,
                                          const isthmus_completion* completion) {
  CALL(begin_put_strided_with, space, rank, offset, strides, from, from_strides, bytes, extents, dimensions,
       completion);
  record_with(&c, space, rank, box_bytes(bytes, extents, dimensions), true, completion);
  return status;
}
EXPORT int isthmus_begin_put_vector_with(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                                         const isthmus_block* from, size_t from_count,
                                         const isthmus_completion* completion) {
  CALL(begin_put_vector_with, space, rank, to, to_count, from, from_count, completion);
  record_with(&c, space, rank, blocks_bytes(from, from_count), true, completion);
  return status;
}
EXPORT int isthmus_begin_put_indexed_with(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count,
                                          size_t to_bytes, void* const* from, size_t from_count, size_t from_bytes,
                                          const isthmus_completion* completion) {
  CALL(begin_put_indexed_with, space, rank, to, to_count, to_bytes, from, from_count, from_bytes, completion);
  record_with(&c, space, rank, to_count * to_bytes, true, completion);
  return status;
}

void record_event_done(const struct call* call, uint64_t key) {
  struct request* request = request_take(key);
  if (!request) {
    record_plain(call);
    return;
  }
  struct trace_done* record = record_call(call, FORM_DONE, 1, sizeof *record);
  if (record) {
    *record = (struct trace_done){.request = request->serial};
    record_commit(call->end);
  }
  request_drop(request);
}

static void record_flush(const struct call* call, isthmus_space* handle) {
  struct space* space = space_of(handle);
  if (call->error || !space || !space->began) {
    record_plain(call);
    return;
  }
  space->began = 0;
  struct trace_rma* record = record_call(call, FORM_RMA, 0, sizeof *record);
  if (!record) return;
  *record = (struct trace_rma){.kind = RMA_FLUSH_ALL,
                               .peer = TRACE_NONE,
                               .world = TRACE_NONE,
                               .comm = space->members.id,
                               .window = space->number};
  record_commit(call->end);
}

/* `before`: what the event was. A region has none that was begun. */
static void record_waited(const struct pgas_call* c, isthmus_space* space, uint64_t before, int status) {
  if (c->call.error) record_plain(&c->call);
  else if (status == ISTHMUS_IN_PROGRESS) record_poll(&c->call);
  else if (!before) record_idle(&c->call);
  else if (request_find(event_key(space, before))) record_event_done(&c->call, event_key(space, before));
  else record_flush(&c->call, space);
}

EXPORT int isthmus_test_event(isthmus_space* space, isthmus_event* event) {
  const uint64_t before = event ? *event : 0;
  CALL(test_event, space, event);
  record_waited(&c, space, before, status);
  return status;
}
EXPORT int isthmus_wait_event(isthmus_space* space, isthmus_event* event) {
  const uint64_t before = event ? *event : 0;
  CALL(wait_event, space, event);
  record_waited(&c, space, before, status);
  return status;
}
EXPORT int isthmus_wait_all(isthmus_space* space) {
  CALL(wait_all, space);
  record_flush(&c.call, space);
  return status;
}
EXPORT int isthmus_fence_elsewhere(isthmus_space* space) {
  CALL(fence_elsewhere, space);
  record_flush(&c.call, space);
  return status;
}
EXPORT int isthmus_close_region(isthmus_space* space, isthmus_event* event) {
  CALL(close_region, space, event);
  record_plain(&c.call);
  return status;
}

/* ---- atomic operations, locks ---- */

static void changes(struct pgas_call* c, struct trace_rma* access, isthmus_space* space, uint32_t rank,
                    isthmus_element element, isthmus_atomic_operator operation, bool fetches) {
  const bool four = element == ISTHMUS_I32 || element == ISTHMUS_U32 || element == ISTHMUS_F32;
  const uint64_t bytes = four ? 4 : 8;
  const int kind = operation == ISTHMUS_ATOMIC_READ ? RMA_GET : fetches ? RMA_GET_ACCUMULATE : RMA_ACCUMULATE;
  const uint64_t given = operation == ISTHMUS_ATOMIC_SWAP_IF ? 2 * bytes : bytes;
  accesses(c, access, kind, space, rank, kind == RMA_GET ? 0 : given, kind == RMA_ACCUMULATE ? 0 : bytes, false);
}

EXPORT int isthmus_atomic(isthmus_space* space, uint32_t rank, uint64_t offset, isthmus_element element,
                          isthmus_atomic_operator operation, const void* operand, const void* expected, void* before) {
  RECORD_ACCESS(atomic, changes(&c, &access, space, rank, element, operation, before != NULL), space, rank, offset,
                element, operation, operand, expected, before);
}

EXPORT int isthmus_domain_change(isthmus_domain* domain, uint32_t rank, uint64_t offset,
                                 isthmus_atomic_operator operation, const void* operand, const void* expected,
                                 void* before) {
  RECORD_ACCESS(domain_change,
                domain ? changes(&c, &access, isthmus_domain_space(domain), rank, isthmus_domain_element(domain),
                                 operation, before != NULL)
                       : (void)0,
                domain, rank, offset, operation, operand, expected, before);
}

/* A lock is taken by an atomic operation where it is, and given by another. */
EXPORT int isthmus_lock(isthmus_space* space, isthmus_mutex mutex) {
  RECORD_ACCESS(lock, accesses(&c, &access, RMA_GET_ACCUMULATE, space, mutex.rank, 8, 8, false), space, mutex);
}
EXPORT int isthmus_try_lock(isthmus_space* space, isthmus_mutex mutex) {
  struct trace_rma access;
  CALL_OF(try_lock, accesses(&c, &access, RMA_GET_ACCUMULATE, space, mutex.rank, 8, 8, false), space, mutex);
  if (status == ISTHMUS_IN_PROGRESS && !c.opened) record_poll(&c.call);
  else pgas_record(&c, 0);
  return status;
}
EXPORT int isthmus_unlock(isthmus_space* space, isthmus_mutex mutex) {
  RECORD_ACCESS(unlock, accesses(&c, &access, RMA_ACCUMULATE, space, mutex.rank, 8, 0, false), space, mutex);
}
