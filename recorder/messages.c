/* Point-to-point messages. */
#include <string.h>

#include "recorder.h"

static struct trace_message message(int direction, int mode, uint64_t bytes, MPI_Datatype type, int peer, int tag,
                                    const struct communicator* c) {
  struct trace_message m = {.direction = (uint16_t)direction, .mode = (uint16_t)mode};
  m.peer = m.asked_peer = peer_number(peer);
  m.tag = m.asked_tag = tag_number(tag);
  m.comm = c ? c->id : 0;
  m.bytes = bytes;
  m.world = communicator_world(c, m.peer);
  m.derived = type_of(type).derived;
  return m;
}

/* The message that arrived. */
static void arrived(struct trace_message* m, struct handles statuses, const struct communicator* c) {
  MPI_Status status;
  status_at(statuses, 0, &status);
  m->peer = peer_number(status.MPI_SOURCE);
  m->tag = tag_number(status.MPI_TAG);
  m->bytes = m->peer == TRACE_NULL ? 0 : status_bytes(&status);
  m->world = communicator_world(c, m->peer);
}

static void write_messages(const struct call* call, unsigned form, const struct trace_message* messages, uint32_t n) {
  struct trace_message* record = record_call(call, form, n, n * sizeof *record);
  if (!record) return;
  memcpy(record, messages, n * sizeof *record);
  record_commit(call->end);
}

void record_send(const struct call* call, int mode, int64_t count, MPI_Datatype type, int dest, int tag,
                 MPI_Comm comm) {
  struct trace_message m = message(SEND, mode, type_bytes(count, type), type, dest, tag, communicator_of(comm));
  write_messages(call, FORM_MESSAGE, &m, 1);
}

void record_recv(const struct call* call, int source, int tag, MPI_Datatype type, MPI_Comm comm,
                 struct handles status) {
  const struct communicator* c = communicator_of(comm);
  struct trace_message m = message(RECEIVE, STANDARD, 0, type, source, tag, c);
  arrived(&m, status, c);
  write_messages(call, FORM_MESSAGE, &m, 1);
}

void record_sendrecv(const struct call* call, int64_t scount, MPI_Datatype stype, int dest, int stag, int source,
                     int rtag, MPI_Datatype rtype, MPI_Comm comm, struct handles status) {
  const struct communicator* c = communicator_of(comm);
  struct trace_message both[2] = {message(SEND, STANDARD, type_bytes(scount, stype), stype, dest, stag, c),
                                  message(RECEIVE, STANDARD, 0, rtype, source, rtag, c)};
  arrived(&both[1], status, c);
  write_messages(call, FORM_MESSAGE, both, 2);
}

void record_start(const struct call* call, int direction, int mode, int64_t count, MPI_Datatype type, int peer, int tag,
                  MPI_Comm comm, uint64_t request) {
  struct trace_message m = message(direction, mode, type_bytes(count, type), type, peer, tag, communicator_of(comm));
  m.request = request_add(request, direction == SEND ? REQUEST_SEND : REQUEST_RECEIVE)->serial;
  write_messages(call, FORM_MESSAGE, &m, 1);
}

void record_isendrecv(const struct call* call, int64_t scount, MPI_Datatype stype, int dest, int stag, int64_t rcount,
                      MPI_Datatype rtype, int source, int rtag, MPI_Comm comm, uint64_t request) {
  const struct communicator* c = communicator_of(comm);
  struct trace_message both[2] = {message(SEND, STANDARD, type_bytes(scount, stype), stype, dest, stag, c),
                                  message(RECEIVE, STANDARD, type_bytes(rcount, rtype), rtype, source, rtag, c)};
#ifdef OPEN_MPI
  const int kind = REQUEST_RECEIVE;
#else
  /* MPICH (5.0 too) leaves the status of such a request as it was: what arrived is what was asked for. */
  const int kind = REQUEST_OTHER;
#endif
  both[0].request = both[1].request = request_add(request, kind)->serial;
  write_messages(call, FORM_MESSAGE, both, 2);
}

void record_init(const struct call* call, int direction, int mode, int64_t partitions, int64_t count, MPI_Datatype type,
                 int peer, int tag, MPI_Comm comm, uint64_t request) {
  int kind = direction == SEND ? REQUEST_SEND : REQUEST_RECEIVE;
  struct request* r = request_add(request, kind);
  r->active = 0;
  r->again = recorder_allocate(sizeof *r->again);
  r->again->kind = (uint16_t)kind;
  r->again->messages = 1;
  r->again->message[0] =
      message(direction, mode, type_bytes(partitions * count, type), type, peer, tag, communicator_of(comm));
  record_plain(call);
}

void record_startall(const struct call* call, struct handles requests, int64_t n) {
  int64_t messages = 0, collectives = 0;
  for (int64_t i = 0; i < n; i++) {
    struct request* r = request_find(request_at(requests, i));
    if (!r || !r->again) continue;
    r->serial = request_serial();
    r->active = 1;
    r->cancelled = 0;
    messages += r->again->messages;
    collectives += r->again->is_collective;
  }
  bool first = true;
  if (messages || !collectives) {
    struct trace_message* record = record_call(call, FORM_START, (uint32_t)messages, (size_t)messages * sizeof *record);
    for (int64_t i = 0; record && i < n; i++) {
      struct request* r = request_find(request_at(requests, i));
      if (!r || !r->again) continue;
      for (int j = 0; j < r->again->messages; j++, record++) {
        *record = r->again->message[j];
        record->request = r->serial;
      }
    }
    if (record) record_commit(call->end);
    first = false;
  }
  for (int64_t i = 0; collectives && i < n; i++) {
    struct request* r = request_find(request_at(requests, i));
    if (!r || !r->again || !r->again->is_collective) continue;
    r->again->collective.request = r->serial;
    record_started(call, r->again, first);
    first = false;
  }
}

void record_matched(const struct call* call, MPI_Comm comm, uint64_t handle) {
  if (handle != HANDLE(MPI_MESSAGE_NO_PROC)) {
    struct request* r = request_add(handle | KEY_MESSAGE, REQUEST_OTHER);
    r->comm = communicator_of(comm);
    if (r->comm) communicator_keep(r->comm);
  }
  record_plain(call);
}

void record_mrecv(const struct call* call, uint64_t handle, MPI_Datatype type, struct handles status) {
  struct request* matched = request_take(handle | KEY_MESSAGE);
  struct communicator* c = matched ? matched->comm : NULL;
  struct trace_message m = message(RECEIVE, STANDARD, 0, type, MPI_ANY_SOURCE, MPI_ANY_TAG, c);
  arrived(&m, status, c);
  write_messages(call, FORM_MESSAGE, &m, 1);
  communicator_drop(c);
  request_drop(matched);
}

void record_imrecv(const struct call* call, uint64_t handle, int64_t count, MPI_Datatype type, uint64_t request) {
  struct request* matched = request_take(handle | KEY_MESSAGE);
  struct communicator* c = matched ? matched->comm : NULL;
  int source = handle == HANDLE(MPI_MESSAGE_NO_PROC) ? MPI_PROC_NULL : MPI_ANY_SOURCE;
  struct trace_message m = message(RECEIVE, STANDARD, type_bytes(count, type), type, source, MPI_ANY_TAG, c);
  m.request = request_add(request, REQUEST_RECEIVE)->serial;
  write_messages(call, FORM_MESSAGE, &m, 1);
  communicator_drop(c);
  request_drop(matched);
}
