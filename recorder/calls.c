/* Begin and end of a call, and what is the same in the record of every call. */
#include "recorder.h"

/* Reading a thread's processor time takes a system call: it is read around what lasts longer than this, and where it
 * was read longer ago than that. In between, processor time passes as wall time does. */
enum { LONG_NS = TRACE_LONG_NS, OLD_NS = 200000 };

/* Processor time of the program in a gap since the record before; making room may have waited for the disk besides. */
int64_t thread_computed(struct thread* thread, int64_t gap, int64_t cpu) {
  int64_t used = cpu - thread->own_cpu - (thread->cpu_base + (thread->last_end - thread->wall_base));
  gap -= thread->own_ns;
  thread->own_ns = thread->own_cpu = 0;
  used = used < gap ? used : gap;
  return used > 0 ? used : 0;
}

void call_again(struct call* call) { call_begin(call, call->function, NULL, NULL); }

void call_begin(struct call* call, unsigned function, const void* address, const void* frame) {
  depth = 1;
  call->function = function;
  call->error = 0;
  call->counting = false;
  if (UNLIKELY(!here) && !thread_attach()) {
    call->begin = 0;
    return;
  }
  /* What the program computed ends here: finding the path is none of it, nor of the call. Processor time is read at
   * once, for the thread may be taken off the processor at any place from here on. */
  struct thread* thread = here;
  const int64_t came = clock_now();
  const bool read = came - thread->last_end > LONG_NS || thread->own_ns || thread->gap_unknown;
  const int64_t cpu = UNLIKELY(read) ? clock_thread() : 0;
  if (UNLIKELY(thread->counters)) counters_stop(thread->counters);
  const int64_t own_ns = thread->own_ns, own_cpu = thread->own_cpu;
  if (address) {
    call->path = path_of(address, frame);
    if (UNLIKELY(regions_watched)) regions_call(function, address);
  }
  /* A mark that was made here ended the gap. */
  int64_t gap = came - thread->last_end, cpu_gap = gap;
  call->asleep = 0;
  thread->own_ns = own_ns;
  thread->own_cpu = own_cpu;
  if (UNLIKELY(read)) {
    cpu_gap = thread_computed(thread, gap, cpu);
    call->asleep = gap - cpu_gap;
    if (gap >= 0) {
      thread->cpu_base = cpu;
      thread->wall_base = came;
    }
    thread->gap_unknown = false;
  }
  call->cpu_gap = cpu_gap;
  if (UNLIKELY(thread->counters)) counters_passed(thread, cpu_gap);
  call->begin = clock_now();
  if (UNLIKELY(call->begin - came > LONG_NS)) {
    thread->cpu_base = clock_thread();
    thread->wall_base = call->begin;
  }
}

void call_end(struct call* call, int error) {
  int64_t end = clock_now();
  call->end = end;
  call->error = error;
  struct thread* thread = here;
  if (UNLIKELY(!thread)) return;
  thread->last_end = end;
  if (end - call->begin > LONG_NS || end - thread->wall_base > OLD_NS) {
    thread->cpu_base = clock_thread();
    thread->wall_base = end;
  }
  if (UNLIKELY(thread->counters)) call->counting = counters_pay(thread->counters, call->path);
}

void count_call(unsigned function) {
  if (UNLIKELY(!here)) {
    depth = 1;
    bool attached = thread_attach();
    depth = 0;
    if (!attached) return;
  }
  if (!atomic_load_explicit(&writing, memory_order_relaxed)) return;
  here->counts[function]++;
  if (UNLIKELY(++here->counted == 1u << 20)) counts_write(here);
}

static bool named(unsigned function) {
  if (LIKELY(here->named[function / 8] >> function % 8 & 1)) return true;
  record_name(function);
  return here->named[function / 8] >> function % 8 & 1;
}

void* record_call(const struct call* call, unsigned form, uint32_t n, size_t bytes) {
  if (UNLIKELY(!here || !atomic_load_explicit(&writing, memory_order_relaxed))) return NULL;
  if (UNLIKELY(!named(call->function))) return NULL;
  if (UNLIKELY(here->counters)) counters_write(here, call->path);
  struct trace_call* record = record_reserve(TRACE_CALL, sizeof *record + bytes);
  if (UNLIKELY(!record)) return NULL;
  record->function = (uint16_t)call->function;
  record->form = (uint16_t)form;
  record->path = call->path;
  record->begin = call->begin;
  record->end = call->end;
  record->cpu_gap = call->cpu_gap;
  record->n = n;
  record->error = call->error;
  return record + 1;
}

void record_plain(const struct call* call) {
  if (record_call(call, FORM_PLAIN, 0, 0)) record_commit(call->end);
}

static void record_folded(const struct call* call, enum trace_polled what) {
  if (UNLIKELY(!here || !atomic_load_explicit(&writing, memory_order_relaxed))) return;
  struct thread* thread = here;
  /* Loops poll several things in turn: each folds into its own record while nothing else happens. */
  for (unsigned i = 0; i < thread->polls; i++) {
    struct trace_polls* polls = thread->poll[i];
    if (polls->function != call->function || polls->path != call->path || polls->what != what) continue;
    polls->count++;
    polls->end = call->end;
    polls->inside += call->end - call->begin;
    *(int64_t*)(polls + 1) += call->asleep;
    thread->header->last_ns = call->end;
    return;
  }
  if (!named(call->function)) return;
  struct trace_polls* polls = record_reserve(TRACE_POLLS, sizeof *polls + sizeof(int64_t));
  if (!polls) return;
  polls->function = (uint16_t)call->function;
  polls->what = (uint16_t)what;
  polls->path = call->path;
  polls->count = 1;
  polls->begin = call->begin;
  polls->end = call->end;
  polls->inside = call->end - call->begin;
  polls->cpu_gap = call->cpu_gap;
  *(int64_t*)(polls + 1) = 0;
  const unsigned most = sizeof thread->poll / sizeof thread->poll[0];
  if (thread->polls < most) thread->polls++;
  for (unsigned i = thread->polls - 1; i > 0; i--) thread->poll[i] = thread->poll[i - 1];
  thread->poll[0] = polls;
  record_commit(call->end);
}

void record_poll(const struct call* call) { record_folded(call, POLLED_WAITING); }
void record_idle(const struct call* call) { record_folded(call, POLLED_IDLE); }

void record_mark(uint32_t what, int64_t value) {
  struct thread* thread = here;
  struct trace_mark* record = record_reserve(TRACE_MARK, sizeof *record);
  if (!record) return;
  record->what = what;
  record->unused = 0;
  record->value = value;
  record->at = clock_now();
  record->cpu_gap = thread_computed(thread, record->at - thread->last_end, clock_thread());
  if (UNLIKELY(thread->counters)) counters_mark(thread->counters, record->cpu_gap);
  thread->cpu_base = clock_thread();
  thread->wall_base = thread->last_end = record->at;
  record_commit(record->at);
}
