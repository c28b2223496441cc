/* Who carries out the next collective of a kind and size. At the beginning Isthmus and the MPI library take turns and
 * are timed; afterwards 64 of 4,096 calls are, and at first some sooner. The turn depends on the number of the call on
 * its communicator alone, so that all ranks take the same one; at times all of them agree whether the MPI library's own
 * is faster. Turns last for several calls, and the first ones of a turn are not timed: whoever is called after the
 * other finds caches that hold nothing of its own, which took the MPI library's alltoall of 64 KiB from 8.3 to 13.7 us.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interpose.h"

enum { QUIET = 16, FIRST = 128, TURN = 32, WARM = 16, PERIOD = 4096, SOON = 1024, KEPT = 64 };

struct tally {
  uint32_t calls;
  bool theirs; /* is faster */
  uint32_t times[SIDES];
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

struct tally_turn tally_turn(struct tally* t) {
  const uint32_t call = t->calls++;
  struct tally_turn turn = {.who = t->theirs ? THEIRS : OURS, .decides = call == QUIET + FIRST};
  if (call < SOON) {
    if (call < QUIET || call >= QUIET + FIRST) return turn;
    /* Half a turn of ours, which follows ours, then whole ones. */
    const uint32_t at = call - QUIET + TURN / 2;
    turn.who = at / TURN % 2 ? THEIRS : OURS;
    turn.compared = true;
    turn.timed = at < TURN || at % TURN >= WARM;
    return turn;
  }
  /* At the 1,024th call, the 2,048th and each 4,096th. */
  const uint32_t period = call / PERIOD;
  const uint32_t at = period > 0 ? call % PERIOD : call % SOON + (call >= 3 * SOON ? SOON : 0);
  if (at < 2 * TURN) {
    /* In each order as often: neither always comes behind the other. */
    turn.who = (at / TURN + call / SOON + period) % 2 ? THEIRS : OURS;
    turn.compared = true;
    turn.timed = at % TURN >= WARM;
  }
  /* Each time that the comparisons have doubled. */
  turn.decides = at == 2 * TURN && (period & (period - 1)) == 0;
  return turn;
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
  *low = *middle = *high = 0;
  if (n == 0) return; /* calls that failed */
  memcpy(sorted, t->ns[who], (size_t)n * sizeof *sorted);
  interval_of(sorted, n, low, middle, high);
}

/* At first the library's own has to be faster beyond the intervals of both medians. Later the medians decide: intervals
 * of times that vary a lot overlap however many there are, and a call that is slower by a fifth would stay. */
void tally_decide(struct tally* t, MPI_Comm comm) {
  double mine[2], all[2], middle[2], unused;
  interval(t, OURS, &mine[0], &middle[0], &unused);
  interval(t, THEIRS, &unused, &middle[1], &mine[1]);
  if (t->calls > 2 * SOON) memcpy(mine, middle, sizeof mine);
  PMPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, comm);
  t->theirs = 1.02 * all[1] < all[0];
}
