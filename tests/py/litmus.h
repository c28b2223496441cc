/* Litmus programs of the memory model of a space: small programs of up to four ranks whose outcomes the model allows or
 * forbids, run a great many times. Each turn has variables of its own, so that ranks need not wait for each other. */
#ifndef LITMUS_H
#define LITMUS_H

#include <isthmus/isthmus_access.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LITMUS_TURNS = 128, LITMUS_RANKS = 4, LITMUS_SEEN = 2, LITMUS_LINE = 64 };

typedef struct litmus {
  isthmus_space* space;
  uint32_t rank, ranks;
  uint64_t x, y, counter, turns, more, board; /* places: of the variables of the first turn, ... */
  isthmus_mutex mutex;
  uint64_t handled;                                      /* active messages */
  uint64_t seen[LITMUS_TURNS][LITMUS_SEEN];              /* by this rank */
  uint64_t all[LITMUS_TURNS][LITMUS_RANKS][LITMUS_SEEN]; /* rank 0: by all of them */
  const char* wrong;                                     /* a call that failed */
} litmus;

enum { LITMUS_HANDLER = 77, RELAXED = ISTHMUS_RELAXED, STRICT = ISTHMUS_STRICT };

static void litmus_handle(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                          void* data) {
  (void)token, (void)count, (void)payload, (void)bytes;
  ((litmus*)data)->handled = arguments[0];
}

/* Rank 0 has the variables x, the last rank those called y. */
static void litmus_write(litmus* l, int y, unsigned turn, uint64_t value, int access) {
  const uint32_t rank = y ? l->ranks - 1 : 0;
  const uint64_t at = (y ? l->y : l->x) + (uint64_t)turn * LITMUS_LINE;
  if (isthmus_write_u64(l->space, rank, at, value, (isthmus_access)access) < 0) l->wrong = "write";
}
static uint64_t litmus_read(litmus* l, int y, unsigned turn, int access) {
  const uint32_t rank = y ? l->ranks - 1 : 0;
  const uint64_t at = (y ? l->y : l->x) + (uint64_t)turn * LITMUS_LINE;
  uint64_t value = 99;
  if (isthmus_read_u64(l->space, &value, rank, at, (isthmus_access)access) < 0) l->wrong = "read";
  return value;
}
#define X 0
#define Y 1
#define WRITE(variable, value, access) litmus_write(l, variable, turn, value, access)
#define READ(variable, access) litmus_read(l, variable, turn, access)

/* What ranks do in a turn. */
#define STORE_BUFFERING(name, first, second)                   \
  static void name(litmus* l, unsigned turn, uint64_t* seen) { \
    WRITE(l->rank ? Y : X, 1, first);                          \
    seen[0] = READ(l->rank ? X : Y, second);                   \
  }
STORE_BUFFERING(sb_strict, STRICT, STRICT)
STORE_BUFFERING(sb_strict_relaxed, STRICT, RELAXED)
STORE_BUFFERING(sb_relaxed_strict, RELAXED, STRICT)
STORE_BUFFERING(sb_relaxed, RELAXED, RELAXED)
static void sb_fence(litmus* l, unsigned turn, uint64_t* seen) {
  WRITE(l->rank ? Y : X, 1, RELAXED);
  if (isthmus_fence(l->space) < 0) l->wrong = "fence";
  seen[0] = READ(l->rank ? X : Y, RELAXED);
}
#define MESSAGE_PASSING(name, data, flag)                      \
  static void name(litmus* l, unsigned turn, uint64_t* seen) { \
    if (l->rank == 0) {                                        \
      WRITE(X, 1, data);                                       \
      WRITE(Y, 1, flag);                                       \
    } else {                                                   \
      seen[0] = READ(Y, flag);                                 \
      seen[1] = READ(X, data);                                 \
    }                                                          \
  }
MESSAGE_PASSING(mp_strict, STRICT, STRICT)
MESSAGE_PASSING(mp_flag, RELAXED, STRICT)
MESSAGE_PASSING(mp_data, STRICT, RELAXED)
MESSAGE_PASSING(mp_relaxed, RELAXED, RELAXED)
#define LOAD_BUFFERING(name, access)                           \
  static void name(litmus* l, unsigned turn, uint64_t* seen) { \
    seen[0] = READ(l->rank ? Y : X, access);                   \
    WRITE(l->rank ? X : Y, 1, access);                         \
  }
LOAD_BUFFERING(lb_strict, STRICT)
LOAD_BUFFERING(lb_relaxed, RELAXED)
#define INDEPENDENT_READS(name, writes, first, second)         \
  static void name(litmus* l, unsigned turn, uint64_t* seen) { \
    const int mine = l->rank % 2 ? Y : X;                      \
    if (l->rank < 2) {                                         \
      WRITE(mine, 1, writes);                                  \
    } else {                                                   \
      seen[0] = READ(mine, first);                             \
      seen[1] = READ(!mine, second);                           \
    }                                                          \
  }
INDEPENDENT_READS(iriw_strict, STRICT, STRICT, STRICT)
INDEPENDENT_READS(iriw_first, STRICT, STRICT, RELAXED)
INDEPENDENT_READS(iriw_relaxed, RELAXED, RELAXED, RELAXED)
/* Write to read causality: rank 1 passes on what it saw. */
#define CAUSALITY(name, access, data)                          \
  static void name(litmus* l, unsigned turn, uint64_t* seen) { \
    if (l->rank == 0) WRITE(X, 1, access);                     \
    if (l->rank == 1) {                                        \
      seen[0] = READ(X, access);                               \
      if (seen[0]) WRITE(Y, 1, access);                        \
    }                                                          \
    if (l->rank == 2) {                                        \
      seen[0] = READ(Y, access);                               \
      seen[1] = READ(X, data);                                 \
    }                                                          \
  }
CAUSALITY(wrc_strict, STRICT, RELAXED)
static void coherence(litmus* l, unsigned turn, uint64_t* seen) {
  if (l->rank == 0) {
    WRITE(X, 1, RELAXED);
    WRITE(X, 2, RELAXED);
  } else {
    seen[0] = READ(X, RELAXED);
    seen[1] = READ(X, RELAXED);
  }
}
#define TWO_WRITES(name, access)                               \
  static void name(litmus* l, unsigned turn, uint64_t* seen) { \
    (void)seen;                                                \
    WRITE(l->rank ? Y : X, 1, access);                         \
    WRITE(l->rank ? X : Y, 2, access);                         \
  }
TWO_WRITES(two_writes_strict, STRICT)
TWO_WRITES(two_writes_relaxed, RELAXED)
/* Each rank finds what the one before it in the lock has left. */
static void lock_hand_over(litmus* l, unsigned turn, uint64_t* seen) {
  if (isthmus_lock(l->space, l->mutex) < 0) l->wrong = "lock";
  isthmus_get(l->space, &seen[0], l->ranks - 1, l->y + (uint64_t)turn * LITMUS_LINE, sizeof seen[0]);
  const uint64_t next = seen[0] + 1;
  isthmus_put(l->space, l->ranks - 1, l->y + (uint64_t)turn * LITMUS_LINE, &next, sizeof next);
  if (isthmus_unlock(l->space, l->mutex) < 0) l->wrong = "unlock";
}
static void put_and_signal(litmus* l, unsigned turn, uint64_t* seen) {
  const uint64_t value = 1;
  if (l->rank == 0) {
    WRITE(Y, 1, RELAXED);
    if (isthmus_put_signal(l->space, 1, l->x + (uint64_t)turn * LITMUS_LINE, &value, sizeof value, l->counter, 1) < 0)
      l->wrong = "signal";
  } else {
    if (isthmus_wait_signal(l->space, l->counter, 1) < 0) l->wrong = "wait";
    isthmus_get(l->space, &seen[0], 1, l->x + (uint64_t)turn * LITMUS_LINE, sizeof seen[0]);
    seen[1] = READ(Y, RELAXED);
  }
}
static void put_and_message(litmus* l, unsigned turn, uint64_t* seen) {
  const uint64_t number = turn + 1;
  if (l->rank == 0) {
    WRITE(X, 1, RELAXED);
    WRITE(Y, 1, RELAXED);
    if (isthmus_request(l->space, 1, LITMUS_HANDLER, &number, 1, NULL, 0) < 0) l->wrong = "request";
  } else {
    while (l->handled < number && !l->wrong)
      if (isthmus_poll(l->space) < 0) l->wrong = "poll";
    seen[0] = READ(X, RELAXED);
    seen[1] = READ(Y, RELAXED);
  }
}
static void put_and_barrier(litmus* l, unsigned turn, uint64_t* seen) {
  WRITE(l->rank ? X : Y, 1, RELAXED);
  if (isthmus_barrier(l->space, NULL) < 0) l->wrong = "barrier";
  seen[0] = READ(X, RELAXED);
  seen[1] = READ(Y, RELAXED);
}
static void put_and_atomic(litmus* l, unsigned turn, uint64_t* seen) {
  const uint64_t one = 1, at = l->x + (uint64_t)turn * LITMUS_LINE;
  if (l->rank == 0) {
    WRITE(Y, 1, RELAXED);
    isthmus_atomic(l->space, 0, at, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, NULL);
  } else {
    isthmus_atomic(l->space, 0, at, ISTHMUS_U64, ISTHMUS_ATOMIC_READ, NULL, NULL, &seen[0]);
    seen[1] = READ(Y, RELAXED);
  }
}
/* Puts that do not wait: to other nodes the first goes at once, those after it together. Each writes a word of a line
 * of its own that nobody else writes. */
enum { BEGUN = 5 };
static uint64_t litmus_begun(const litmus* l, unsigned turn, int i) {
  return l->y + (uint64_t)turn * LITMUS_LINE + (uint64_t)i * 8;
}
static void litmus_begin(litmus* l, unsigned turn, isthmus_event* events) {
  static const uint64_t one = 1;
  for (int i = 1; i <= BEGUN; ++i)
    if (isthmus_begin_put(l->space, l->ranks - 1, litmus_begun(l, turn, i), &one, sizeof one,
                          events ? &events[i] : NULL) < 0)
      l->wrong = "begin";
}
/* How many of them, from the first one to the last one, are there. */
static uint64_t litmus_all_there(litmus* l, unsigned turn, int first, int last) {
  uint64_t there = 1, value;
  for (int i = last; i >= first; --i) {
    if (isthmus_read_u64(l->space, &value, l->ranks - 1, litmus_begun(l, turn, i), ISTHMUS_RELAXED) < 0)
      l->wrong = "read";
    there &= value;
  }
  return there;
}
/* Of the rank that reads, or of the one that begins: the answer to who reads it comes another way than the puts. */
#define FLAG (turn % 2 ? X : Y)
/* Waits a while: a flag that is seen seldom tells seldom of what is before it. */
static uint64_t litmus_await(litmus* l, int y, unsigned turn) {
  uint64_t value = 0;
  for (int looks = 0; looks < 8 && !value && !l->wrong; ++looks) value = litmus_read(l, y, turn, STRICT);
  return value;
}
static void begun_and_strict_flag(litmus* l, unsigned turn, uint64_t* seen) {
  if (l->rank == 0) {
    litmus_begin(l, turn, NULL);
    WRITE(FLAG, 1, STRICT);
  } else {
    seen[0] = litmus_await(l, FLAG, turn);
    seen[1] = litmus_all_there(l, turn, 1, BEGUN);
  }
}
static void begun_and_fence(litmus* l, unsigned turn, uint64_t* seen) {
  if (l->rank == 0) {
    litmus_begin(l, turn, NULL);
    if (isthmus_fence(l->space) < 0) l->wrong = "fence";
    WRITE(FLAG, 1, RELAXED);
  } else {
    seen[0] = litmus_await(l, FLAG, turn);
    seen[1] = litmus_all_there(l, turn, 1, BEGUN);
  }
}
/* An event is of its own put only, though others went in the same message. */
static void begun_and_event(litmus* l, unsigned turn, uint64_t* seen) {
  const int waited = 1 + (int)(turn % BEGUN);
  if (l->rank == 0) {
    isthmus_event events[BEGUN + 1];
    litmus_begin(l, turn, events);
    if (isthmus_wait_event(l->space, &events[waited]) < 0) l->wrong = "wait";
    WRITE(FLAG, 1, STRICT);
    for (int i = 1; i <= BEGUN; ++i)
      if (isthmus_wait_event(l->space, &events[i]) < 0) l->wrong = "wait";
  } else {
    seen[0] = litmus_await(l, FLAG, turn);
    seen[1] = litmus_all_there(l, turn, waited, waited);
  }
}
static void begun_and_region(litmus* l, unsigned turn, uint64_t* seen) {
  if (l->rank == 0) {
    isthmus_event region;
    if (isthmus_open_region(l->space) < 0) l->wrong = "open";
    litmus_begin(l, turn, NULL);
    if (isthmus_close_region(l->space, &region) < 0 || isthmus_wait_event(l->space, &region) < 0) l->wrong = "region";
    WRITE(FLAG, 1, STRICT);
  } else {
    seen[0] = litmus_await(l, FLAG, turn);
    seen[1] = litmus_all_there(l, turn, 1, BEGUN);
  }
}
/* A notice is behind its own bytes, also where others before it have not been answered. */
static void begun_and_notice(litmus* l, unsigned turn, uint64_t* seen) {
  static const uint64_t value = 1;
  const isthmus_completion how = {.size = sizeof how, .notice = ISTHMUS_NOTICE_SIGNAL, .signal = l->counter, .add = 1};
  if (l->rank == 0) {
    litmus_begin(l, turn, NULL);
    if (isthmus_begin_put_with(l->space, 1, litmus_begun(l, turn, BEGUN + 1), &value, sizeof value, &how) < 0)
      l->wrong = "begin";
    if (isthmus_wait_all(l->space) < 0) l->wrong = "wait";
  } else {
    if (isthmus_wait_signal(l->space, l->counter, 1) < 0) l->wrong = "wait";
    seen[0] = 1;
    seen[1] = litmus_all_there(l, turn, BEGUN + 1, BEGUN + 1);
  }
}
static void begun_and_message(litmus* l, unsigned turn, uint64_t* seen) {
  const uint64_t number = turn + 1;
  if (l->rank == 0) {
    litmus_begin(l, turn, NULL);
    if (isthmus_wait_all(l->space) < 0) l->wrong = "wait";
    if (isthmus_request(l->space, 1, LITMUS_HANDLER, &number, 1, NULL, 0) < 0) l->wrong = "request";
  } else {
    while (l->handled < number && !l->wrong)
      if (isthmus_poll(l->space) < 0) l->wrong = "poll";
    seen[0] = 1;
    seen[1] = litmus_all_there(l, turn, 1, BEGUN);
  }
}
/* What rank 0 begins is on the last rank; rank 1 hears of it from rank 0, and that one from rank 1. */
static void begun_and_passed_on(litmus* l, unsigned turn, uint64_t* seen) {
  if (l->rank == 0) {
    litmus_begin(l, turn, NULL);
    WRITE(X, 1, STRICT);
  }
  if (l->rank == 1) {
    seen[0] = litmus_await(l, X, turn);
    if (seen[0]) WRITE(Y, 1, STRICT);
  }
  if (l->rank == 2) {
    seen[0] = litmus_await(l, Y, turn);
    seen[1] = litmus_all_there(l, turn, 1, BEGUN);
  }
}
/* Two ranks begin puts to a third one in turns, and the fourth one reads: each flag is behind what its rank began. */
static void begun_by_two(litmus* l, unsigned turn, uint64_t* seen) {
  static const uint64_t one = 1;
  if (l->rank < 2) {
    for (int i = 0; i < 3; ++i)
      if (isthmus_begin_put(l->space, 3, litmus_begun(l, turn, 1 + i + 3 * (int)l->rank), &one, sizeof one, NULL) < 0 ||
          isthmus_begin_put(l->space, 2, litmus_begun(l, turn, 1 + i + 3 * (int)l->rank), &one, sizeof one, NULL) < 0)
        l->wrong = "begin";
    WRITE(l->rank == 0 ? X : Y, 1, STRICT);
  } else {
    const int mine = l->rank == 2 ? X : Y;
    seen[0] = litmus_await(l, mine, turn);
    seen[1] = mine == X ? litmus_all_there(l, turn, 1, 3) : litmus_all_there(l, turn, 4, 6);
  }
}
/* Plain stores and loads where memory is shared. */
static void cast_and_flag(litmus* l, unsigned turn, uint64_t* seen) {
  uint64_t* const at = (uint64_t*)isthmus_cast(l->space, 0, l->x + (uint64_t)turn * LITMUS_LINE);
  if (l->rank == 0) {
    *at = 1;
    WRITE(Y, 1, STRICT);
  } else {
    seen[0] = READ(Y, STRICT);
    if (seen[0] && at) seen[1] = *at;
    else seen[1] = seen[0];
  }
}

/* Whether the model forbids it: by what ranks have seen, and what x and y are at the end. */
typedef uint64_t litmus_seen[LITMUS_RANKS][LITMUS_SEEN];
static int nobody(const litmus_seen* s, uint64_t x, uint64_t y) { return (void)s, (void)x, (void)y, 0; }
static int both_0(const litmus_seen* s, uint64_t x, uint64_t y) { return (void)x, (void)y, !(*s)[0][0] && !(*s)[1][0]; }
static int both_1(const litmus_seen* s, uint64_t x, uint64_t y) { return (void)x, (void)y, (*s)[0][0] && (*s)[1][0]; }
static int stale(const litmus_seen* s, uint64_t x, uint64_t y) { return (void)x, (void)y, (*s)[1][0] && !(*s)[1][1]; }
static int two_orders(const litmus_seen* s, uint64_t x, uint64_t y) {
  return (void)x, (void)y, (*s)[2][0] && !(*s)[2][1] && (*s)[3][0] && !(*s)[3][1];
}
static int not_passed_on(const litmus_seen* s, uint64_t x, uint64_t y) {
  return (void)x, (void)y, (*s)[2][0] && !(*s)[2][1];
}
static int begun_not_there(const litmus_seen* s, uint64_t x, uint64_t y) {
  return (void)x, (void)y, ((*s)[2][0] && !(*s)[2][1]) || ((*s)[3][0] && !(*s)[3][1]);
}
static int backwards(const litmus_seen* s, uint64_t x, uint64_t y) {
  return (void)y, x != 2 || (*s)[1][0] > (*s)[1][1];
}
static int both_first(const litmus_seen* s, uint64_t x, uint64_t y) { return (void)s, x == 1 && y == 1; }
static int together(const litmus_seen* s, uint64_t x, uint64_t y) {
  return (void)x, (*s)[0][0] + (*s)[1][0] != 1 || y != 2;
}
static int not_there(const litmus_seen* s, uint64_t x, uint64_t y) {
  return (void)x, (void)y, !(*s)[1][0] || !(*s)[1][1];
}

typedef struct litmus_test {
  const char* name;
  uint32_t ranks;
  void (*act)(litmus*, unsigned turn, uint64_t* seen);
  int (*forbidden)(const litmus_seen*, uint64_t x, uint64_t y);
  int (*weak)(const litmus_seen*, uint64_t x, uint64_t y); /* allowed, though no order of the accesses gives it */
} litmus_test;

static const litmus_test litmus_tests[] = {
    {"store-buffering-strict", 2, sb_strict, both_0, nobody},
    {"store-buffering-strict-writes", 2, sb_strict_relaxed, both_0, nobody},
    {"store-buffering-strict-reads", 2, sb_relaxed_strict, both_0, nobody},
    {"store-buffering-fence", 2, sb_fence, both_0, nobody},
    {"store-buffering-relaxed", 2, sb_relaxed, nobody, both_0},
    {"message-passing-strict", 2, mp_strict, stale, nobody},
    {"message-passing-strict-flag", 2, mp_flag, stale, nobody},
    {"message-passing-strict-data", 2, mp_data, stale, nobody},
    {"message-passing-relaxed", 2, mp_relaxed, nobody, stale},
    {"load-buffering-strict", 2, lb_strict, both_1, nobody},
    {"load-buffering-relaxed", 2, lb_relaxed, nobody, both_1},
    {"independent-reads-strict", 4, iriw_strict, two_orders, nobody},
    {"independent-reads-first-strict", 4, iriw_first, two_orders, nobody},
    {"independent-reads-relaxed", 4, iriw_relaxed, nobody, two_orders},
    {"write-to-read-causality", 3, wrc_strict, not_passed_on, nobody},
    {"coherence", 2, coherence, backwards, nobody},
    {"two-writes-strict", 2, two_writes_strict, both_first, nobody},
    {"two-writes-relaxed", 2, two_writes_relaxed, nobody, both_first},
    {"lock-hand-over", 2, lock_hand_over, together, nobody},
    {"put-and-signal", 2, put_and_signal, not_there, nobody},
    {"put-and-message", 2, put_and_message, not_there, nobody},
    {"put-and-barrier", 2, put_and_barrier, not_there, nobody},
    {"put-and-atomic", 2, put_and_atomic, stale, nobody},
    {"cast-and-strict-flag", 2, cast_and_flag, stale, nobody},
    {"begun-puts-and-strict-flag", 2, begun_and_strict_flag, stale, nobody},
    {"begun-puts-and-fence", 2, begun_and_fence, stale, nobody},
    {"begun-puts-and-event", 2, begun_and_event, stale, nobody},
    {"begun-puts-and-region", 2, begun_and_region, stale, nobody},
    {"begun-puts-and-notice", 2, begun_and_notice, not_there, nobody},
    {"begun-puts-and-message", 2, begun_and_message, not_there, nobody},
    {"begun-puts-passed-on", 3, begun_and_passed_on, not_passed_on, nobody},
    {"begun-puts-by-two", 4, begun_by_two, begun_not_there, nobody},
};
enum { LITMUS_TESTS = sizeof litmus_tests / sizeof *litmus_tests };

/* Where ranks share memory, they begin a turn together, unless one of them does not run just now. */
static void litmus_meet(litmus* l, uint64_t turn) {
  if (!isthmus_cast(l->space, 0, 0) || !isthmus_cast(l->space, l->ranks - 1, 0)) return;
  isthmus_write_u64(l->space, l->rank, l->turns, turn, ISTHMUS_RELAXED);
  for (uint32_t r = 0; r < l->ranks; ++r) {
    uint64_t other = 0;
    for (int looks = 0; looks < 1000 && other < turn; ++looks)
      if (isthmus_read_u64(l->space, &other, r, l->turns, ISTHMUS_RELAXED) < 0) return;
  }
}

static double litmus_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All ranks; so many turns, or as many as there is time for. Rank 0 counts outcomes that are forbidden, and weak ones.
 * False: a call has failed. */
static int litmus_run(litmus* l, const litmus_test* test, uint64_t times, double seconds, uint64_t* forbidden,
                      uint64_t* weak) {
  const size_t bytes = (size_t)LITMUS_TURNS * LITMUS_LINE;
  const double end = litmus_now() + seconds;
  uint64_t more = 1;
  *forbidden = *weak = 0;
  for (uint64_t done = 0; done < times && more && !l->wrong; done += LITMUS_TURNS) {
    isthmus_set(l->space, l->rank, l->x, 0, bytes);
    isthmus_set(l->space, l->rank, l->y, 0, bytes);
    l->handled = 0;
    if (isthmus_barrier(l->space, NULL) < 0) return 0;
    memset(l->seen, 0, sizeof l->seen);
    for (unsigned turn = 0; turn < LITMUS_TURNS; ++turn) {
      if (l->rank >= test->ranks) continue;
      litmus_meet(l, done + turn + 1);
      test->act(l, turn, l->seen[turn]);
    }
    isthmus_put(l->space, 0, l->board + l->rank * sizeof l->seen, l->seen, sizeof l->seen);
    if (isthmus_barrier(l->space, NULL) < 0) return 0;
    for (unsigned turn = 0; l->rank == 0 && turn < LITMUS_TURNS; ++turn) {
      litmus_seen seen = {{0}};
      for (uint32_t r = 0; r < l->ranks; ++r)
        isthmus_get(l->space, seen[r], 0, l->board + r * sizeof l->seen + turn * sizeof l->seen[0], sizeof seen[r]);
      const uint64_t x = READ(X, RELAXED), y = READ(Y, RELAXED);
      *forbidden += (uint64_t)test->forbidden((const litmus_seen*)&seen, x, y);
      *weak += (uint64_t)test->weak((const litmus_seen*)&seen, x, y);
    }
    if (l->rank == 0) isthmus_write_u64(l->space, 0, l->more, litmus_now() < end, ISTHMUS_RELAXED);
    isthmus_set(l->space, l->rank, l->turns, 0, sizeof l->turns);
    if (isthmus_barrier(l->space, NULL) < 0) return 0;
    isthmus_read_u64(l->space, &more, 0, l->more, ISTHMUS_RELAXED);
  }
  return !l->wrong;
}

/* Makes what the tests need. */
static int litmus_open(litmus* l, isthmus_space* space) {
  const size_t bytes = (size_t)LITMUS_TURNS * LITMUS_LINE;
  const isthmus_space_head* const head = (const isthmus_space_head*)space;
  memset(l, 0, sizeof *l);
  l->space = space;
  l->rank = head->rank;
  l->ranks = head->ranks;
  return isthmus_handle(space, LITMUS_HANDLER, litmus_handle, l) >= 0 &&
         isthmus_allocate_all(space, bytes, &l->x) >= 0 && isthmus_allocate_all(space, bytes, &l->y) >= 0 &&
         isthmus_allocate_all(space, 8, &l->counter) >= 0 && isthmus_allocate_all(space, 8, &l->turns) >= 0 &&
         isthmus_allocate_all(space, 8, &l->more) >= 0 &&
         isthmus_allocate_all(space, head->ranks * sizeof l->seen, &l->board) >= 0 &&
         isthmus_mutex_make_all(space, &l->mutex) >= 0 && isthmus_set(space, l->rank, l->counter, 0, 8) >= 0 &&
         isthmus_set(space, l->rank, l->turns, 0, 8) >= 0 && isthmus_barrier(space, NULL) >= 0;
}

#endif
