/* Collectives drawn at random by two threads at once, each on communicators of its own that overlap: blocking, under
 * way and persistent ones, ended in another order on every rank; types with gaps, an operator whose order counts,
 * blocks that are empty on some ranks only, in any order and apart, in place, between two groups. Every rank knows what
 * all others give, so that it knows every byte of its result, and those between the blocks.
 *
 *     tangled SEED CALLS [THREADS] */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, COMMS = 6, UNDER_WAY = 10, THREADS = 2, BASE = 1000003 };
typedef struct {
  MPI_Datatype mpi;
  int extent, used, at[4];
} Type; /* in numbers of 8 bytes */
typedef struct {
  MPI_Comm comm; /* MPI_COMM_NULL: without this rank */
  int n, me, world[MOST];
} Group;
typedef enum {
  BARRIER,
  BCAST,
  REDUCE,
  ALLREDUCE,
  SCAN,
  EXSCAN,
  GATHERV,
  SCATTERV,
  ALLGATHERV,
  ALLTOALLV,
  ALLTOALLW,
  REDUCE_SCATTER,
  KINDS
} Kind;
typedef struct {
  MPI_Request request;
  int64_t *in, *out, *expected;
  size_t length;
  int counts[MOST], places[MOST], send_counts[MOST], send_places[MOST];
  MPI_Datatype types[MOST];
  int persistent, left;
  uint64_t what;
} Call;

static int rank, ranks, wrong;
static Type types[4];
static MPI_Op product;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static int drawn(uint64_t* state, int below) { return (int)(mixed(++*state) % (unsigned)below); }

/* Number i of what a rank gives in a call. */
static int64_t given(uint64_t call, int from, int64_t i) {
  return (int64_t)(mixed(call * 31 + (uint64_t)from * 1000 + (uint64_t)i * 1000000) % BASE);
}

/* Matrices of 2 x 2: right = left * right. */
static void multiply(const int64_t* a, int64_t* b) {
  const int64_t c[4] = {(a[0] * b[0] + a[1] * b[2]) % BASE, (a[0] * b[1] + a[1] * b[3]) % BASE,
                        (a[2] * b[0] + a[3] * b[2]) % BASE, (a[2] * b[1] + a[3] * b[3]) % BASE};
  memcpy(b, c, sizeof c);
}
static void multiply_all(void* left, void* right, int* n, MPI_Datatype* type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  for (int i = 0; i < *n; ++i) multiply((int64_t*)((char*)left + i * extent), (int64_t*)((char*)right + i * extent));
}

/* Element i of the ranks first to last of a group, combined. */
static void combined(int64_t* to, uint64_t call, const Group* g, int first, int last, int i, int matrices) {
  const int width = matrices ? 4 : 1;
  for (int k = 0; k < width; ++k) to[k] = given(call, g->world[last], i * width + k);
  for (int r = last - 1; r >= first; --r) {
    int64_t left[4];
    for (int k = 0; k < width; ++k) left[k] = given(call, g->world[r], i * width + k);
    if (matrices) multiply(left, to);
    else to[0] += left[0];
  }
}

static void put(int64_t* to, const Type* t, int64_t at, uint64_t call, int from, int64_t i) {
  for (int k = 0; k < t->used; ++k) to[at * t->extent + t->at[k]] = given(call, from, i * t->used + k);
}
static void put_sum(int64_t* to, const Type* t, int at, uint64_t call, const Group* g, int first, int last, int i) {
  int64_t sum[4];
  combined(sum, call, g, first, last, i, t->used == 4);
  for (int k = 0; k < t->used; ++k) to[at * t->extent + t->at[k]] = sum[k];
}

static int64_t* numbers(size_t n, int64_t all) {
  int64_t* const found = malloc((n + 1) * sizeof *found);
  for (size_t i = 0; i <= n; ++i) found[i] = all;
  return found;
}

/* Empty for some. */
static int size_drawn(uint64_t* s) {
  const int most[] = {1, 4, 40, 3000};
  return drawn(s, 3) == 0 ? 0 : drawn(s, most[drawn(s, 4)]) + (drawn(s, 2));
}

static void end_of(Call* c) {
  if (memcmp(c->out, c->expected, c->length * sizeof *c->out) != 0) {
    pthread_mutex_lock(&lock);
    if (++wrong < 5)
      printf("rank %d: call %llu, kind %d, is wrong\n", rank, (unsigned long long)c->what, (int)(c->what % 100));
    pthread_mutex_unlock(&lock);
  }
  if (c->persistent) MPI_Request_free(&c->request);
  free(c->in), free(c->out), free(c->expected), free(c);
}

#if MPI_VERSION >= 4
#define MODES 3
#define ISSUE(NAME, ...)                                        \
  (mode == 0   ? MPI_##NAME(__VA_ARGS__, g->comm)               \
   : mode == 1 ? MPI_I##NAME(__VA_ARGS__, g->comm, &c->request) \
               : MPI_##NAME##_init(__VA_ARGS__, g->comm, MPI_INFO_NULL, &c->request))
#else
#define MODES 2
#define ISSUE(NAME, ...) (mode == 0 ? MPI_##NAME(__VA_ARGS__, g->comm) : MPI_I##NAME(__VA_ARGS__, g->comm, &c->request))
#endif
#define MPI_IBcast MPI_Ibcast
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IReduce_scatter MPI_Ireduce_scatter

/* Begins a call; everything is drawn from `s`, which is the same on all ranks. */
static Call* begin(const Group* g, uint64_t* s, uint64_t number) {
  Call* const c = calloc(1, sizeof *c);
  const Kind kind = (Kind)drawn(s, KINDS);
  const int mode = drawn(s, MODES), root = drawn(s, g->n), in_place = drawn(s, 3) == 0;
  const int reduces = (kind >= REDUCE && kind <= EXSCAN) || kind == REDUCE_SCATTER;
  const Type* const t = &types[reduces ? 3 * drawn(s, 2) : drawn(s, 4)];
  const MPI_Op op = t->used == 4 ? product : MPI_SUM;
  const int n = g->n, me = g->me, self = g->world[me], count = size_drawn(s);
  const uint64_t call = c->what = number * 100 + kind;
  int all[MOST][MOST], total = 0, room = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) all[i][j] = size_drawn(s);
  /* Blocks lie from the last one to the first, with a gap behind each. */
  for (int i = n - 1; i >= 0; --i) {
    c->counts[i] = kind == ALLTOALLV || kind == ALLTOALLW ? all[i][me] : all[0][i];
    c->places[i] = room;
    room += c->counts[i] + 1;
    total += c->counts[i];
    c->types[i] = t->mpi;
  }
  for (int i = 0, at = 0; i < n; ++i) {
    c->send_counts[i] = all[me][i];
    c->send_places[i] = at;
    at += all[me][i] + 2;
    if (i == n - 1 && room < at) room = at;
  }
  if (room < count) room = count;
  if (room < total) room = total;
  const int mine = c->counts[me];
  c->length = (size_t)(room * t->extent);
  c->in = numbers(c->length, -3);
  c->out = numbers(c->length, -7);
  c->expected = numbers(c->length, -7);
  int64_t *const in = c->in, *const out = c->out, *const e = c->expected;
  int status = MPI_SUCCESS;
  switch (kind) {
    case BCAST:
      for (int i = 0; i < count; ++i) {
        put(e, t, i, call, g->world[root], i);
        if (me == root) put(out, t, i, call, self, i);
      }
      status = ISSUE(Bcast, out, count, t->mpi, root);
      break;
    case REDUCE:
    case ALLREDUCE:
    case SCAN:
    case EXSCAN: {
      const int gets = kind != REDUCE || me == root, inside = in_place && gets;
      for (int i = 0; i < count; ++i) {
        put(inside ? out : in, t, i, call, self, i);
        if (inside) put(e, t, i, call, self, i);
        if (!gets || (kind == EXSCAN && me == 0)) continue;
        put_sum(e, t, i, call, g, 0, kind == SCAN ? me : kind == EXSCAN ? me - 1 : n - 1, i);
      }
      const void* const from = inside ? MPI_IN_PLACE : in;
      if (kind == REDUCE) status = ISSUE(Reduce, from, out, count, t->mpi, op, root);
      if (kind == ALLREDUCE) status = ISSUE(Allreduce, from, out, count, t->mpi, op);
      if (kind == SCAN) status = ISSUE(Scan, from, out, count, t->mpi, op);
      if (kind == EXSCAN) status = ISSUE(Exscan, from, out, count, t->mpi, op);
      break;
    }
    case GATHERV:
    case ALLGATHERV: {
      const int gets = kind == ALLGATHERV || me == root, inside = in_place && gets;
      for (int i = 0; i < mine; ++i) put(inside ? out : in, t, inside ? c->places[me] + i : i, call, self, i);
      for (int r = 0; gets && r < n; ++r)
        for (int i = 0; i < c->counts[r]; ++i) put(e, t, c->places[r] + i, call, g->world[r], i);
      const void* const from = inside ? MPI_IN_PLACE : in;
      if (kind == GATHERV) status = ISSUE(Gatherv, from, mine, t->mpi, out, c->counts, c->places, t->mpi, root);
      else status = ISSUE(Allgatherv, from, mine, t->mpi, out, c->counts, c->places, t->mpi);
      break;
    }
    case SCATTERV:
      for (int r = 0; me == root && r < n; ++r)
        for (int i = 0; i < c->counts[r]; ++i) put(in, t, c->places[r] + i, call, g->world[root], r * 10000 + i);
      for (int i = 0; i < mine && !(in_place && me == root); ++i) put(e, t, i, call, g->world[root], me * 10000 + i);
      status = ISSUE(Scatterv, in, c->counts, c->places, t->mpi, in_place && me == root ? MPI_IN_PLACE : out, mine,
                     t->mpi, root);
      break;
    case ALLTOALLV:
    case ALLTOALLW:
      for (int r = 0; r < n; ++r) {
        for (int i = 0; i < c->send_counts[r]; ++i)
          put(in, t, c->send_places[r] + i, call, self, g->world[r] * 10000 + i);
        for (int i = 0; i < c->counts[r]; ++i) put(e, t, c->places[r] + i, call, g->world[r], self * 10000 + i);
      }
      if (kind == ALLTOALLV) {
        status = ISSUE(Alltoallv, in, c->send_counts, c->send_places, t->mpi, out, c->counts, c->places, t->mpi);
        break;
      }
      for (int r = 0; r < n; ++r) {
        c->places[r] *= 8 * t->extent;
        c->send_places[r] *= 8 * t->extent;
      }
      status = ISSUE(Alltoallw, in, c->send_counts, c->send_places, c->types, out, c->counts, c->places, c->types);
      break;
    case REDUCE_SCATTER: {
      int before = 0;
      for (int r = 0; r < me; ++r) before += c->counts[r];
      for (int i = 0; i < total; ++i) put(in, t, i, call, self, i);
      for (int i = 0; i < mine; ++i) put_sum(e, t, i, call, g, 0, n - 1, before + i);
      status = ISSUE(Reduce_scatter, in, out, c->counts, t->mpi, op);
      break;
    }
    default:
      if (mode == 0) status = MPI_Barrier(g->comm);
      else status = MPI_Ibarrier(g->comm, &c->request);
  }
  if (status != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  if (mode == 0) return end_of(c), NULL;
  c->persistent = mode == 2 && kind != BARRIER;
  if (c->persistent) MPI_Start(&c->request);
  return c;
}

static Group groups[THREADS][COMMS];
static MPI_Comm between[THREADS];
static uint64_t seed;
static int calls;

static void* draw(void* data) {
  const int thread = (int)(intptr_t)data;
  uint64_t common = mixed(seed * 2 + (uint64_t)thread), own = mixed(common + (uint64_t)rank);
  Call* under_way[UNDER_WAY] = {0};
  for (int k = 0; k < calls; ++k) {
    const Group* const g = &groups[thread][drawn(&common, COMMS)];
    uint64_t s = mixed(common + (uint64_t)k);
    if (drawn(&common, 20) == 0 && between[thread] != MPI_COMM_NULL) {
      int number = rank, sum = -1, expected = 0;
      MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, between[thread]);
      for (int r = 0; r < ranks; ++r) expected += r % 2 != rank % 2 ? r : 0;
      wrong += sum != expected;
    }
    if (g->comm == MPI_COMM_NULL) continue;
    Call* const c = begin(g, &s, (uint64_t)(2 * k + thread) + 1);
    if (c == NULL) continue;
    int at = 0;
    while (at < UNDER_WAY && under_way[at]) ++at;
    if (at == UNDER_WAY) {
      at = drawn(&own, UNDER_WAY);
      MPI_Wait(&under_way[at]->request, MPI_STATUS_IGNORE);
      end_of(under_way[at]);
    }
    under_way[at] = c;
    const int other = drawn(&own, UNDER_WAY);
    int done = 0;
    if (under_way[other]) MPI_Test(&under_way[other]->request, &done, MPI_STATUS_IGNORE);
    if (done) {
      end_of(under_way[other]);
      under_way[other] = NULL;
    }
  }
  for (int i = 0; i < UNDER_WAY; ++i) {
    Call* const c = under_way[(i + rank) % UNDER_WAY];
    if (c == NULL) continue;
    MPI_Wait(&c->request, MPI_STATUS_IGNORE);
    end_of(c);
  }
  return NULL;
}

static void gather_group(Group* g, MPI_Comm comm) {
  g->comm = comm;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_size(comm, &g->n);
  MPI_Comm_rank(comm, &g->me);
  MPI_Group here, world;
  int numbers_of[MOST];
  for (int i = 0; i < g->n; ++i) numbers_of[i] = i;
  MPI_Comm_group(comm, &here);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(here, g->n, numbers_of, world, g->world);
  MPI_Group_free(&here);
  MPI_Group_free(&world);
}

int main(int argc, char** argv) {
  int level, all = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  seed = (uint64_t)atoi(argv[1]);
  calls = atoi(argv[2]);
  const int threads = argc > 3 && level == MPI_THREAD_MULTIPLE ? atoi(argv[3]) : 1;
  if (ranks > MOST || threads > THREADS) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Datatype spread, block;
  MPI_Type_create_resized(MPI_INT64_T, 0, 24, &types[1].mpi);
  MPI_Type_vector(2, 1, 2, MPI_INT64_T, &spread);
  MPI_Type_create_resized(spread, 0, 32, &types[2].mpi);
  MPI_Type_contiguous(4, MPI_INT64_T, &block);
  MPI_Type_create_resized(block, 0, 40, &types[3].mpi);
  for (int i = 1; i < 4; ++i) MPI_Type_commit(&types[i].mpi);
  const Type layouts[] = {{MPI_INT64_T, 1, 1, {0}},
                          {types[1].mpi, 3, 1, {0}},
                          {types[2].mpi, 4, 2, {0, 2}},
                          {types[3].mpi, 5, 4, {0, 1, 2, 3}}};
  memcpy(types, layouts, sizeof types);
  MPI_Op_create(multiply_all, 0, &product);
  for (int t = 0; t < THREADS; ++t) {
    MPI_Comm made[COMMS], half;
    MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &made[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks - 1 || ranks == 1 ? 1 : MPI_UNDEFINED, rank, &made[3]);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0 || ranks == 1 ? 1 : MPI_UNDEFINED, 7 * rank % 5, &made[4]);
    MPI_Comm_split(made[2], 0, -rank, &made[5]);
    for (int i = 0; i < COMMS; ++i) gather_group(&groups[t][i], made[i]);
    between[t] = MPI_COMM_NULL;
    if (ranks == 1) continue;
    MPI_Comm_dup(made[2], &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, t, &between[t]);
  }
  pthread_t other;
  if (threads > 1) pthread_create(&other, NULL, draw, (void*)1);
  draw((void*)0);
  if (threads > 1) pthread_join(other, NULL);
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d calls, %d threads, %d wrong\n", calls, threads, all);
  MPI_Finalize();
  return wrong > 0;
}
