/* Who carries out the next collective of a kind and size. At the beginning Isthmus and the MPI library take turns and
 * are timed; afterwards four calls in 256 are. The turn depends on the number of the call on its communicator alone,
 * so that all ranks take the same one; at times all of them agree whether the MPI library's own is faster. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interpose.h"

enum { QUIET = 16, FIRST = 64, PERIOD = 256, TURNS = 4, KEPT = 64 };

struct tally {
  uint32_t calls;
  bool theirs; /* is faster */
  uint32_t times[SIDES], decided;
  float ns[SIDES][KEPT];
  enum collective kind;
  int size_class;
};

uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int class_of(int64_t bytes) {
  int size_class = 0;
  for (int64_t most = 64; size_class < CLASSES - 1 && bytes > most; most *= 16) ++size_class;
  return size_class;
}

struct tally* tally_of(struct communicator* c, enum collective kind, int size_class) {
  struct tally** t = &c->tallies[kind][size_class];
  if (!*t) {
    *t = calloc(1, sizeof **t);
    if (!*t) abort();
    (*t)->kind = kind;
    (*t)->size_class = size_class;
  }
  return *t;
}

void tally_free(struct tally* t) { free(t); }

enum turn_of tally_turn(struct tally* t, bool* timed) {
  const uint32_t call = t->calls++;
  const uint32_t turn = call < FIRST ? call - QUIET : call % PERIOD;
  *timed = call >= QUIET && turn < (call < FIRST ? FIRST - QUIET : TURNS);
  if (!*timed) return t->theirs ? THEIRS : OURS;
  /* Ours, theirs, theirs, ours: neither always comes behind the other. */
  return turn % 4 == 1 || turn % 4 == 2 ? THEIRS : OURS;
}

void tally_time(struct tally* t, enum turn_of who, uint64_t ns) {
  t->ns[who][t->times[who]++ % KEPT] = (float)ns;
  count_time(BLOCKING, t->kind, t->size_class, who, (float)ns);
}

static int by_value(const void* a, const void* b) {
  const float x = *(const float*)a, y = *(const float*)b;
  return (x > y) - (x < y);
}

void interval_of(float* sorted, int n, double* low, double* middle, double* high) {
  qsort(sorted, (size_t)n, sizeof *sorted, by_value);
  const int reach = (int)ceil(0.98 * sqrt(n));
  const int first = n / 2 - reach, last = (n - 1) / 2 + reach;
  *middle = (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
  *low = sorted[first < 0 ? 0 : first];
  *high = sorted[last >= n ? n - 1 : last];
}

static void interval(const struct tally* t, enum turn_of who, double* low, double* middle, double* high) {
  float sorted[KEPT];
  const int n = t->times[who] < KEPT ? (int)t->times[who] : KEPT;
  memcpy(sorted, t->ns[who], (size_t)n * sizeof *sorted);
  interval_of(sorted, n, low, middle, high);
}

/* Looked at after the first comparisons, and each time that they have doubled. */
void tally_decide(struct tally* t, MPI_Comm comm) {
  const uint32_t times = t->times[THEIRS];
  if (times < 16 || times != t->times[OURS] || times < 2 * t->decided) return;
  t->decided = times;
  double mine[2], all[2], middle, unused;
  interval(t, OURS, &mine[0], &middle, &unused);
  interval(t, THEIRS, &unused, &middle, &mine[1]);
  PMPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, comm);
  t->theirs = 1.02 * all[1] < all[0];
}
