/* Clocks. Times are those of CLOCK_MONOTONIC; where the kernel itself takes them from the processor's time stamp
 * counter, so does the recorder, for a third of the cost, and goes back to the kernel's clock every millisecond. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "recorder.h"

static int64_t clock_read(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_thread(void) { return clock_read(CLOCK_THREAD_CPUTIME_ID); }
int64_t clock_process(void) { return clock_read(CLOCK_PROCESS_CPUTIME_ID); }

#if ON_X86_64
#include <x86intrin.h>

enum { MEASURED_NS = 20000000, TRUSTED_NS = 1000000 };

static _Atomic uint64_t trusted; /* ticks for which a thread goes without the kernel's clock; 0: not measured yet */
static _Atomic double ns_per_tick;
static _Thread_local struct {
  uint64_t ticks;
  int64_t ns;
} base;

static bool kernel_counts_ticks(void) {
  char name[16] = "";
  FILE* file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (!file) return false;
  bool read = fgets(name, sizeof name, file) != NULL;
  fclose(file);
  return read && strcmp(name, "tsc\n") == 0;
}

/* Both clocks at the same moment, as nearly as can be told: the quickest of a few tries, which nothing interrupted. */
static int64_t read_both(uint64_t* ticks) {
  uint64_t least = UINT64_MAX;
  int64_t ns = 0;
  for (int i = 0; i < 3; i++) {
    uint64_t before = __rdtsc();
    int64_t read = clock_read(CLOCK_MONOTONIC);
    uint64_t span = __rdtsc() - before;
    if (span >= least) continue;
    least = span;
    ns = read;
    *ticks = before + span / 2;
  }
  return ns;
}

static int64_t clock_slow(void) {
  static _Atomic int usable = -1;
  static _Atomic int64_t first_ns;
  static _Atomic uint64_t first_ticks;
  uint64_t ticks;
  int64_t ns = read_both(&ticks);
  int64_t last = base.ns;
  base.ticks = ticks;
  base.ns = ns > last ? ns : last; /* never back, whatever the counter said */
  if (atomic_load(&trusted) || !atomic_load(&usable)) return base.ns;
  if (atomic_load(&usable) < 0) {
    atomic_store(&first_ticks, ticks);
    atomic_store(&first_ns, ns);
    atomic_store(&usable, kernel_counts_ticks());
  } else if (ns - atomic_load(&first_ns) >= MEASURED_NS) {
    double per_tick = (double)(ns - atomic_load(&first_ns)) / (double)(ticks - atomic_load(&first_ticks));
    atomic_store(&ns_per_tick, per_tick);
    atomic_store(&trusted, (uint64_t)(TRUSTED_NS / per_tick));
  }
  return base.ns;
}

int64_t clock_now(void) {
  uint64_t passed = __rdtsc() - base.ticks;
  if (LIKELY(passed < atomic_load_explicit(&trusted, memory_order_relaxed)))
    return base.ns + (int64_t)((double)passed * atomic_load_explicit(&ns_per_tick, memory_order_relaxed));
  return clock_slow();
}

bool clock_settled(void) { return atomic_load(&trusted) || !kernel_counts_ticks(); }
#else
int64_t clock_now(void) { return clock_read(CLOCK_MONOTONIC); }
bool clock_settled(void) { return true; }
#endif
