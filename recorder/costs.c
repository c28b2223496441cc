/* Time of the recorder itself for a call: it is part of the time between calls, and none of the program's. Calls of
 * each kind are recorded as wrappers do, but for the call itself, into the room of the next records, and forgotten. */
#include <string.h>

#include "recorder.h"

enum { CALLS = 48, ROUNDS = 5, ROOM = 1 << 15 };
/* No handle of any library, nor a message or file of ours. */
#define KEY_NONE 0x15A1DEADull

static unsigned opened;

static void one_message(const struct call* call) {
  record_send(call, STANDARD, 8, MPI_BYTE, process.rank, 0, MPI_COMM_WORLD);
}

static void one_opening(const struct call* call) {
  record_start(call, SEND, STANDARD, 8, MPI_BYTE, process.rank, 0, MPI_COMM_WORLD, KEY_NONE + opened++);
}

static void one_done(const struct call* call) {
  struct waiting w;
  waiting_one(&w, KEY_NONE + --opened);
  record_done(call, &w, (struct handles){0});
}

static void one_collective(const struct call* call) {
  struct collective k;
  set_vector(&k, COLLECTIVE_ALLREDUCE, false, 1, MPI_BYTE, MPI_COMM_WORLD);
  record_collective(call, &k);
}

/* Nanoseconds from the end of a call to where the program calls again: the least of several rounds, each of which is an
 * average. With `clock`, processor time is read after each call as after long ones; without `record`, once only. */
static __attribute__((noinline)) int32_t between(void (*record)(const struct call*), bool clock) {
  struct thread* thread = here;
  int64_t least = INT32_MAX;
  for (int round = 0; round < (record ? ROUNDS : 1); round++) {
    int64_t passed = 0;
    for (int i = 0; i <= CALLS; i++) {
      struct call call;
      call_begin(&call, 1, __builtin_return_address(0), __builtin_frame_address(0));
      if (i > 0) passed += call.cpu_gap;
      thread->own_ns = thread->own_cpu = 0;
      if (clock) thread->wall_base = 0;
      call_end(&call, 0);
      if (i < CALLS && record) record(&call);
    }
    if (passed / CALLS < least) least = passed / CALLS;
  }
  return (int32_t)(least < 0 ? 0 : least);
}

static const struct {
  int what;
  void (*record)(const struct call*);
  bool clock, world;
} samples[] = {
    {0, NULL, false, false}, /* names and paths that are written on the way stay */
    {FORM_PLAIN, record_plain, false, false},
    {COST_CLOCK, record_plain, true, false},
    {COST_POLL, record_poll, false, false},
    {FORM_MESSAGE, one_message, false, true},
    {COST_OPENING, one_opening, false, true},
    {FORM_DONE, one_done, false, true},
    {FORM_COLLECTIVE, one_collective, false, true},
};

void costs_measure(void) {
  struct thread* thread = here;
  if (!thread || thread->full) return;
  struct trace_header* header = thread->header;
  /* Where there is no room for this, there may be some for the records of the program. */
  const uint64_t lost = header->lost;
  const uint32_t flags = header->flags;
  if (!record_reserve(TRACE_CALL, ROOM + 16384)) {
    header->lost = lost;
    header->flags = flags;
    thread->full = false;
    return;
  }
  thread->gap_unknown = false;
  if (!(thread->named[0] >> 1 & 1)) record_name(1);
  const int64_t last_ns = header->last_ns, last_end = thread->last_end;
  int32_t* costs = process.header.costs;
  char* next = thread->next;
  uint64_t used = header->used;
  for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
    const bool measured = !samples[i].world || process.has_world;
    const int32_t found = measured ? between(samples[i].record, samples[i].clock) : costs[FORM_PLAIN];
    if (i == 0) {
      if (thread->end - thread->next < ROOM) break;
      next = thread->next;
      used = header->used;
      continue;
    }
    costs[samples[i].what] = found;
    thread->next = next;
    header->used = used;
    thread->polls = 0;
  }
  costs[COST_CLOCK] = costs[COST_CLOCK] > costs[FORM_PLAIN] ? costs[COST_CLOCK] - costs[FORM_PLAIN] : 0;
  costs[FORM_START] = costs[FORM_MESSAGE];
  costs[FORM_RMA] = costs[FORM_COMM] = costs[FORM_IO] = costs[FORM_PLAIN];
  header->last_ns = last_ns;
  thread->last_end = last_end;
  thread->gap_unknown = true;
  process.costs_settled = clock_settled();
  for (struct thread* each = atomic_load(&all_threads); each; each = each->all)
    memcpy(each->header->costs, costs, sizeof header->costs);
}
