/* A partitioned global address space between processes: pgas_calls JOB RANK RANKS
 * [beside|dies|dies-locked|dies-strict|dies-event|differs]. Says nothing where all is right. */
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t rank, ranks;
static uint64_t sum, answers;

static void must(int holds, const char* words) {
  if (holds) return;
  fprintf(stderr, "rank %u: %s: %s\n", rank, words, isthmus_last_error());
  exit(1);
}

static void add(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                void* data) {
  const uint64_t back = arguments[0] + ((const unsigned char*)payload)[bytes - 1];
  (void)count, (void)data;
  sum += back;
  must(isthmus_reply(token, 2, &back, 1, NULL, 0) == ISTHMUS_DONE, "reply");
}

static void answer(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                   void* data) {
  (void)token, (void)count, (void)payload, (void)bytes, (void)data;
  answers += arguments[0];
}

/* Every rank writes its number to all others, adds to a counter of rank 0 in three ways, and asks its neighbour. */
static void use(isthmus_space* space) {
  uint64_t table, counters, own;
  isthmus_mutex mutex;
  const uint64_t one = 1;
  const uint32_t next = (rank + 1) % ranks;
  unsigned char payload[1000] = {0};
  must(isthmus_handle(space, 1, add, NULL) == ISTHMUS_DONE, "handle");
  must(isthmus_handle(space, 2, answer, NULL) == ISTHMUS_DONE, "handle");
  must(isthmus_allocate_all(space, 8 * ranks, &table) == ISTHMUS_DONE, "table");
  must(isthmus_allocate_all(space, 16, &counters) == ISTHMUS_DONE, "counters");
  must(isthmus_mutex_make_all(space, &mutex) == ISTHMUS_DONE, "mutex");
  must(isthmus_set(space, rank, counters, 0, 16) == ISTHMUS_DONE, "set");
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  own = 100 + rank;
  for (uint32_t r = 0; r < ranks; ++r)
    must(isthmus_put(space, r, table + 8 * rank, &own, sizeof own) == ISTHMUS_DONE, "put");
  for (int i = 0; i < 1000; ++i) {
    uint64_t value;
    must(isthmus_atomic(space, 0, counters, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, NULL) == ISTHMUS_DONE, "add");
    must(isthmus_lock(space, mutex) == ISTHMUS_DONE, "lock");
    isthmus_get(space, &value, 0, counters + 8, sizeof value);
    ++value;
    isthmus_put(space, 0, counters + 8, &value, sizeof value);
    must(isthmus_unlock(space, mutex) == ISTHMUS_DONE, "unlock");
  }
  for (uint64_t i = 1; i <= 100; ++i) {
    payload[sizeof payload - 1] = (unsigned char)i;
    must(isthmus_request(space, next, 1, &i, 1, payload, sizeof payload) == ISTHMUS_DONE, "request");
  }
  while (answers < 2 * 5050) must(isthmus_poll(space) == ISTHMUS_DONE, "poll");
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  must(sum == 2 * 5050, "requests of the neighbour");
  for (uint32_t r = 0; r < ranks; ++r) {
    const uint64_t* const there = isthmus_cast(space, r, table);
    for (uint32_t k = 0; k < ranks; ++k) must(there[k] == 100 + k, "table");
  }
  const uint64_t* const counted = isthmus_cast(space, 0, counters);
  must(counted[0] == 1000 * ranks && counted[1] == 1000 * ranks, "counters");
}

static void slow(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                 void* data) {
  (void)token, (void)count, (void)payload, (void)bytes, (void)data;
  usleep(500);
  sum += arguments[0];
}

/* A thread of the library handles messages while the program calls the space. */
static void beside(isthmus_space* space) {
  const uint64_t one = 1;
  must(isthmus_handle(space, 3, slow, NULL) == ISTHMUS_DONE, "handle");
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  for (int i = 0; i < 200; ++i) {
    must(isthmus_request(space, (rank + 1) % ranks, 3, &one, 1, NULL, 0) == ISTHMUS_DONE, "request");
    usleep(300);
  }
  usleep(200000);
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  while (sum < 200) must(isthmus_poll(space) == ISTHMUS_DONE, "poll");
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
}

int main(int argc, char** argv) {
  const char* const mode = argc > 4 ? argv[4] : "";
  isthmus_space_options options = {.size = sizeof options, .symmetric = 1 << 20, .local = 1 << 20};
  isthmus_team* team;
  isthmus_space* space;
  isthmus_mutex mutex;
  rank = (uint32_t)atoi(argv[2]);
  ranks = (uint32_t)atoi(argv[3]);
  isthmus_job job = {.size = sizeof job, .name = argv[1], .rank = rank, .ranks = ranks};
  must(isthmus_join(&job, &team) == ISTHMUS_DONE, "join");
  if (strcmp(mode, "differs") == 0 && rank == 1) options.local = 2 << 20;
  const int made = isthmus_space_make(team, &options, &space);
  if (strcmp(mode, "differs") == 0) {
    printf("%d %s\n", made, isthmus_last_error());
    return 0;
  }
  must(made == ISTHMUS_DONE, "make");
  if (strncmp(mode, "dies", 4) == 0) {
    /* Rank 1 may be through and dead before others have looked. */
    int status = isthmus_mutex_make_all(space, &mutex);
    must(status == ISTHMUS_DONE || (rank != 1 && status >= ISTHMUS_FAILED), "mutex");
    if (rank == 1) {
      if (strcmp(mode, "dies-locked") == 0) must(isthmus_lock(space, mutex) == ISTHMUS_DONE, "lock");
      must(isthmus_notify(space, NULL) == ISTHMUS_DONE, "notify");
      abort();
    }
    if (strcmp(mode, "dies-locked") == 0) {
      must(isthmus_barrier(space, NULL) >= ISTHMUS_FAILED, "barrier"); /* fails only where rank 1 had no time for it */
      status = isthmus_lock(space, mutex);
    }
    if (strcmp(mode, "dies-strict") == 0) {
      while (status == ISTHMUS_DONE) status = isthmus_barrier_of(space, NULL);
    } else if (strcmp(mode, "dies-event") == 0) {
      isthmus_event event = 0;
      isthmus_manner manner = {.size = sizeof manner, .event = &event};
      uint64_t place = 0;
      if (status == ISTHMUS_DONE) status = isthmus_allocate(space, 64, &place);
      while (status == ISTHMUS_DONE) {
        status = isthmus_broadcast(space, &manner, place, 0, place, 8);
        if (status == ISTHMUS_DONE)
          while ((status = isthmus_test_event(space, &event)) == ISTHMUS_IN_PROGRESS) continue;
      }
    }
    while (status == ISTHMUS_DONE) status = isthmus_barrier(space, NULL);
    printf("%d %s\n", status, isthmus_last_error());
    return 0;
  }
  if (strcmp(mode, "beside") == 0) beside(space);
  else use(space);
  must(isthmus_space_leave(space) == ISTHMUS_DONE, "leave");
  must(isthmus_leave(team) == ISTHMUS_DONE, "leave");
  return 0;
}
