/* Calls of the C interface, as a program would make them; prints what went wrong. */
#include <isthmus/isthmus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static isthmus_team* team;
static uint32_t rank, ranks;

#define CHECK(condition)                                                                                  \
  do {                                                                                                    \
    if (!(condition)) {                                                                                   \
      printf("rank %u, line %d: %s; last error: %s\n", rank, __LINE__, #condition, isthmus_last_error()); \
      exit(1);                                                                                            \
    }                                                                                                     \
  } while (0)

static isthmus_call call_of(isthmus_kind kind, uint64_t count) {
  isthmus_call call;
  memset(&call, 0, sizeof call);
  call.size = sizeof call;
  call.kind = kind;
  call.count = count;
  call.element = ISTHMUS_I64;
  return call;
}

static void blocking(void) {
  int64_t mine[300], all[300];
  isthmus_call call = call_of(ISTHMUS_ALLREDUCE, 20);
  for (int i = 0; i < 300; ++i) mine[i] = 1000 * (int64_t)rank + i;
  CHECK(isthmus_run(team, &call, mine, all) == ISTHMUS_DONE);
  for (int i = 0; i < 20; ++i) CHECK(all[i] == 1000 * (int64_t)(ranks * (ranks - 1) / 2) + (int64_t)ranks * i);
  call.operation = ISTHMUS_MAX; /* the same schedule */
  call.in_place = 1;
  memcpy(all, mine, sizeof all);
  CHECK(isthmus_run(team, &call, NULL, all) == ISTHMUS_DONE);
  for (int i = 0; i < 20; ++i) CHECK(all[i] == 1000 * (int64_t)(ranks - 1) + i);
  call = call_of(ISTHMUS_BCAST, 7);
  call.root = ranks - 1;
  memcpy(all, mine, sizeof all);
  CHECK(isthmus_run(team, &call, NULL, all) == ISTHMUS_DONE);
  CHECK(all[6] == 1000 * (int64_t)(ranks - 1) + 6 && all[7] == mine[7]);
  call = call_of(ISTHMUS_ALLTOALL, 3);
  CHECK(isthmus_run(team, &call, mine, all) == ISTHMUS_DONE);
  for (uint32_t r = 0; r < ranks; ++r) CHECK(all[3 * r + 2] == 1000 * (int64_t)r + 3 * rank + 2);
  call = call_of(ISTHMUS_BARRIER, 0);
  CHECK(isthmus_run(team, &call, NULL, NULL) == ISTHMUS_DONE);
}

/* Blocks that differ: rank r has r + 1 elements; and each sends to its right neighbour. */
static void different_counts(void) {
  int64_t mine[64], all[2100], counts[64];
  isthmus_call call = call_of(ISTHMUS_ALLGATHER, 0);
  for (uint32_t r = 0; r < ranks; ++r) counts[r] = r + 1;
  for (int i = 0; i < 64; ++i) mine[i] = 100 * (int64_t)rank + i;
  call.counts = counts;
  call.counts_length = ranks;
  CHECK(isthmus_run(team, &call, mine, all) == ISTHMUS_DONE);
  for (uint32_t r = 0, at = 0; r < ranks; at += ++r)
    CHECK(all[at] == 100 * (int64_t)r && all[at + r] == 100 * (int64_t)r + r);
  call = call_of(ISTHMUS_NEIGHBOR_ALLTOALL, 0);
  const int64_t neighbours[] = {(rank + 1) % ranks, 5, 0, (rank + ranks - 1) % ranks, 0, 5};
  call.counts = neighbours;
  call.counts_length = 6;
  CHECK(isthmus_run(team, &call, mine, all) == ISTHMUS_DONE);
  CHECK(all[4] == 100 * (int64_t)((rank + ranks - 1) % ranks) + 4);
}

/* Strings of two numbers, joined: which is not commutative. */
static void join_pairs(const void* left, const void* right, void* out, size_t elements, void* data) {
  const int32_t *a = left, *b = right;
  int32_t* to = out;
  for (size_t i = 0; i < elements; ++i) { /* first of the left, last of the right */
    const int32_t first = a[2 * i], last = b[2 * i + 1];
    to[2 * i] = first;
    to[2 * i + 1] = last;
  }
  *(int*)data += (int)elements;
}

static void own_operator(void) {
  int32_t mine[40], all[40];
  int combined = 0;
  isthmus_call call = call_of(ISTHMUS_ALLREDUCE, 20);
  for (int i = 0; i < 40; ++i) mine[i] = 100 * (int32_t)rank + i;
  call.element = ISTHMUS_BYTES;
  call.element_bytes = 8;
  call.combine = join_pairs;
  call.data = &combined;
  CHECK(isthmus_run(team, &call, mine, all) == ISTHMUS_DONE);
  for (int i = 0; i < 20; ++i) CHECK(all[2 * i] == 2 * i && all[2 * i + 1] == 100 * (int32_t)(ranks - 1) + 2 * i + 1);
  call.algorithm = "ring";
  CHECK(isthmus_run(team, &call, mine, all) == ISTHMUS_INVALID);
  CHECK(strstr(isthmus_last_error(), "changes the order of operands"));
}

/* Many under way at once, of more calls than the cache keeps, completed in another order than begun. */
static void outstanding(void) {
  enum { many = 40 };
  static int64_t mine[many][3000], all[many][3000];
  isthmus_operation* operations[many];
  for (int i = 0; i < many; ++i) {
    const uint64_t count = 1 + 70u * (unsigned)(i % 20);
    isthmus_call call = call_of(ISTHMUS_ALLREDUCE, count);
    for (uint64_t k = 0; k < count; ++k) mine[i][k] = (int64_t)(rank + k) * (i + 1);
    CHECK(isthmus_begin(team, &call, mine[i], all[i], &operations[i]) == ISTHMUS_IN_PROGRESS);
  }
  for (int j = 0; j < many; ++j) {
    const int i = (j * 7 + (int)rank) % many;
    if (j % 3 == 0) {
      int status;
      while ((status = isthmus_test(operations[i])) == ISTHMUS_IN_PROGRESS) continue;
      CHECK(status == ISTHMUS_DONE);
    } else {
      CHECK(isthmus_wait(operations[i]) == ISTHMUS_DONE);
    }
  }
  for (int i = 0; i < many; ++i)
    for (int k = 0; k < 1 + 70 * (i % 20); ++k)
      CHECK(all[i][k] == (int64_t)(ranks * (ranks - 1) / 2 + ranks * (unsigned)k) * (i + 1));
}

static void persistent(void) {
  isthmus_operation* operation;
  isthmus_call call = call_of(ISTHMUS_SCAN, 10000);
  static int64_t mine[2][10000], all[2][10000];
  CHECK(isthmus_make(team, &call, &operation) == ISTHMUS_DONE);
  for (int turn = 0; turn < 6; ++turn) {
    for (int k = 0; k < 10000; ++k) mine[turn % 2][k] = turn + k;
    CHECK(isthmus_start(operation, mine[turn % 2], all[turn % 2]) == ISTHMUS_IN_PROGRESS);
    CHECK(isthmus_start(operation, mine[0], all[0]) == ISTHMUS_INVALID);
    CHECK(isthmus_free(operation) == ISTHMUS_INVALID);
    CHECK(isthmus_wait(operation) == ISTHMUS_DONE);
    for (int k = 0; k < 10000; ++k) CHECK(all[turn % 2][k] == (int64_t)(rank + 1) * (turn + k));
  }
  CHECK(isthmus_free(operation) == ISTHMUS_DONE);
}

/* Groups in another order of ranks, at once and beside the whole team. */
static void groups(void) {
  enum { many = 3 };
  isthmus_team* group[many] = {NULL};
  isthmus_operation *operation[many], *of_all;
  uint32_t members[64];
  static int64_t mine[20000], sum[many][20000], all[20000];
  for (int k = 0; k < 20000; ++k) mine[k] = 3 * (int64_t)rank + k;
  for (int g = 0; g < many; ++g) { /* every g+1-th rank, the last one first */
    uint32_t n = 0;
    for (uint32_t r = ranks; r-- > 0;)
      if (r % (unsigned)(g + 1) == 0) members[n++] = r;
    if (rank % (unsigned)(g + 1)) {
      CHECK(isthmus_group(team, members, n, (uint32_t)g + 1, &group[g]) == ISTHMUS_INVALID);
      continue;
    }
    CHECK(isthmus_group(team, members, n, (uint32_t)g + 1, &group[g]) == ISTHMUS_DONE);
    CHECK(isthmus_ranks(group[g]) == n && members[isthmus_rank(group[g])] == rank);
    isthmus_call call = call_of(ISTHMUS_BCAST, 20000);
    call.root = n - 1;
    memcpy(sum[g], mine, sizeof mine);
    CHECK(isthmus_begin(group[g], &call, NULL, sum[g], &operation[g]) == ISTHMUS_IN_PROGRESS);
  }
  isthmus_call call = call_of(ISTHMUS_ALLREDUCE, 20000);
  CHECK(isthmus_begin(team, &call, mine, all, &of_all) == ISTHMUS_IN_PROGRESS);
  CHECK(isthmus_wait(of_all) == ISTHMUS_DONE);
  CHECK(isthmus_progress(team) == ISTHMUS_DONE);
  for (int g = many; g-- > 0;) {
    if (!group[g]) continue;
    CHECK(isthmus_wait(operation[g]) == ISTHMUS_DONE);
    CHECK(sum[g][19999] == 19999); /* of rank 0, which is last */
    CHECK(isthmus_leave(group[g]) == ISTHMUS_DONE);
  }
}

static void refused(const isthmus_call* call, const char* words) {
  static int64_t memory[1000];
  isthmus_operation* operation;
  CHECK(isthmus_begin(team, call, memory, memory + 500, &operation) < 0);
  if (strstr(isthmus_last_error(), words)) return;
  printf("rank %u: '%s' where '%s' was expected\n", rank, isthmus_last_error(), words);
  exit(1);
}

static void wrong_calls(void) {
  isthmus_call call = call_of(ISTHMUS_ALLREDUCE, 4);
  isthmus_operation* operation;
  CHECK(isthmus_run(team, NULL, NULL, NULL) == ISTHMUS_INVALID);
  CHECK(isthmus_run(team, &call, NULL, NULL) == ISTHMUS_INVALID);
  CHECK(!strcmp(isthmus_last_error(), "input is NULL: this rank has 32 bytes there"));
  CHECK(isthmus_begin(NULL, &call, NULL, NULL, &operation) == ISTHMUS_INVALID);
  call.algorithm = "magic";
  refused(&call, "magic");
  call.algorithm = NULL;
  call.element = (isthmus_element)77;
  refused(&call, "element 77 is none of the types");
  call.element = ISTHMUS_C64;
  call.operation = ISTHMUS_MIN;
  refused(&call, "is not defined for elements of type 11");
  call.element = ISTHMUS_BYTES;
  refused(&call, "element_bytes = 0");
  call = call_of((isthmus_kind)13, 4);
  refused(&call, "kind 13 is none of the collectives");
  call = call_of(ISTHMUS_BCAST, 4);
  call.root = ranks;
  refused(&call, "does not exist");
  call = call_of(ISTHMUS_GATHER, 4);
  call.counts = (const int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  call.counts_length = ranks + 1;
  refused(&call, "counts for");
  call.size = 3;
  refused(&call, "size = 3");
}

/* A structure of a version that had fewer members. */
static void earlier_version(void) {
  int64_t mine = 1 + rank, all = 0;
  isthmus_call call = call_of(ISTHMUS_ALLREDUCE, 1);
  call.size = offsetof(isthmus_call, algorithm);
  memset((char*)&call + call.size, 0xFF, sizeof call - call.size);
  CHECK(isthmus_run(team, &call, &mine, &all) == ISTHMUS_DONE);
  CHECK(all == (int64_t)ranks * (ranks + 1) / 2);
}

int main(int argc, char** argv) {
  isthmus_job job;
  memset(&job, 0, sizeof job);
  job.size = sizeof job;
  job.name = argc > 1 ? argv[1] : "";
  job.rank = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
  job.ranks = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
  job.cached = 5;
  rank = job.rank;
  CHECK(isthmus_version() == ISTHMUS_VERSION);
  CHECK(isthmus_join(&job, &team) == ISTHMUS_DONE);
  ranks = isthmus_ranks(team);
  CHECK(isthmus_rank(team) == rank);
  if (argc > 4) { /* dies */
    int64_t mine = 1, all;
    isthmus_call call = call_of(ISTHMUS_ALLREDUCE, 1);
    if (rank == 1) abort();
    const int status = isthmus_run(team, &call, &mine, &all);
    printf("%d %s\n", status, isthmus_last_error());
    CHECK(isthmus_run(team, &call, &mine, &all) == ISTHMUS_FAILED);
    return isthmus_leave(team);
  }
  blocking();
  different_counts();
  own_operator();
  outstanding();
  groups();
  persistent();
  wrong_calls();
  earlier_version();
  CHECK(isthmus_leave(team) == ISTHMUS_DONE);
  return 0;
}
