/* Where elements are, arithmetic and comparison of pointers, casts: sections 6.4.2, 6.4.3 and 6.5. */
#include <upc.h>
#include "check.h"

#define N 7
shared int cyclic[N * THREADS];
shared [3] double blocks[N * THREADS];
shared [*] short whole[N * THREADS];
shared [] char one[40];
shared [2] int matrix[3 * THREADS][5];
typedef shared [3] double* walker;
typedef int row[4];
shared [4] row rows[2 * THREADS];
typedef int wide[2][THREADS][3];
shared wide cube;
shared int scalar;
static shared [5] long hidden[5 * THREADS];

static void places(void) {
  for (int i = 0; i < N * THREADS; ++i) {
    CHECK(upc_threadof(&cyclic[i]) == i % THREADS);
    CHECK(upc_phaseof(&cyclic[i]) == 0);
    CHECK(upc_threadof(&blocks[i]) == i / 3 % THREADS);
    CHECK(upc_phaseof(&blocks[i]) == i % 3);
    CHECK(upc_threadof(&whole[i]) == i / N);
    CHECK(upc_phaseof(whole + i) == i % N);
  }
  for (int i = 0; i < 40; ++i) CHECK(upc_threadof(&one[i]) == 0 && upc_addrfield(&one[i]) == upc_addrfield(one) + i);
  for (int i = 0; i < 3 * THREADS; ++i)
    for (int j = 0; j < 5; ++j) {
      CHECK(upc_threadof(&matrix[i][j]) == (i * 5 + j) / 2 % THREADS);
      CHECK(upc_phaseof(&matrix[i][j]) == (i * 5 + j) % 2);
    }
  for (int i = 0; i < 2 * THREADS; ++i)
    for (int j = 0; j < 4; ++j) CHECK(upc_threadof(&rows[i][j]) == i % THREADS && upc_phaseof(&rows[i][j]) == j);
  CHECK(upc_threadof(&scalar) == 0);
  CHECK(upc_threadof(&hidden[5 * THREADS - 1]) == THREADS - 1);
}

static void arithmetic(void) {
  walker p = blocks, q = &blocks[N * THREADS - 1], null = NULL;
  int n = 0;
  for (walker r = blocks; r <= q; r++, ++n) CHECK(r - p == n && r == p + n && n + p == r && *&r == &blocks[n]);
  CHECK(n == N * THREADS);
  CHECK(p < q || N * THREADS == 1);
  CHECK(q >= p && p != null && !null && p && (null == 0));
  q -= N * THREADS - 1;
  CHECK(q == p);
  CHECK(upc_threadof(q) == 0 && upc_phaseof(q) == 0);
  CHECK(*(q += 2) == *&blocks[2] && q++ == &blocks[2] && --q == &blocks[2] && q-- == &blocks[2] && ++q == p + 2);
  walker table[3] = {p, NULL, p + 1}, *at = table;
  CHECK(*at++ == p && *at == NULL && (*++at)-- == p + 1 && table[2] == p);
  table[1] = blocks, table[1] += 4;
  CHECK(table[1] - table[0] == 4 && (1 ? table[1] : 0) == p + 4 && (0 ? p : NULL) == NULL);
  shared [2] int(*r)[5] = matrix;
  r++;
  CHECK(r - matrix == 1 && *r - matrix[0] == 5 && &(*r)[2] == &matrix[1][2] && (void*)0 == NULL);
}

static void casts(void) {
  shared void* any = &blocks[4];
  walker back = any;
  CHECK(upc_phaseof(any) == 1 && back == &blocks[4] && back + 1 == &blocks[5] && any == back);
  shared int* other = (shared int*)back;
  CHECK(upc_phaseof(other) == 0 && upc_threadof(other) == upc_threadof(back));
  shared [] double* mine = (shared [] double*)&blocks[0];
  CHECK(upc_threadof(mine + 1) == 0 && upc_addrfield(mine + 1) == upc_addrfield(blocks) + sizeof(double));
  CHECK(upc_phaseof(upc_resetphase(&blocks[4])) == 0);
  if (3 * MYTHREAD < N * THREADS) {
    double* local = (double*)&blocks[3 * MYTHREAD];
    local[0] = 1.5 + MYTHREAD;
    CHECK(blocks[3 * MYTHREAD] == 1.5 + MYTHREAD);
  }
  CHECK((int*)(shared int*)NULL == NULL);
}

shared int* stepped;
static shared [3] double* by_three;
shared [] char* on_one;
static shared int (*pairs_of)[2];
shared int twos[N * THREADS][2];

/* Pointers that are in memory, one element at a time. */
static void steps(void) {
  stepped = cyclic, by_three = blocks, on_one = one, pairs_of = twos;
  for (int i = 0; i < N * THREADS; ++i, stepped++, ++by_three) {
    CHECK(stepped == &cyclic[i] && upc_threadof(stepped) == i % THREADS && upc_phaseof(stepped) == 0);
    CHECK(by_three == &blocks[i] && upc_threadof(by_three) == i / 3 % THREADS && upc_phaseof(by_three) == i % 3);
  }
  for (int i = 0; i < 40; ++i) CHECK(on_one == &one[i] && ++on_one == &one[i + 1]);
  for (int i = 0; i < N; ++i, pairs_of++) CHECK((shared int*)pairs_of == &twos[i][0]);
  shared int* const before = stepped++;
  CHECK(stepped - before == 1 && (stepped -= 2, stepped++ == before - 1) && --stepped == before - 1);
}

static void sizes(void) {
  CHECK(sizeof cyclic == N * THREADS * sizeof(int) && sizeof(cyclic[0]) == sizeof(int) && sizeof blocks[0] == 8);
  CHECK(upc_blocksizeof(blocks) == 3 && upc_blocksizeof(cyclic) == 1 && upc_blocksizeof(one) == 0);
  CHECK(upc_blocksizeof(whole) == N && upc_elemsizeof(matrix) == sizeof(int) && upc_elemsizeof(shared [2] int[5]) == 4);
  CHECK(upc_localsizeof(cyclic) == N * sizeof(int) && upc_localsizeof(shared int) == sizeof(int));
  CHECK(sizeof(shared [4] int*) == sizeof(walker) && sizeof(matrix) == 15 * THREADS * sizeof(int));
  shared wide* volume = &cube;
  CHECK(sizeof cube == 24 * THREADS && &volume[1][0] - &volume[0][0] == 2 && &cube[1][0][2] - &cube[0][0][0] == 3 * THREADS + 2);
  CHECK(upc_threadof(&cube[1][THREADS - 1][2]) == (6 * THREADS - 1) % THREADS);
  CHECK(sizeof(matrix[0]) == 20 && sizeof(rows[0]) == 16);
}

int main(void) {
  places();
  arithmetic();
  steps();
  upc_barrier;
  casts();
  sizes();
  RIGHT();
  return 0;
}
