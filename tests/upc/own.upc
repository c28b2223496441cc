/* Iterations and accesses that are known to be a thread's own: beside the same loops with tests, in the same order. */
#include <upc_relaxed.h>
#include "check.h"

#define N 61
#define MOST (N * 16 + 40)
typedef struct pair {
  int a;
  struct {
    short b[3];
    unsigned bits : 5;
  } in;
} pair;
shared int single[MOST * THREADS];
shared [5] double five[MOST * THREADS];
shared [N] long row[THREADS][N];
shared [6] int third[MOST * THREADS][3];
shared pair pairs[MOST * THREADS];
shared [*] float parts[N * THREADS];
shared int* shared pointers[THREADS];
shared int flags[THREADS], again[THREADS];
strict shared int order[THREADS];
int limit = N;
static long seen[MOST], wanted[MOST];
static int did, expected;

static void compare(long end, long should) {
  CHECK(did == expected && end == should);
  for (int k = 0; k < did; ++k) CHECK(seen[k] == wanted[k]);
  did = expected = 0;
}

/* The same with and without upc_forall, the counter of which is outside of the loop, and in it. */
#define LOOP(T, start, test, step, affinity, owner, body)          \
  do {                                                             \
    T i;                                                           \
    for (i = start; test; step)                                    \
      if ((owner) == MYTHREAD) wanted[expected++] = i;             \
    const long should = i;                                         \
    upc_forall (i = start; test; step; affinity) {                 \
      body;                                                        \
      if (i % 7 == 3) continue;                                    \
      seen[did++] = i;                                             \
    }                                                              \
    int kept = 0;                                                  \
    for (int k = 0; k < expected; ++k)                             \
      if (wanted[k] % 7 != 3) wanted[kept++] = wanted[k];          \
    expected = kept;                                               \
    compare(i, should);                                            \
    upc_forall (T i = start; test; step; affinity) seen[did++] = i; \
    for (T i = start; test; step)                                  \
      if ((owner) == MYTHREAD) wanted[expected++] = i;             \
    compare(0, 0);                                                 \
  } while (0)
#define TURN(e) ((((e) % THREADS) + THREADS) % THREADS)

static void numbers(int from, int to) {
  LOOP(int, from, i < to, i++, i, TURN(i), single[i + 40] = i);
  LOOP(int, from, i <= to, ++i, i + 3, TURN(i + 3), );
  LOOP(int, from, to > i, i += 3, i - 2, TURN(i - 2), );
  LOOP(long, from, i < to, i += 4, 5 + i, TURN(i + 5), );
  LOOP(long, to, i >= from, i--, i, TURN(i), );
  LOOP(int, to, i > from, i -= 5, i + 1, TURN(i + 1), );
  LOOP(int, to, i > from, i = i - 2, (i) % THREADS, TURN(i), );
  LOOP(int, from, i < to * THREADS, i = 2 + i, i, TURN(i), );
  LOOP(unsigned, 0, i < 50u, i += 7, i, i % THREADS, );
  LOOP(int, 2, i < sizeof(seen) / sizeof(seen[0]), i += 11, i, TURN(i), );
  LOOP(int, from, i < limit, i++, i, TURN(i), );
  LOOP(int, from, i < limit && i != 4, i++, i, TURN(i), );
  LOOP(int, from, i != (from < to ? to : from), i++, i * 2, TURN(i * 2), );
}

static void elements(int from, int to) {
  LOOP(int, from, i < to, i++, &single[i], upc_threadof(&single[i]), single[i] = single[i] + i);
  LOOP(int, from, i < to, i++, single + i, upc_threadof(&single[i]), CHECK(&single[i] == single + i));
  LOOP(int, from, i < to, i += 3, &five[i], upc_threadof(&five[i]), five[i] = 2 * i);
  LOOP(int, from, i < to, i += 3, &five[i], upc_threadof(&five[i]), CHECK(five[i] == 2 * i));
  LOOP(int, from, i <= to, i++, &five[i + 7], upc_threadof(&five[i + 7]), five[i + 7] = i);
  LOOP(long, from, i < to, i += 12, &five[7 + i], upc_threadof(&five[i + 7]), CHECK(five[i + 7] == i));
  LOOP(long, from, i < to, i += 2, &five[i + 2], upc_threadof(&five[i + 2]), CHECK(five[i + 2] == five[(int)i + 2]));
  LOOP(int, to, i >= from, i--, &five[i], upc_threadof(&five[i]), five[i] -= 1);
  LOOP(int, from, i < to, i++, &third[i], upc_threadof(&third[i][0]), third[i][1] = i);
  LOOP(int, from, i < to, i++, &third[i][1], upc_threadof(&third[i][0]), CHECK(third[i][1] == i));
  LOOP(int, 0, i < THREADS, i++, row[i], i, for (int j = 0; j < N; ++j) row[i][j] = i * j);
  LOOP(int, 0, i < THREADS, i++, &row[i][2], i, for (int j = 0; j < N; ++j) CHECK(row[i][j] == i * j));
  LOOP(int, 0, i < N * THREADS, i++, &parts[i], i / N, parts[i]++);
  LOOP(int, from, i < to, i++, &pairs[i], upc_threadof(&pairs[i]),
       (pairs[i].a = i, pairs[i].in.b[2] = 3, pairs[i].in.bits = i));
  LOOP(int, from, i < to, ++i, &pairs[i].a, upc_threadof(&pairs[i]), {
    const pair copy = pairs[i];
    CHECK(copy.a == i && pairs[i].in.b[2] == 3 && pairs[i].in.bits == i % 32 && ++pairs[i].a == i + 1);
    pairs[i] = copy;
  });
}

/* A counter, a bound or a place that changes meanwhile: left as they are. */
static void changing(void) {
  int i, turns = 0, n = 10;
  upc_forall (i = 0; i < n; i++; i) {
    if (turns++ == 0) n = 30;
  }
  CHECK(i == n && turns >= 1);
  int* const at = &n;
  turns = 0;
  upc_forall (i = 0; i < n; i++; continue) ++turns, *at = 5;
  CHECK(turns == 5);
  upc_forall (i = 0; i < 9; i++; i) {
    i += THREADS;
    ++turns;
  }
  limit = 20;
  turns = 0;
  upc_forall (i = 0; i < limit; i++; i) {
    limit = 40;
    ++turns;
  }
  CHECK(i >= 20 && turns >= 1);
  upc_forall (i = 0; i < 100 * THREADS; i++; i) {
    if (i >= 10 * THREADS) break;
  }
  CHECK(i == 10 * THREADS + MYTHREAD);
  limit = N;
}

static int in_turn(int n) {
  int count = 0, i;
  upc_forall (i = 0; i < n; i++; &single[i]) count += single[i] == single[i];
  CHECK(i == n);
  return count;
}

/* A thread waits for what another one writes to its memory, with relaxed accesses. */
static void waiting(void) {
  flags[(MYTHREAD + 1) % THREADS] = 5;
  while (flags[MYTHREAD] != 5);
  for (;;)
    if (flags[MYTHREAD] == 5) break;
  again[(MYTHREAD + 1) % THREADS] = 7;
}
static void once_more(void) {
look:
  if (again[MYTHREAD] != 7) goto look;
  order[MYTHREAD] = 1;
  CHECK(order[MYTHREAD] == 1);
}

int main(void) {
  numbers(0, N), numbers(-17, 20), numbers(5, 5), numbers(9, 3), numbers(3, 4);
  upc_barrier;
  elements(0, N * THREADS), elements(3, 44), elements(1, 2), elements(4, 4);
  upc_barrier;
  changing();
  int count = 0, turns = 0, i;
  upc_forall (i = 0; i < 6; i++; i) ++turns, count += in_turn(N);
  CHECK(count == N * turns && in_turn(N) == N / THREADS + (MYTHREAD < N % THREADS));
  upc_barrier; /* Others have read all of `single`. */
  single[MYTHREAD] = -1, five[MYTHREAD * 5 + 3] = 8, five[5 * MYTHREAD] = 9, row[MYTHREAD][3] = 4;
  row[MYTHREAD][4] += row[MYTHREAD][3]++, single[MYTHREAD] -= 3;
  pointers[MYTHREAD] = &single[MYTHREAD];
  pointers[MYTHREAD] += THREADS;
  CHECK(pointers[MYTHREAD] == &single[MYTHREAD + THREADS]);
  upc_barrier;
  for (i = 0; i < THREADS; ++i) {
    CHECK(single[i] == -4 && five[i * 5 + 3] == 8 && five[i * 5] == 9 && row[i][3] == 5 && row[i][4] == 4 * i + 4);
    for (int k = 0; k < N; ++k) CHECK(parts[i * N + k] == 4);
  }
  waiting();
  once_more();
  RIGHT();
  return 0;
}
