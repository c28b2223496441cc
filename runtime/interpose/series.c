/* Who carries out the next call that does not wait, nonblocking or persistent, and what it costs: the time within its
 * start, and within waits and tests until its end; what the program does in between is its own. As for blocking calls
 * (tallies.c) the side follows from the number of the call, so that all ranks take the same one. But several such calls
 * may be under way at once, and what a wait for calls of both sides takes says nothing of either: the sides change
 * after several calls, and calls that met one of the other side do not count, nor do the first ones of a turn, which
 * find caches that hold nothing of their own. Where too few are left, more calls follow each other. Ranks may start
 * persistent requests in any order, so each of these counts its own starts. The verdict is agreed on without waiting
 * (agreed.c). */
#include <stdlib.h>

#include "interpose.h"

enum { QUIET = 16, BLOCKS = 12, WINDOW = 16, KEPT = 64, ENOUGH = 8, FIRST_BLOCK = 8, LAST_BLOCK = 128, PAUSE = 2048 };
enum { BY_MEDIANS = 2 /* rounds */ };

struct series {
  struct agreed* agreed;
  uint64_t key, calls, from; /* from: the first call that is compared next */
  uint64_t pause;            /* calls that are not compared, after those that are */
  uint32_t block, round, ranks;
  bool told, theirs; /* theirs: is faster */
  bool warm;         /* the call whose turn it was last is not one of the first ones of its turn */
  struct sides *sides, own;
  uint32_t times[SIDES];
  float ns[SIDES][KEPT];
  enum form form;
  enum collective kind;
  int size_class;
};

int samples_under_way;
_Thread_local struct exposed exposed __attribute__((tls_model("initial-exec")));

static struct series* new_series(const struct communicator* c, enum form form, enum collective kind, int size_class) {
  struct series* s = calloc(1, sizeof *s);
  if (!s) abort();
  *s = (struct series){.from = QUIET, .pause = PAUSE, .block = FIRST_BLOCK, .ranks = (uint32_t)c->size};
  s->form = form;
  s->kind = kind;
  s->size_class = size_class;
  s->key = c->key << 9 | (uint64_t)kind << 4 | (uint64_t)size_class << 1 | (form == PERSISTENT);
  s->sides = &s->own;
  return s;
}

struct series* series_of(struct communicator* c, enum collective kind, int size_class) {
  struct series** s = &c->series[kind][size_class];
  if (UNLIKELY(!*s)) *s = new_series(c, NONBLOCKING, kind, size_class);
  return *s;
}

struct series* series_alone(struct communicator* c, uint32_t number, enum collective kind, int size_class) {
  struct series* s = new_series(c, PERSISTENT, kind, size_class);
  s->sides = &c->persistent_sides;
  s->key += number * 0x9E3779B97F4A7C15u;
  return s;
}

void series_free(struct series* s) { free(s); }

/* From the third round on the medians decide, as with blocking calls. */
static struct bounds measured(const struct series* s) {
  struct bounds own = {.unsure = s->times[OURS] < ENOUGH || s->times[THEIRS] < ENOUGH};
  for (int who = 0; who < SIDES && !own.unsure; ++who) {
    float sorted[KEPT];
    double low, middle, high;
    const int n = s->times[who] < KEPT ? (int)s->times[who] : KEPT;
    for (int i = 0; i < n; ++i) sorted[i] = s->ns[who][i];
    interval_of(sorted, n, &low, &middle, &high);
    own.ns[who] = s->round >= BY_MEDIANS ? middle : who == OURS ? low : high;
  }
  return own;
}

/* What all have measured, from this call on. */
static void take_over(struct series* s, const struct bounds* all, uint64_t call) {
  s->told = false;
  s->round++;
  s->from = call + s->pause;
  if (!all->unsure) {
    s->theirs = 1.02 * all->ns[THEIRS] < all->ns[OURS];
    s->pause *= 2;
    return;
  }
  s->block *= 4;
  s->from = s->block > LAST_BLOCK ? UINT64_MAX : call;
  s->times[OURS] = s->times[THEIRS] = 0;
}

/* Calls between the last one that was compared and the verdict. */
static void seek_verdict(struct series* s, uint64_t call) {
  if (!s->told && s->sides->under_way[OURS] + s->sides->under_way[THEIRS] == 0) {
    const struct bounds own = measured(s);
    if (!s->agreed) s->agreed = agreed_of(s->key);
    s->told = agreed_tell(s->agreed, s->round, call / WINDOW, &own);
    if (!s->told) s->from = UINT64_MAX;
    return;
  }
  struct bounds all;
  if (s->told && call % WINDOW == 0 && agreed_holds(s->agreed, s->round, s->ranks, call / WINDOW, &all))
    take_over(s, &all, call);
}

enum turn_of series_turn(struct series* s, bool* timed) {
  const uint64_t call = s->calls++;
  *timed = false;
  if (LIKELY(call < s->from)) return s->theirs ? THEIRS : OURS;
  const uint64_t compared = (uint64_t)BLOCKS * s->block;
  if (call - s->from >= compared) seek_verdict(s, call);
  /* The verdict may have begun with comparisons of its own. */
  if (call < s->from || call - s->from >= compared) return s->theirs ? THEIRS : OURS;
  *timed = true;
  /* Half a turn of ours, then whole ones, whose first half is not timed. */
  const uint64_t at = call - s->from + s->block, turn = 2 * s->block;
  s->warm = at % turn >= s->block && !(at < turn && s->theirs);
  return at / turn % 2 ? THEIRS : OURS;
}

static uint64_t exposed_now(void) { return exposed.ns + (exposed.since ? now_ns() - exposed.since : 0); }

void sample_begin(struct sample* sample, struct series* s, enum turn_of who, uint64_t ns) {
  const bool mixed = !s->warm || s->sides->under_way[!who] > 0;
  *sample = (struct sample){.series = s, .who = who, .thread = &exposed, .mixed = mixed};
  sample->others = s->sides->begun[!who];
  /* Times of waits are added at the end. */
  sample->ns = ns - exposed_now();
  s->sides->under_way[who]++;
  s->sides->begun[who]++;
  ++samples_under_way;
}

void sample_drop(struct sample* sample) {
  if (!sample->series) return;
  sample->series->sides->under_way[sample->who]--;
  sample->series = NULL;
  --samples_under_way;
}

void sample_end(struct sample* sample) {
  struct series* s = sample->series;
  if (!s) return;
  const int who = sample->who;
  if (!sample->mixed && s->sides->begun[!who] == sample->others && sample->thread == &exposed) {
    const float ns = (float)(sample->ns + exposed_now());
    s->ns[who][s->times[who]++ % KEPT] = ns;
    count_time(s->form, s->kind, s->size_class, sample->who, ns);
  }
  sample_drop(sample);
}
