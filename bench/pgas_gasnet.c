/* What bench/pgas.c times, by GASNet-EX, which is built elsewhere: `name bytes microseconds` a line. `pgas_gasnet
 * TURNS`, of two ranks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <gasnetex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pgas_rows.h"

enum { SHORT_IN = 200, MEDIUM_IN, LONG_IN, ANSWER };
enum what { PUT, GET, ADD, STRIDED, GET_STRIDED, INDEXED, VECTOR, SHORT, MEDIUM, LONG, BARRIER };

/* Bytes in all of transfers of many pieces, as in pgas.c. */
enum { PIECES = 64 << 10 };
static gex_Memvec_t pieces[PIECES / 8];
static void* places[PIECES / 8];

static gex_TM_t team;
static gex_AD_t domain;
static gex_Rank_t rank, peer;
static char *its, mine[4 << 20] __attribute__((aligned(4096)));
static volatile unsigned long answered;

static void must(int status) {
  if (status == GASNET_OK) return;
  fprintf(stderr, "rank %u: %s\n", (unsigned)rank, gasnet_ErrorDesc(status));
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void on_short(gex_Token_t token) { gex_AM_ReplyShort0(token, ANSWER, 0); }
static void on_payload(gex_Token_t token, void* payload, size_t bytes) {
  (void)payload, (void)bytes;
  gex_AM_ReplyShort0(token, ANSWER, 0);
}
static void on_answer(gex_Token_t token) {
  (void)token;
  ++answered;
}

static void meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }

/* Rank 0's part; the other one is in the barrier meanwhile. */
static double run(enum what what, size_t bytes, int times) {
  const size_t extent = bytes == 0 ? 0 : PIECES / bytes;
  const ptrdiff_t there = 2 * (ptrdiff_t)bytes, here = (ptrdiff_t)bytes;
  void* const own = mine;
  const gex_Memvec_t whole = {mine, PIECES};
  if (what == INDEXED || what == VECTOR)
    for (size_t i = 0; i < extent; ++i) pieces[i] = (gex_Memvec_t){places[i] = its + 2 * i * bytes, bytes};
  meet();
  const double begin = now();
  for (int i = 0; i < times; ++i) {
    if (what == BARRIER) {
      gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
      must(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
      continue;
    }
    if (rank != 0) break;
    const unsigned long wanted = answered + 1;
    int64_t before;
    switch (what) {
      case PUT: gex_RMA_PutBlocking(team, peer, its, mine, bytes, 0); continue;
      case GET: gex_RMA_GetBlocking(team, mine, peer, its, bytes, 0); continue;
      case ADD: gex_Event_Wait(gex_AD_OpNB_I64(domain, &before, peer, its, GEX_OP_FADD, 1, 0, 0)); continue;
      case STRIDED: gex_VIS_StridedPutBlocking(team, peer, its, &there, mine, &here, bytes, &extent, 1, 0); continue;
      case GET_STRIDED:
        gex_VIS_StridedGetBlocking(team, mine, &here, peer, its, &there, bytes, &extent, 1, 0);
        continue;
      case INDEXED: gex_VIS_IndexedPutBlocking(team, peer, extent, places, bytes, 1, &own, PIECES, 0); continue;
      case VECTOR: gex_VIS_VectorPutBlocking(team, peer, extent, pieces, 1, &whole, 0); continue;
      case SHORT: gex_AM_RequestShort0(team, peer, SHORT_IN, 0); break;
      case MEDIUM: gex_AM_RequestMedium0(team, peer, MEDIUM_IN, mine, bytes, GEX_EVENT_NOW, 0); break;
      default: gex_AM_RequestLong0(team, peer, LONG_IN, mine, bytes, its, GEX_EVENT_NOW, 0);
    }
    while (answered < wanted) gasnet_AMPoll();
  }
  const double end = now();
  meet();
  return (end - begin) / times;
}

static void measure(const char* name, enum what what, size_t bytes, int turns) {
  if (!is_timed(name)) return;
  double best = 1e30;
  const int times = bytes >= 1 << 20                    ? 50
                    : bytes > 4096                      ? 500
                    : what >= STRIDED && what <= VECTOR ? 300
                    : what <= ADD                       ? 20000
                                                        : 2000;
  for (int turn = 0; turn < turns; ++turn) {
    const double one = run(what, bytes, times);
    if (one < best) best = one;
  }
  if (rank == 0) printf("%s %zu %.4f\n", name, bytes, best);
}

int main(int argc, char** argv) {
  gex_Client_t client;
  gex_EP_t end;
  gex_Segment_t segment;
  gex_AM_Entry_t handlers[] = {
      {SHORT_IN, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "short"},
      {MEDIUM_IN, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, "medium"},
      {LONG_IN, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 0, NULL, "long"},
      {ANSWER, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "answer"},
  };
  const int turns = argc > 1 ? atoi(argv[1]) : 5;
  must(gex_Client_Init(&client, &end, &team, "bench", &argc, &argv, GEX_FLAG_USES_GASNET1));
  must(gex_Segment_Attach(&segment, team, sizeof mine));
  must(gex_EP_RegisterHandlers(end, handlers, sizeof handlers / sizeof *handlers));
  gex_AD_Create(&domain, team, GEX_DT_I64, GEX_OP_FADD, 0);
  rank = gex_TM_QueryRank(team);
  peer = (rank + 1) % gex_TM_QuerySize(team);
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET((int)rank, &own);
  sched_setaffinity(0, sizeof own, &own);
  its = (char*)gex_Segment_QueryAddr(segment);
  memset(its, 0, sizeof mine);
  memset(mine, 1, sizeof mine);
  void* there;
  uintptr_t size;
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, peer, &there, NULL, &size, 0));
  its = (char*)there;
  static const size_t sizes[] = {8, 64, 512, 1024, 4096, 65536, 1 << 20, 4 << 20};
  for (size_t i = 0; i < 8; ++i) measure("put", PUT, sizes[i], turns);
  for (size_t i = 0; i < 8; ++i) measure("get", GET, sizes[i], turns);
  measure("fetch-and-add", ADD, 8, turns);
  static const size_t of_pieces[] = {8, 64, 512, 4096, 8192, 16384, 32768};
  for (size_t i = 0; i < 7; ++i) measure("strided", STRIDED, of_pieces[i], turns);
  for (size_t i = 0; i < 7; ++i) measure("indexed", INDEXED, of_pieces[i], turns);
  for (size_t i = 0; i < 7; ++i) measure("vector", VECTOR, of_pieces[i], turns);
  for (size_t i = 0; i < 7; ++i) measure("get-strided", GET_STRIDED, of_pieces[i], turns);
  measure("short", SHORT, 0, turns);
  const size_t medium = gex_AM_MaxRequestMedium(team, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 0);
  const size_t longest = gex_AM_MaxRequestLong(team, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, 0);
  for (size_t i = 0; i < 5 && sizes[i] <= medium; ++i) measure("medium", MEDIUM, sizes[i], turns);
  for (size_t i = 0; i < 7 && sizes[i] <= longest; ++i) measure("long", LONG, sizes[i], turns);
  measure("barrier", BARRIER, 0, turns);
  fflush(stdout);
  gasnet_exit(0);
  return 0;
}
