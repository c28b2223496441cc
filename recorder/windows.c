/* One-sided communication. Windows carry a number of the process and their communicator as an attribute. */
#include <string.h>

#include "recorder.h"

struct window {
  uint64_t number;
  struct communicator* comm;
};

static int keyval = MPI_KEYVAL_INVALID;
static atomic_ullong last_number;

static int deleted(MPI_Win win, int key, void* value, void* state) {
  (void)win, (void)key, (void)state;
  struct window* window = value;
  communicator_drop(window->comm);
  recorder_release(window, sizeof *window);
  return MPI_SUCCESS;
}

void windows_begin(void) {
  if (keyval == MPI_KEYVAL_INVALID) PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, deleted, &keyval, NULL);
}

void windows_end(void) {
  if (keyval != MPI_KEYVAL_INVALID) PMPI_Win_free_keyval(&keyval);
  keyval = MPI_KEYVAL_INVALID;
}

static struct window* window_add(MPI_Win win, struct communicator* comm) {
  struct window* window = recorder_allocate(sizeof *window);
  window->number = atomic_fetch_add(&last_number, 1) + 1;
  window->comm = comm;
  if (comm) communicator_keep(comm);
  PMPI_Win_set_attr(win, keyval, window);
  return window;
}

static struct window* window_of(MPI_Win win) {
  struct window* window = NULL;
  int found = 0;
  PMPI_Win_get_attr(win, keyval, &window, &found);
  /* One made by a call that is not known here has no communicator. */
  return found ? window : window_add(win, NULL);
}

uint64_t window_number(MPI_Win win) { return win == MPI_WIN_NULL ? 0 : window_of(win)->number; }

static void write_window(const struct call* call, const struct window* window, uint64_t number, uint32_t freed) {
  struct trace_created* record = record_call(call, FORM_COMM, 1, sizeof *record);
  if (!record) return;
  const uint64_t id = window && window->comm ? window->comm->id : 0;
  *record = (struct trace_created){.id = id, .parent = id, .window = number, .freed = freed};
  record_commit(call->end);
}

void record_win_made(const struct call* call, MPI_Comm comm, MPI_Win win) {
  struct window* window = window_add(win, communicator_of(comm));
  write_window(call, window, window->number, 0);
}

void record_win_freed(const struct call* call, uint64_t number) { write_window(call, NULL, number, 1); }

static struct trace_rma* write_rma(const struct call* call, int kind, int target, const struct window* window,
                                   uint32_t n) {
  struct trace_rma* record = record_call(call, FORM_RMA, n, sizeof *record + 4 * (size_t)((n + 1) & ~1u));
  if (!record) return NULL;
  *record = (struct trace_rma){.kind = (uint16_t)kind};
  record->peer = target == TRACE_NONE ? TRACE_NONE : peer_number(target);
  record->world = window->comm ? communicator_world(window->comm, record->peer) : TRACE_NONE;
  record->comm = window->comm ? window->comm->id : 0;
  record->window = window->number;
  return record;
}

void record_rma(const struct call* call, int kind, int64_t count, MPI_Datatype type, int64_t fetched,
                MPI_Datatype fetched_type, int target, MPI_Win win, uint64_t request) {
  uint32_t serial = request ? request_add(request, REQUEST_OTHER)->serial : 0;
  struct trace_rma* record = write_rma(call, kind, target, window_of(win), 0);
  if (!record) return;
  record->request = serial;
  record->bytes = type_bytes(count, type);
  record->fetched = type_bytes(fetched, fetched_type);
  record->derived = (uint16_t)((count > 0 && type_of(type).derived) || (fetched > 0 && type_of(fetched_type).derived));
  record_commit(call->end);
}

void record_sync(const struct call* call, int kind, int target, MPI_Win win) {
  if (write_rma(call, kind, target, window_of(win), 0)) record_commit(call->end);
}

void record_group_sync(const struct call* call, int kind, MPI_Group group, MPI_Win win) {
  struct window* window = window_of(win);
  MPI_Group all;
  int n = 0;
  PMPI_Group_size(group, &n);
  PMPI_Win_get_group(win, &all);
  int* ranks = recorder_allocate((size_t)(2 * n) * sizeof *ranks);
  for (int i = 0; i < n; i++) ranks[i] = i;
  if (n) PMPI_Group_translate_ranks(group, n, ranks, all, ranks + n);
  PMPI_Group_free(&all);
  struct trace_rma* record = write_rma(call, kind, TRACE_NONE, window, (uint32_t)n);
  if (record) {
    memcpy(record + 1, ranks + n, (size_t)n * sizeof *ranks);
    if (n % 2) ((int32_t*)(record + 1))[n] = 0;
    record_commit(call->end);
  }
  recorder_release(ranks, (size_t)(2 * n) * sizeof *ranks);
}
