#include <time.h>

#include "recorder.h"

static int64_t clock_read(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_now(void) { return clock_read(CLOCK_MONOTONIC); }
int64_t clock_thread(void) { return clock_read(CLOCK_THREAD_CPUTIME_ID); }
int64_t clock_process(void) { return clock_read(CLOCK_PROCESS_CPUTIME_ID); }
