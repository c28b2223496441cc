/* Time. The raw clock of the kernel is not bent by corrections, but old kernels ask for a system call; then the
 * ordinary one is taken. */
#include "probe.h"

#include <time.h>

static clockid_t chosen = CLOCK_MONOTONIC;
static double cost, resolution, late, unit;

static double read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double now(void) { return read_clock(chosen); }

/* Seconds of one reading: the least of many rounds. */
static double price(clockid_t clock) {
  enum { READINGS = 200, ROUNDS = 50 };
  double least = 1;
  for (int round = 0; round < ROUNDS; round++) {
    const double begin = read_clock(clock);
    for (int i = 1; i < READINGS; i++) (void)read_clock(clock);
    const double took = (read_clock(clock) - begin) / READINGS;
    if (took < least) least = took;
  }
  return least;
}

static double smallest_step(void) {
  double least = 1;
  for (int i = 0; i < 2000; i++) {
    const double begin = now();
    double end;
    do end = now();
    while (end == begin);
    if (end - begin < least) least = end - begin;
  }
  return least;
}

double work(long units) {
  double a = 1, b = 1.0000001;
  for (long i = 0; i < units; i++) {
    for (int k = 0; k < 20; k++) a = a * b + 1e-9;
    /* The sum must be made, and must not grow for ever. */
    if (a > 1e6) a = 1;
  }
  volatile double result = a;
  return result;
}

void clock_start(void) {
#ifdef CLOCK_MONOTONIC_RAW
  if (price(CLOCK_MONOTONIC_RAW) < 2 * price(CLOCK_MONOTONIC)) chosen = CLOCK_MONOTONIC_RAW;
#endif
  cost = price(chosen);
  resolution = smallest_step();
  enum { TIMES = 200 };
  late = 0;
  double least = 1;
  for (int i = 0; i < TIMES; i++) {
    const double begin = now();
    spin(1e-6);
    const double over = now() - begin - cost - 1e-6;
    if (over < least) least = over;
  }
  /* Half a turn of the loop more than at best, on average. */
  late = least + cost / 2 > 0 ? least + cost / 2 : 0;
  unit = 1;
  for (int i = 0; i < 50; i++) {
    const double begin = now();
    work(100);
    const double took = (now() - begin - cost) / 100;
    if (took < unit) unit = took;
  }
}

double clock_cost(void) { return cost; }
double clock_resolution(void) { return resolution; }
double work_unit(void) { return unit; }

const char* clock_name(void) { return chosen == CLOCK_MONOTONIC ? "CLOCK_MONOTONIC" : "CLOCK_MONOTONIC_RAW"; }

double elapsed(double begin) {
  const double took = now() - begin - cost;
  return took > 0 ? took : 0;
}

int trips_for(double seconds) {
  enum { STEPS = 100, MOST = 32 };
  if (seconds * MOST <= STEPS * resolution) return MOST;
  return (int)(STEPS * resolution / seconds) + 1;
}

void spin(double seconds) {
  if (seconds <= 0) return;
  const double until = now() + seconds - late;
  while (now() < until) continue;
}

void nap(double seconds) {
  struct timespec t = {.tv_sec = (time_t)seconds};
  t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
  nanosleep(&t, NULL);
}
