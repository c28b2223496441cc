/* One-sided transfers, atomic operations, active messages, barriers and locks of two ranks: microseconds each, a line
 * of `name bytes microseconds` for every one. Ranks are processes of one node: `pgas JOB RANK RANKS TURNS`; compiled
 * with OVER_MPI, those of an MPI program: `pgas TURNS`. */
#define _GNU_SOURCE
#include <isthmus/isthmus_pgas.h>
#ifdef OVER_MPI
#include <isthmus/isthmus_mpi.h>
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pgas_rows.h"

enum { ASK = 1, ANSWER = 2 };

static isthmus_space* space;
static uint32_t rank, ranks, peer;
static volatile uint64_t answered;

static void must(int status) {
  if (status >= 0) return;
  fprintf(stderr, "rank %u: %s\n", rank, isthmus_last_error());
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void on_ask(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                   void* data) {
  (void)arguments, (void)count, (void)payload, (void)data;
  must(isthmus_reply(token, ANSWER, NULL, 0, NULL, 0));
  (void)bytes;
}

static void on_answer(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                      void* data) {
  (void)token, (void)arguments, (void)count, (void)payload, (void)bytes, (void)data;
  ++answered;
}

static char mine[4 << 20] __attribute__((aligned(4096)));
static uint64_t table, landing;

enum what { PUT, GET, BEGIN, ADD, STRIDED, GET_STRIDED, INDEXED, VECTOR, SHORT, MEDIUM, LONG, BARRIER, LOCK };
/* Bytes in all of transfers of many pieces, of which the space holds every other one. */
enum { PIECES = 64 << 10 };
static isthmus_piece pieces[PIECES / 8];
static uint64_t offsets[PIECES / 8];

/* `times` of one thing; the other rank does its part until the barrier at the end. */
static double run(enum what what, size_t bytes, int times) {
  uint64_t one = 1, before;
  must(isthmus_barrier(space, NULL));
  if (what == INDEXED || what == VECTOR)
    for (size_t i = 0; i < PIECES / bytes; ++i) pieces[i] = (isthmus_piece){offsets[i] = table + 2 * i * bytes, bytes};
  const double begin = now();
  for (int i = 0; i < times; ++i) {
    if (what == BARRIER) {
      must(isthmus_barrier(space, NULL));
      continue;
    }
    if (rank != 0) break;
    switch (what) {
      case PUT: must(isthmus_put(space, peer, table, mine, bytes)); break;
      case GET: must(isthmus_get(space, mine, peer, table, bytes)); break;
      case BEGIN: /* 64 of them under way */
        must(isthmus_begin_put(space, peer, table + (uint64_t)(i % 64) * bytes, mine, bytes, NULL));
        if (i % 64 == 63 || i == times - 1) must(isthmus_wait_all(space));
        break;
      case ADD: must(isthmus_atomic(space, peer, table, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, &before)); break;
      case STRIDED:
      case GET_STRIDED: {
        const size_t extent = PIECES / bytes;
        const int64_t there = 2 * (int64_t)bytes, here = (int64_t)bytes;
        if (what == STRIDED) must(isthmus_put_strided(space, peer, table, &there, mine, &here, bytes, &extent, 1));
        else must(isthmus_get_strided(space, mine, &here, peer, table, &there, bytes, &extent, 1));
        break;
      }
      case INDEXED: {
        void* const all = mine;
        must(isthmus_put_indexed(space, peer, offsets, PIECES / bytes, bytes, &all, 1, PIECES));
        break;
      }
      case VECTOR: {
        const isthmus_block all = {mine, PIECES};
        must(isthmus_put_vector(space, peer, pieces, PIECES / bytes, &all, 1));
        break;
      }
      case LOCK: {
        const isthmus_mutex mutex = {0, landing};
        must(isthmus_lock(space, mutex));
        must(isthmus_unlock(space, mutex));
        break;
      }
      default: {
        const uint64_t wanted = answered + 1;
        if (what == LONG) must(isthmus_request_to(space, peer, ASK, &one, 1, mine, bytes, table));
        else must(isthmus_request(space, peer, ASK, &one, 1, mine, what == SHORT ? 0 : bytes));
        while (answered < wanted) must(isthmus_poll(space));
      }
    }
    __asm__ volatile("" ::: "memory");
  }
  const double end = now();
  must(isthmus_barrier(space, NULL));
  return (end - begin) / times;
}

static void measure(const char* name, enum what what, size_t bytes, int turns) {
  if (!is_timed(name)) return;
  double best = 1e30;
  const int times = bytes >= 1 << 20                            ? 50
                    : bytes > 4096                              ? 500
                    : what >= STRIDED && what <= VECTOR         ? 300
                    : what == PUT || what == GET || what == ADD ? 20000
                                                                : 2000;
  for (int turn = 0; turn < turns; ++turn) {
    const double one = run(what, bytes, times);
    if (one < best) best = one;
  }
  if (rank == 0) printf("%s %zu %.4f\n", name, bytes, best);
}

enum collective { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, REDUCE, PREFIX, COLLECTIVES };
static const char* const collectives[] = {"broadcast", "scatter", "gather",       "gather-all",
                                          "exchange",  "reduce",  "prefix-reduce"};
static uint64_t blocks; /* of what is read */

static void carry_out(enum collective which, const isthmus_manner* how, size_t bytes) {
  const isthmus_reduction sum = {.size = sizeof sum,
                                 .element = ISTHMUS_F64,
                                 .operation = ISTHMUS_SUM,
                                 .count = bytes / 8 * ranks,
                                 .block = bytes / 8};
  switch (which) {
    case BROADCAST: must(isthmus_broadcast(space, how, table, 0, blocks, bytes)); break;
    case SCATTER: must(isthmus_scatter(space, how, table, 0, blocks, bytes)); break;
    case GATHER: must(isthmus_gather(space, how, 0, table, blocks, bytes)); break;
    case GATHER_ALL: must(isthmus_gather_all(space, how, table, blocks, bytes)); break;
    case EXCHANGE: must(isthmus_exchange_all(space, how, table, blocks, bytes)); break;
    case REDUCE: must(isthmus_reduce(space, how, 0, table, blocks, &sum)); break;
    default: must(isthmus_prefix_reduce(space, how, table, blocks, &sum));
  }
}

/* So many in a row, until all ranks have ended the last one: strict ones, and looser and looser ones. */
static void measure_modes(enum collective which, size_t bytes, int turns) {
  static const char* const words[] = {"all", "my", "none"};
  static const isthmus_sync modes[] = {ISTHMUS_SYNC_ALL, ISTHMUS_SYNC_MY, ISTHMUS_SYNC_NONE};
  const int times = bytes > 4096 ? 200 : 2000;
  double best[3] = {1e30, 1e30, 1e30};
  char name[64];
  for (int turn = 0; turn <= turns; ++turn)
    for (int mode = 0; mode < 3; ++mode) {
      snprintf(name, sizeof name, "%s-%s", collectives[which], words[mode]);
      if (!is_timed(name)) continue;
      isthmus_manner how = {.size = sizeof how, .enter = modes[mode], .leave = modes[mode]};
      must(isthmus_barrier(space, NULL));
      const double begin = now();
      for (int i = 0; i < times; ++i) carry_out(which, &how, bytes);
      must(isthmus_barrier(space, NULL));
      const double one = (now() - begin) / times;
      if (turn > 0 && one < best[mode]) best[mode] = one;
    }
  for (int mode = 0; mode < 3 && rank == 0; ++mode) {
    snprintf(name, sizeof name, "%s-%s", collectives[which], words[mode]);
    if (is_timed(name)) printf("%s %zu %.4f\n", name, bytes, best[mode]);
  }
}

static isthmus_team* join(int argc, char** argv) {
  isthmus_team* team;
#ifdef OVER_MPI
  const isthmus_job as_between_nodes = {.size = sizeof as_between_nodes, .transport = "mpi"};
  MPI_Init(&argc, &argv);
  must(isthmus_join_mpi_with(MPI_COMM_WORLD, &as_between_nodes, &team));
#else
  if (argc != 5) exit(2);
  isthmus_job job = {.size = sizeof job, .name = argv[1]};
  job.rank = (uint32_t)atoi(argv[2]);
  job.ranks = (uint32_t)atoi(argv[3]);
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET((int)job.rank, &own);
  sched_setaffinity(0, sizeof own, &own);
  must(isthmus_join(&job, &team));
#endif
  return team;
}

int main(int argc, char** argv) {
  isthmus_team* const team = join(argc, argv);
  const int turns = atoi(argv[argc - 1]);
  rank = isthmus_rank(team);
  ranks = isthmus_ranks(team);
  peer = (rank + 1) % ranks;
  must(isthmus_space_make(team, NULL, &space));
  must(isthmus_allocate_all(space, sizeof mine, &table));
  must(isthmus_allocate_all(space, 64, &landing));
  must(isthmus_allocate_all(space, sizeof mine, &blocks));
  must(isthmus_set(space, rank, blocks, 0, sizeof mine));
  must(isthmus_set(space, rank, table, 0, sizeof mine));
  must(isthmus_set(space, rank, landing, 0, 64));
  must(isthmus_handle(space, ASK, on_ask, NULL));
  must(isthmus_handle(space, ANSWER, on_answer, NULL));
  memset(mine, 1, sizeof mine);
  static const size_t sizes[] = {8, 64, 512, 1024, 4096, 65536, 1 << 20, 4 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) measure("put", PUT, sizes[i], turns);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) measure("get", GET, sizes[i], turns);
  for (size_t i = 0; i < 6; ++i) measure("begin-put", BEGIN, sizes[i], turns);
  measure("fetch-and-add", ADD, 8, turns);
  static const size_t of_pieces[] = {8, 64, 512, 4096, 8192, 16384, 32768};
  for (size_t i = 0; i < sizeof of_pieces / sizeof *of_pieces; ++i) measure("strided", STRIDED, of_pieces[i], turns);
  for (size_t i = 0; i < sizeof of_pieces / sizeof *of_pieces; ++i) measure("indexed", INDEXED, of_pieces[i], turns);
  for (size_t i = 0; i < sizeof of_pieces / sizeof *of_pieces; ++i) measure("vector", VECTOR, of_pieces[i], turns);
  for (size_t i = 0; i < sizeof of_pieces / sizeof *of_pieces; ++i)
    measure("get-strided", GET_STRIDED, of_pieces[i], turns);
  measure("lock", LOCK, 8, turns);
  measure("short", SHORT, 0, turns);
  for (size_t i = 0; i < 5; ++i) measure("medium", MEDIUM, sizes[i], turns);
  for (size_t i = 0; i < 7; ++i) measure("long", LONG, sizes[i], turns);
  measure("barrier", BARRIER, 0, turns);
  static const size_t of_blocks[] = {8, 512, 4096, 65536};
  for (int which = 0; which < COLLECTIVES; ++which)
    for (size_t i = 0; i < sizeof of_blocks / sizeof *of_blocks; ++i)
      measure_modes((enum collective)which, of_blocks[i], turns);
  must(isthmus_space_leave(space));
  isthmus_leave(team);
#ifdef OVER_MPI
  MPI_Finalize();
#endif
  return 0;
}
