/* Requests that complete. Handles are copied before the call, which overwrites them. */
#include <string.h>

#include "recorder.h"

uint64_t request_at(struct handles requests, int64_t i) {
  if (!requests.fortran) return HANDLE(((const MPI_Request*)requests.at)[i]);
  return HANDLE(PMPI_Request_f2c(((const MPI_Fint*)requests.at)[i]));
}

MPI_Status* own_statuses(int64_t n) {
  static _Thread_local MPI_Status* statuses;
  static _Thread_local int64_t room;
  if (n > room) {
    /* Fortran's integers may be wider than C's. */
    const size_t each = sizeof(MPI_Status) / sizeof(int) * sizeof(MPI_Fint);
    recorder_release(statuses, (size_t)room * each);
    statuses = recorder_allocate((size_t)(2 * n) * each);
    room = 2 * n;
  }
  return statuses;
}

void waiting_one(struct waiting* w, uint64_t request) {
  w->one = request;
  w->keys = &w->one;
  w->n = 1;
}

void waiting_all(struct waiting* w, struct handles requests, int64_t n) {
  static _Thread_local uint64_t* keys;
  static _Thread_local int64_t room;
  w->n = n > 0 ? n : 0;
  if (n > room) {
    recorder_release(keys, (size_t)room * sizeof *keys);
    keys = recorder_allocate((size_t)(2 * n) * sizeof *keys);
    room = 2 * n;
  }
  w->keys = keys;
  if (!requests.fortran && sizeof(MPI_Request) == sizeof *keys) {
    if (n > 0) memcpy(keys, requests.at, (size_t)n * sizeof *keys);
    return;
  }
  for (int64_t i = 0; i < n; i++) keys[i] = request_at(requests, i);
}

static MPI_Comm comm_there(struct handles place) {
  return place.fortran ? PMPI_Comm_f2c(*(const MPI_Fint*)place.at) : *(const MPI_Comm*)place.at;
}

/* Fills `done` if the request is one that is known and was under way. */
static bool complete(uint64_t key, struct handles statuses, int64_t i, struct trace_done* done) {
  if (key == HANDLE(MPI_REQUEST_NULL)) return false;
  struct request* r = request_find(key);
  if (!r || !r->active) return false;
  if (!r->again) r = request_take(key);
  *done = (struct trace_done){.request = r->serial, .peer = TRACE_NONE, .tag = TRACE_NONE};
  if (statuses.at && (r->kind == REQUEST_RECEIVE || r->cancelled)) {
    MPI_Status status;
    status_at(statuses, i, &status);
    int cancelled = 0;
    if (r->cancelled) PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled) {
      done->flags = 1;
    } else if (r->kind == REQUEST_RECEIVE) {
      done->flags = 2;
      done->peer = peer_number(status.MPI_SOURCE);
      done->tag = tag_number(status.MPI_TAG);
      done->bytes = done->peer == TRACE_NULL ? 0 : status_bytes(&status);
    }
  }
  if (r->promised) {
    communicator_attach(comm_there(r->place), r->comm);
    r->comm = NULL;
  }
  r->active = 0;
  if (!r->again) request_drop(r);
  return true;
}

static struct trace_done* own_done(int64_t n) {
  static _Thread_local struct trace_done* done;
  static _Thread_local int64_t room;
  if (n > room) {
    recorder_release(done, (size_t)room * sizeof *done);
    done = recorder_allocate((size_t)(2 * n) * sizeof *done);
    room = 2 * n;
  }
  return done;
}

/* Whether none of these requests is under way: the call had nothing to wait for. */
static bool nothing_active(const struct waiting* w) {
  for (int64_t i = 0; i < w->n; i++) {
    if (w->keys[i] == HANDLE(MPI_REQUEST_NULL)) continue;
    const struct request* r = request_find(w->keys[i]);
    if (!r || r->active) return false;
  }
  return true;
}

static void write_done(const struct call* call, const struct waiting* w, const struct trace_done* done, uint32_t n) {
  if (n == 0 && nothing_active(w)) {
    record_idle(call);
    return;
  }
  struct trace_done* record = record_call(call, FORM_DONE, n, n * sizeof *record);
  if (!record) return;
  if (n) memcpy(record, done, n * sizeof *record);
  record_commit(call->end);
}

void record_done(const struct call* call, const struct waiting* w, struct handles statuses) {
  struct trace_done* done = own_done(w->n);
  uint32_t n = 0;
  for (int64_t i = 0; i < w->n; i++) n += complete(w->keys[i], statuses, i, &done[n]);
  write_done(call, w, done, n);
}

/* First index. In Fortran that is 1, but MPICH 4.0 counts from 0 with mpi_f08: requests that completed are
 * null now, unless they are persistent. */
static int base_meant(struct ints indices, int64_t n, int base, const struct waiting* w, struct handles requests) {
  for (int64_t i = 0; base == 1 && i < n; i++) {
    const int64_t index = int_at(indices, i);
    if (index < 1) return 0;
    if (index >= w->n) continue;
    const bool before = request_at(requests, index - 1) != w->keys[index - 1];
    if (!before && request_at(requests, index) != w->keys[index]) return 0;
  }
  return base;
}

void record_done_one(const struct call* call, const struct waiting* w, int64_t index, int base, struct handles requests,
                     struct handles status) {
  struct trace_done done;
  if (index != MPI_UNDEFINED) index -= base_meant((struct ints){&index, sizeof index}, 1, base, w, requests);
  bool known = index >= 0 && index < w->n && complete(w->keys[index], status, 0, &done);
  write_done(call, w, &done, known);
}

void record_done_some(const struct call* call, const struct waiting* w, int64_t n, struct ints indices, int base,
                      struct handles requests, struct handles statuses) {
  struct trace_done* done = own_done(w->n);
  uint32_t known = 0;
  if (n == MPI_UNDEFINED) n = 0;
  base = base_meant(indices, n, base, w, requests);
  for (int64_t i = 0; i < n && i < w->n; i++) {
    int64_t index = int_at(indices, i) - base;
    if (index >= 0 && index < w->n) known += complete(w->keys[index], statuses, i, &done[known]);
  }
  write_done(call, w, done, known);
}

void record_freed(const struct call* call, const struct waiting* w) {
  struct request* r = request_take(w->one);
  struct trace_done done = {.request = r ? r->serial : 0, .flags = 4, .peer = TRACE_NONE, .tag = TRACE_NONE};
  struct trace_done* record = record_call(call, FORM_DONE, r && r->active, (r && r->active) * sizeof *record);
  if (record && r && r->active) *record = done;
  if (record) record_commit(call->end);
  request_drop(r);
}

void record_cancel(const struct call* call, uint64_t request) {
  struct request* r = request_find(request);
  if (r) r->cancelled = 1;
  record_plain(call);
}
