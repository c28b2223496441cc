/* Active messages of libisthmus, signals, polls. */
#include <string.h>

#include "pgas.h"

/* Payloads up to this one are in the message itself, wherever the other rank is (post.hpp). */
enum { MOST_INLINE = 4096 };
enum { BUFFERED_SEND = 2, HEAD = 32, SIGNALS = ISTHMUS_MOST_HANDLERS, MOST_SIGNALS = 64, PERMUTED = 0x7FFFFFF0 };

/* As it is in the queue of the other rank: head, arguments, payload. */
static uint64_t wire_bytes(uint32_t count, size_t bytes) { return HEAD + 8 * (uint64_t)count + bytes; }

static struct trace_message message(const struct members* members, int direction, int32_t peer, int32_t tag,
                                    uint64_t bytes) {
  return (struct trace_message){.direction = (uint16_t)direction,
                                .mode = direction == 0 ? BUFFERED_SEND : 0,
                                .peer = peer,
                                .tag = tag,
                                .asked_peer = peer,
                                .asked_tag = tag,
                                .comm = members->id,
                                .bytes = bytes,
                                .world = peer < 0 ? peer : members->world[peer]};
}

static void write_messages(const struct call* call, const struct trace_message* first, uint32_t n) {
  struct trace_message* record = record_call(call, FORM_MESSAGE, n, n * sizeof *record);
  if (!record) return;
  memcpy(record, first, n * sizeof *record);
  record_commit(call->end);
}

/* The call waits for room, running handlers, and sends then; of a large payload to a rank that shares no memory it
 * waits for the end. */
static void sends(struct pgas_call* c, struct trace_message* m, isthmus_space* handle, uint32_t rank, uint32_t handler,
                  uint32_t count, size_t bytes) {
  const struct space* space = space_of(handle);
  if (!space || rank >= (uint32_t)space->members.size) return;
  *m = message(&space->members, 0, (int32_t)rank, (int32_t)handler, wire_bytes(count, bytes));
  pgas_describe(c, FORM_MESSAGE, 1, m, sizeof *m);
  c->late = bytes <= MOST_INLINE || isthmus_cast(handle, rank, 0);
}

/* In place of a handler: what went before in the call that runs it was waiting for the message. */
static void handled(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                    void* data) {
  const struct handler* handler = data;
  if (!atomic_load_explicit(&recorder_on, memory_order_relaxed)) {
    handler->run(token, arguments, count, payload, bytes, handler->data);
    return;
  }
  struct pgas_call *const running = pgas_running, own;
  const int before = depth;
  struct pgas_call* const c = running ? running : &own;
  if (running) {
    call_end(&c->call, 0);
    if (pgas_open(c)) {
      c->call.begin = c->call.end;
      c->call.cpu_gap = 0;
    }
  } else {
    /* In a call that is not recorded, or by the thread of the library. */
    pgas_call_begin(c, PGAS_handled, __builtin_return_address(0), __builtin_frame_address(0));
    pgas_call_end(c, 0);
  }
  struct call receive = c->call;
  receive.function = pgas_before + PGAS_handled;
  struct trace_message m = message(&handler->space->members, 1, (int32_t)isthmus_token_rank(token),
                                   (int32_t)handler->number, wire_bytes(count, bytes));
  if (!running) m.derived = TRACE_BEGUN;
  write_messages(&receive, &m, 1);
  pgas_running = NULL;
  call_leave(&c->call);
  handler->run(token, arguments, count, payload, bytes, handler->data);
  pgas_running = running;
  call_again(&c->call);
  if (running) return;
  /* Nothing else says how long it computed. */
  call_end(&c->call, 0);
  if (record_call(&c->call, FORM_DONE, 0, 0)) record_commit(c->call.end);
  call_leave(&c->call);
  depth = before;
}

EXPORT int isthmus_handle(isthmus_space* handle, uint32_t number, isthmus_handler run, void* data) {
  struct space* space = recording() ? space_of(handle) : NULL;
  if (!space || number >= ISTHMUS_MOST_HANDLERS || !run) return NEXT(handle)(handle, number, run, data);
  struct handler* handler = &space->handlers[number];
  *handler = (struct handler){run, data, space, number};
  return NEXT(handle)(handle, number, handled, handler);
}

/* A wrapper of a call that sends. */
#define RECORD_SENT(name, space, rank, handler, count, bytes, ...)               \
  struct trace_message m;                                                        \
  CALL_OF(name, sends(&c, &m, space, rank, handler, count, bytes), __VA_ARGS__); \
  pgas_record(&c, 0);                                                            \
  return status

EXPORT int isthmus_request(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments,
                           uint32_t count, const void* payload, size_t bytes) {
  RECORD_SENT(request, space, rank, handler, count, bytes, space, rank, handler, arguments, count, payload, bytes);
}
EXPORT int isthmus_request_to(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments,
                              uint32_t count, const void* payload, size_t bytes, uint64_t offset) {
  RECORD_SENT(request_to, space, rank, handler, count, bytes, space, rank, handler, arguments, count, payload, bytes,
              offset);
}
EXPORT int isthmus_begin_request_to(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments,
                                    uint32_t count, const void* payload, size_t bytes, uint64_t offset,
                                    isthmus_event* event) {
  RECORD_SENT(begin_request_to, space, rank, handler, count, bytes, space, rank, handler, arguments, count, payload,
              bytes, offset, event);
}
EXPORT int isthmus_prepare(isthmus_space* space, uint32_t rank, size_t bytes, void** room) {
  CALL(prepare, space, rank, bytes, room);
  struct space* s = space_of(space);
  if (s) s->prepared = rank;
  record_plain(&c.call);
  return status;
}
static uint32_t prepared_for(const isthmus_space* space) {
  const struct space* s = space_of(space);
  return s ? s->prepared : UINT32_MAX;
}
EXPORT int isthmus_commit(isthmus_space* space, uint32_t handler, const uint64_t* arguments, uint32_t count,
                          size_t bytes) {
  RECORD_SENT(commit, space, prepared_for(space), handler, count, bytes, space, handler, arguments, count, bytes);
}
EXPORT int isthmus_reply(isthmus_token* token, uint32_t handler, const uint64_t* arguments, uint32_t count,
                         const void* payload, size_t bytes) {
  RECORD_SENT(reply, isthmus_token_space(token), isthmus_token_rank(token), handler, count, bytes, token, handler,
              arguments, count, payload, bytes);
}
EXPORT int isthmus_reply_to(isthmus_token* token, uint32_t handler, const uint64_t* arguments, uint32_t count,
                            const void* payload, size_t bytes, uint64_t offset) {
  RECORD_SENT(reply_to, isthmus_token_space(token), isthmus_token_rank(token), handler, count, bytes, token, handler,
              arguments, count, payload, bytes, offset);
}
/* Behind a handler, too: what that computed is in the gap before. */
EXPORT int isthmus_poll(isthmus_space* space) {
  CALL(poll, space);
  if (c.call.error) record_plain(&c.call);
  else record_poll(&c.call);
  return status;
}

/* ---- signals ---- */

/* Signals of one rank that are told apart by nothing else than this are taken for one another. */
static int32_t tag_of(uint64_t signal) { return SIGNALS + (int32_t)(signal / 8 & 0x3FFFFFFF); }

/* One message for each that is added, or taken; the first has the bytes. */
static void signals(struct pgas_call* c, struct trace_message* all, isthmus_space* handle, int direction, int32_t peer,
                    uint64_t signal, uint64_t amount, uint64_t bytes) {
  const struct space* space = space_of(handle);
  if (!space || peer >= space->members.size || amount < 1 || amount > MOST_SIGNALS) return;
  for (uint64_t i = 0; i < amount; i++)
    all[i] = message(&space->members, direction, peer, tag_of(signal), 8 + (i == 0 ? bytes : 0));
  pgas_describe(c, FORM_MESSAGE, (uint16_t)amount, all, amount * sizeof *all);
  c->late = direction == 1;
}

/* Of a rank that shares no memory the call waits until the signal is there. */
EXPORT int isthmus_put_signal(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                              uint64_t signal, uint64_t add) {
  struct trace_message all[MOST_SIGNALS];
  CALL_OF(put_signal, signals(&c, all, space, 0, (int32_t)rank, signal, add, bytes), space, rank, offset, from, bytes,
          signal, add);
  pgas_record(&c, 0);
  return status;
}
EXPORT int isthmus_wait_signal(isthmus_space* space, uint64_t signal, uint64_t take) {
  struct trace_message all[MOST_SIGNALS];
  CALL_OF(wait_signal, signals(&c, all, space, 1, TRACE_ANY, signal, take, 0), space, signal, take);
  pgas_record(&c, 0);
  return status;
}

void record_told(struct pgas_call* c, isthmus_space* handle, uint32_t rank, uint64_t bytes,
                 const isthmus_completion* completion) {
  struct trace_message all[MOST_SIGNALS];
  if (completion->notice == ISTHMUS_NOTICE_SIGNAL) {
    signals(c, all, handle, 0, (int32_t)rank, completion->signal, completion->add, bytes);
  } else {
    sends(c, all, handle, rank, completion->handler, completion->count, 0);
    if (c->form == FORM_MESSAGE) all->bytes += bytes;
  }
  pgas_record(c, 0);
}

/* ---- permutation ---- */

/* A message to the next rank and one from a rank that is not known here. Before them all learn who sends to whom, which
 * is not in the recording. */
static void permutes(struct pgas_call* c, struct trace_message* both, const struct members* m, uint64_t bytes,
                     uint32_t next) {
  if (!m || next >= (uint32_t)m->size) return;
  both[0] = message(m, 0, (int32_t)next, PERMUTED, bytes);
  both[1] = message(m, 1, TRACE_ANY, PERMUTED, bytes);
  both[0].mode = 0;
  pgas_describe(c, FORM_MESSAGE, 2, both, 2 * sizeof *both);
  c->waits = true;
}

EXPORT int isthmus_permute(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                           uint64_t bytes, uint32_t next) {
  struct trace_message both[2];
  CALL_OF(permute, permutes(&c, both, manner_members(space, manner), bytes, next), space, manner, to, from, bytes,
          next);
  pgas_record(&c, manner_key(space, manner));
  return status;
}
