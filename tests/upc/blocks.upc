/* Loops in blocks: what must stay in its order does, beside every kind of row. */
#include <upc_relaxed.h>
#include <math.h>
#include <string.h>
#include "check.h"

#define N 40
typedef struct pair {
  int a;
  double b[2];
} pair;
shared long single[N * THREADS];
shared [7] long seven[N * THREADS];
shared [] long whole[N];
shared [N] double row[N * THREADS][N], column[N][N * THREADS];
shared pair pairs[N * THREADS];
shared [*] short parts[N * THREADS];
shared long one;
shared long* shared pointers[N * THREADS];
shared long* shared kept;
strict shared int flag;
shared int go, at_last;
int limit = N;

static long owner(shared void* p) { return (long)upc_threadof(p); }

static int wrong;
#define CHECK_LATER(condition) (wrong += !(condition)) /* without a call */

static void fill(void) {
  upc_barrier;
  if (MYTHREAD == 0) {
    for (int i = 0; i < N * THREADS; ++i) single[i] = i, seven[i] = 2 * i, pairs[i].a = 3 * i;
    for (int i = 0; i < N * THREADS; ++i) parts[i] = 5 * i;
    for (int i = 0; i < N; ++i) whole[i] = 7 * i;
    for (int i = 0; i < N * THREADS; ++i) pairs[i].b[1] = 4 * i;
    one = 11;
  }
  upc_barrier;
}

/* Every element that a loop in blocks reads, on every thread. */
static void reads(void) {
  long sum = 0, should = 0;
  for (int i = 0; i < N * THREADS; ++i) sum += single[i] + 2 * seven[i] + pairs[i].a + (long)pairs[i].b[1] + parts[i];
  for (int i = 0; i < N * THREADS; ++i) should += i + 4 * i + 3 * i + 4 * i + 5 * i;
  CHECK(sum == should);
  for (int i = 0; i < N; ++i) sum += whole[N - 1 - i] * (i + 1) + one, should += 7 * (N - 1 - i) * (i + 1) + 11;
  CHECK(sum == should);
  for (long i = N * THREADS - 1; i >= 3; i -= 3) sum += single[i] * i - seven[i - 2], should += i * i - 2 * (i - 2);
  CHECK(sum == should);
  for (size_t i = 1; i < sizeof(long) * 4; i++) sum += (long)sqrt((double)(whole[i] * whole[i])), should += 7 * (long)i;
  CHECK(sum == should);
  /* What is not read in every iteration may lie outside of the array. */
  for (int i = 0; i < N * THREADS; ++i) {
    sum += i > 0 ? single[i - 1] : 0, should += i > 0 ? i - 1 : 0;
    if (i < N * THREADS - 2 && single[i + 2] == i + 2) sum += 1;
    if (i < N * THREADS - 2) should += 1;
  }
  CHECK(sum == should);
  for (int i = 0; i < N; ++i) {
    const int k = 2 * i + 1, turned = N - 1 - i;
    if (k < N) sum += whole[k], should += 7 * k;
    sum += whole[turned], should += 7 * turned;
  }
  CHECK(sum == should);
  for (int i = 0; i < limit; ++i) {
    if (whole[i] > 70) continue;
    sum += whole[i], should += 7 * i;
  }
  CHECK(sum == should);
}

/* Written elements arrive, in the order of the program. */
static void writes(void) {
  upc_barrier;
  if (MYTHREAD == THREADS - 1) {
    for (int i = 0; i < N * THREADS; ++i) single[i] = -i;
    for (int i = 0; i < N * THREADS; ++i) single[i] += seven[i], seven[i]++;
    for (int i = 1; i < N; ++i) whole[i] = whole[i - 1] + 1;            /* each needs the one before */
    for (int i = 0; i < N - 1; ++i) parts[i] = parts[i + 1];            /* each is read before it is written */
    for (int i = N; i < N * THREADS - 1; ++i) parts[i + 1] = parts[i];  /* and after it */
    for (int i = 0; i < N; ++i) pairs[i] = pairs[N * THREADS - 1];
    for (int i = 0; i < N; ++i) one = one + i;
  }
  upc_barrier;
  for (int i = 0; i < N * THREADS; ++i) {
    CHECK(single[i] == i && seven[i] == 2 * i + 1);
    CHECK(parts[i] == (i < N - 1 ? 5 * (i + 1) : i == N - 1 || i == N ? 5 * i : 5 * N));
  }
  for (int i = 0; i < N; ++i) CHECK(whole[i] == i && pairs[i].a == (N * THREADS - 1) * 3);
  CHECK(one == 11 + N * (N - 1) / 2);
}

/* Pointers to shared and to the thread's own part of an array, which may lead to what is written. */
static void aliases(void) {
  shared [] long* const p = &whole[4];
  long* const own = (long*)&single[MYTHREAD];
  long private[N], *q = private;
  upc_barrier;
  if (MYTHREAD == 0)
    for (int i = 0; i < N - 4; ++i) whole[i] = i, p[i] = -1;
  upc_barrier;
  for (int i = 0; i < N; ++i) CHECK(whole[i] == (i < N - 4 ? i : -1));
  upc_barrier;
  for (int i = 0; i < N; ++i) own[i] = 100 + i;
  for (int i = 1; i < N; ++i) own[i] = single[(i - 1) * THREADS + MYTHREAD] + 1; /* own[i - 1] + 1 */
  for (int i = 0; i < N; ++i) CHECK(own[i] == 100 + i);
  for (int i = 0; i < N; ++i) {
    single[i * THREADS + MYTHREAD] = i;
    *q++ = own[i];
  }
  for (int i = 0; i < N; ++i) CHECK(private[i] == i);
  upc_barrier;
  /* A pointer to shared that is itself in shared memory. */
  if (MYTHREAD == 0) kept = &single[THREADS];
  upc_barrier;
  long sum = 0;
  for (int i = 0; i < (N - 1) * THREADS; ++i) sum += kept[i] - single[i + THREADS];
  CHECK(sum == 0);
  upc_forall(int i = 0; i < (N - 1) * THREADS; ++i; i) sum += kept[i] == i / THREADS + 1;
  CHECK(sum == N - 1);
  upc_barrier;
  memset(private, 0, sizeof private);
  for (int i = 0; i < N; ++i) private[i] = single[i * THREADS + (MYTHREAD + 1) % THREADS];
  for (int i = 0; i < N; ++i) CHECK(private[i] == i);
  for (int i = 0; i < N; ++i) pointers[i * THREADS + MYTHREAD] = &single[i * THREADS];
  for (int i = 0; i < N; ++i) CHECK(owner(pointers[i * THREADS + MYTHREAD]) == 0 && *pointers[i * THREADS + MYTHREAD] == i);
  upc_barrier;
}

/* A private pointer into a row that lies in several blocks, which would be copied. */
static void privately(void) {
  upc_barrier;
  if (MYTHREAD == 0) {
    long* const mine = (long*)&seven[0];
    long before = 0, sum = 0;
    for (int i = 7; i < N; ++i) before += seven[i];
    for (int i = 0; i < N; ++i) {
      if (i < 7) mine[i] = -i;
      sum += seven[i];
    }
    CHECK(sum == before - 21);
    for (int i = 0; i < N; ++i) {
      seven[i] = 2 * i + 1;
      if (i < 7) sum = mine[i];
      CHECK_LATER(sum == (i < 7 ? 2 * i + 1 : 13));
    }
    CHECK(!wrong);
  }
  upc_barrier;
}

static void nests(void) {
  upc_forall (int i = 0; i < N * THREADS; i++; &row[i][0])
    for (int j = 0; j < N; ++j) row[i][j] = i * N + j;
  upc_barrier;
  upc_forall (int j = 0; j < N * THREADS; j++; &column[0][j])
    for (int i = 0; i < N; ++i) column[i][j] = row[j][i];
  upc_barrier;
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N * THREADS; ++j) CHECK(column[i][j] == j * N + i);
  double sum = 0, should = 0;
  for (int i = 1; i < N * THREADS - 1; ++i)
    for (int j = 1; j < N - 1; ++j) {
      sum += row[i - 1][j] + row[i + 1][j] + row[i][j - 1] + row[i][j + 1];
      should += 4 * (i * N + j);
    }
  CHECK(sum == should);
  upc_barrier;
  upc_forall (int i = 0; i < N * THREADS; i++; &single[i]) single[i] = seven[N * THREADS - 1 - i];
  upc_barrier;
  upc_forall (int i = 1; i < N * THREADS - 1; i++; &parts[i]) parts[i] = single[i - 1] + single[i + 1];
  upc_barrier;
  for (int i = 1; i < N * THREADS - 1; ++i) CHECK(single[i] == seven[N * THREADS - 1 - i] && parts[i] == single[i - 1] + single[i + 1]);
}

/* A strict access in a loop, and loops between strict accesses: what was written before is seen after. */
static void orders(void) {
  for (int turn = 1; turn <= 20; ++turn) {
    upc_barrier;
    if (MYTHREAD == 0) {
      for (int i = 0; i < N; ++i) whole[i] = turn * 1000 + i;
      flag = turn;
    } else {
      while (flag != turn) upc_poll();
      for (int i = 0; i < N; ++i) CHECK(whole[i] == turn * 1000 + i);
    }
  }
  upc_barrier;
  /* A loop in blocks in a loop that waits reads anew each time. */
  if (MYTHREAD == THREADS - 1) {
    go = 1;
    for (int i = 0; i < N; ++i) whole[i] = 5;
    at_last = 1;
  }
  long sum = 0;
  do {
    upc_poll();
    sum = 0;
    for (int i = 0; i < N; ++i) sum += whole[i];
  } while (sum != 5 * N);
  upc_barrier;
}

int main(void) {
  fill(), reads(), writes(), aliases(), privately(), nests(), orders();
  RIGHT();
  return 0;
}
