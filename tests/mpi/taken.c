/* Every collective against what follows from its definition, without communication: other types on both sides, gaps
 * between elements, blocks of other sizes in another order, in place, communicators of all kinds; blocking, nonblocking
 * and persistent; compiled with -DLARGE by the functions with large counts (MPI 4). Prints how many calls were checked
 * and what was wrong. taken ROUNDS [SEED [MODES [threads]]] */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYOUTS = 5, GAP = 0x5A };
enum { BLOCKING, NONBLOCKING, PERSISTENT, MODES };
#ifdef LARGE
typedef MPI_Count count_t;
typedef MPI_Aint displ_t;
#define NAME(X) MPI_##X##_c
#define NAME_INIT(X) MPI_##X##_init_c
#define MPI_Barrier_c MPI_Barrier
#define MPI_Ibarrier_c MPI_Ibarrier
#define MPI_Barrier_init_c MPI_Barrier_init
#else
typedef int count_t, displ_t;
#define NAME(X) MPI_##X
#define NAME_INIT(X) MPI_##X##_init
#endif

/* An element: `values` numbers at these places of `extent` numbers, in the order of the type. */
static struct layout {
  MPI_Datatype type;
  int values, extent, place[3];
} layouts[LAYOUTS] = {{.values = 1, .extent = 1, .place = {0}},
                      {.values = 3, .extent = 3, .place = {0, 1, 2}},
                      {.values = 2, .extent = 5, .place = {1, 3}},
                      {.values = 2, .extent = 2, .place = {1, 0}},
                      {.values = 1, .extent = 1, .place = {0}}};

static MPI_Comm comm;
static int rank, ranks, mode, world_rank;
static long checks, wrong;
static const char* what = "";

static uint64_t state;
static unsigned any(unsigned n) { /* the same on all ranks */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % n;
}

static void make_layouts(void) {
  MPI_Datatype inner;
  layouts[0].type = MPI_INT64_T;
  MPI_Type_contiguous(3, MPI_INT64_T, &layouts[1].type);
  MPI_Type_vector(2, 1, 2, MPI_INT64_T, &inner);
  MPI_Datatype shifted;
  MPI_Aint at[1] = {8};
  int one[1] = {1};
  MPI_Type_create_hindexed(1, one, at, inner, &shifted);
  MPI_Type_create_resized(shifted, 0, 40, &layouts[2].type);
  MPI_Type_free(&inner);
  MPI_Type_free(&shifted);
  int lengths[2] = {1, 1}, places[2] = {1, 0};
  MPI_Type_indexed(2, lengths, places, MPI_INT64_T, &inner);
  MPI_Type_create_resized(inner, 0, 16, &layouts[3].type);
  MPI_Type_free(&inner);
  MPI_Type_dup(MPI_INT64_T, &layouts[4].type);
  for (int i = 1; i < LAYOUTS; ++i) MPI_Type_commit(&layouts[i].type);
}

/* A buffer of n values (a multiple of 6) by a layout, behind a gap. */
struct buffer {
  const struct layout* layout;
  int values;
  int64_t *memory, *at;
};
static int count_of(const struct buffer* b, int values) { return values / b->layout->values; }
static int64_t* place(const struct buffer* b, int i) {
  const struct layout* l = b->layout;
  return b->at + (i / l->values) * l->extent + l->place[i % l->values];
}
static struct buffer buffer_of(int values, const struct layout* layout) {
  struct buffer b = {.layout = layout, .values = values};
  const size_t n = (size_t)(values / layout->values) * (size_t)layout->extent + 16;
  b.memory = malloc(n * sizeof *b.memory);
  memset(b.memory, GAP, n * sizeof *b.memory);
  b.at = b.memory + 8;
  return b;
}
static int64_t gap(void) {
  int64_t value;
  memset(&value, GAP, sizeof value);
  return value;
}
/* All else is as it was; frees it. */
static void check_gaps(struct buffer* b) {
  for (int i = 0; i < b->values; ++i) *place(b, i) = gap();
  const long n = (long)(b->values / b->layout->values) * b->layout->extent + 16;
  for (long i = 0; i < n; ++i) {
    if (b->memory[i] == gap()) continue;
    ++wrong, printf("rank %d: %s, mode %d: gap %ld was written\n", world_rank, what, mode, i);
    break;
  }
  free(b->memory);
}
static void check(struct buffer* b, int i, int64_t expected) {
  if (*place(b, i) == expected) return;
  if (++wrong < 20)
    printf("rank %d of %d: %s, mode %d, layout %d: value %d of %d is %lld, not %lld\n", rank, ranks, what, mode,
           (int)(b->layout - layouts), i, b->values, (long long)*place(b, i), (long long)expected);
}

static int64_t value(int of, int i) { return 1000003 * (int64_t)(of + 1) + 7 * (int64_t)i + (i ^ of) % 5; }
static void fill(struct buffer* b, int first, int n, int of, int from) {
  for (int i = 0; i < n; ++i) *place(b, first + i) = value(of, from + i);
}

static const struct layout* any_layout(void) {
  /* Another one on every rank. */
  const unsigned common = any(1000);
  return &layouts[(common + (unsigned)rank * 7) % LAYOUTS];
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define FINISHES 11
#else
#define FINISHES 8
#endif
static void finish(MPI_Request* request) {
  int flag = 0, index, n, indices[2];
  MPI_Request two[2] = {MPI_REQUEST_NULL, *request};
  switch (any(FINISHES)) {
    case 0: MPI_Wait(request, MPI_STATUS_IGNORE); return;
    case 1:
      while (!flag) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
      return;
    case 2: MPI_Waitall(2, two, MPI_STATUSES_IGNORE); break;
    case 3: MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE); break;
    case 4: MPI_Waitsome(2, two, &n, indices, MPI_STATUSES_IGNORE); break;
    case 5:
      while (!flag) MPI_Testall(2, two, &flag, MPI_STATUSES_IGNORE);
      break;
    case 6:
      while (!flag) MPI_Testany(2, two, &index, &flag, MPI_STATUS_IGNORE);
      break;
#if FINISHES > 8
    case 8:
      while (!flag) MPI_Request_get_status_all(2, two, &flag, MPI_STATUSES_IGNORE);
      MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
      break;
    case 9:
      while (!flag) MPI_Request_get_status_any(2, two, &index, &flag, MPI_STATUS_IGNORE);
      if (index != 1) ++wrong, printf("rank %d: %s: request %d of 2 has ended\n", world_rank, what, index);
      MPI_Wait(&two[1], MPI_STATUS_IGNORE);
      break;
    case 10:
      for (n = 0; n == 0;) MPI_Request_get_status_some(2, two, &n, indices, MPI_STATUSES_IGNORE);
      if (n != 1 || indices[0] != 1) ++wrong, printf("rank %d: %s: %d requests have ended\n", world_rank, what, n);
      MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
      break;
#endif
    default:
      while (!flag) MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
      MPI_Wait(request, MPI_STATUS_IGNORE);
      return;
  }
  *request = two[1];
}

static void ended(MPI_Request* request) {
  if (*request == MPI_REQUEST_NULL) return;
  ++wrong, printf("rank %d: %s: the request is still there\n", world_rank, what);
}

#if MPI_VERSION >= 4
#define PERSISTENT_CALL(X, ...)                       \
  NAME_INIT(X)(__VA_ARGS__, MPI_INFO_NULL, &request); \
  MPI_Start(&request);                                \
  finish(&request);                                   \
  MPI_Request_free(&request);
#else
#define PERSISTENT_CALL(X, ...) MPI_##X(__VA_ARGS__);
#endif
#define CALL(X, IX, ...)                    \
  do {                                      \
    MPI_Request request = MPI_REQUEST_NULL; \
    what = #X;                              \
    ++checks;                               \
    if (mode == BLOCKING) {                 \
      NAME(X)(__VA_ARGS__);                 \
    } else if (mode == NONBLOCKING) {       \
      NAME(IX)(__VA_ARGS__, &request);      \
      finish(&request);                     \
    } else {                                \
      PERSISTENT_CALL(X, __VA_ARGS__)       \
    }                                       \
    ended(&request);                        \
  } while (0)

/* Sums of different blocks, in another order of places and with room between. */
struct blocks {
  int values[64], all;
  count_t counts[64];
  displ_t displs[64];
};
static struct blocks blocks_of(const int* values, int n, const struct layout* l, int spread) {
  struct blocks b = {.all = 0};
  for (int k = n; k-- > 0;) { /* the last one first */
    b.values[k] = values[k];
    b.counts[k] = values[k] / l->values;
    b.displs[k] = b.all / l->values;
    b.all += values[k] + 6 * spread;
  }
  return b;
}

static void rooted(int n) {
  const int root = (int)any((unsigned)ranks), in_place = (int)any(3) == 0, mine = rank == root;
  struct buffer one = buffer_of(n, any_layout()), all = buffer_of(n * ranks, any_layout());
  const int count = count_of(&one, n), each = count_of(&all, n);
  if (mine) fill(&one, 0, n, root, 0);
  CALL(Bcast, Ibcast, one.at, count, one.layout->type, root, comm);
  for (int i = 0; i < n; ++i) check(&one, i, value(root, i));

  fill(&one, 0, n, rank, 0);
  if (mine && in_place) fill(&all, rank * n, n, rank, 0);
  CALL(Gather, Igather, mine && in_place ? MPI_IN_PLACE : one.at, mine && in_place ? -7 : count,
       mine && in_place ? MPI_DATATYPE_NULL : one.layout->type, mine ? all.at : NULL, mine ? each : -5,
       mine ? all.layout->type : MPI_DATATYPE_NULL, root, comm);
  for (int i = 0; mine && i < n * ranks; ++i) check(&all, i, value(i / n, i % n));

  if (mine) fill(&all, 0, n * ranks, 50, 0);
  if (!mine) fill(&one, 0, n, 99, 0);
  CALL(Scatter, Iscatter, mine ? all.at : NULL, mine ? each : -5, mine ? all.layout->type : MPI_DATATYPE_NULL,
       mine && in_place ? MPI_IN_PLACE : one.at, mine && in_place ? -7 : count,
       mine && in_place ? MPI_DATATYPE_NULL : one.layout->type, root, comm);
  if (!(mine && in_place))
    for (int i = 0; i < n; ++i) check(&one, i, value(50, rank * n + i));
  check_gaps(&one);
  check_gaps(&all);
}

static void rooted_different(int n) {
  const int root = (int)any((unsigned)ranks), mine = rank == root;
  int values[64];
  for (int r = 0; r < ranks; ++r) values[r] = (r + n) % 3 * n;
  const struct layout* l = any_layout();
  struct blocks b = blocks_of(values, ranks, l, 1);
  struct buffer all = buffer_of(b.all, l), one = buffer_of(values[rank], any_layout());
  fill(&one, 0, values[rank], rank, 0);
  CALL(Gatherv, Igatherv, one.at, count_of(&one, values[rank]), one.layout->type, all.at, b.counts, b.displs, l->type,
       root, comm);
  for (int r = 0; mine && r < ranks; ++r)
    for (int i = 0; i < values[r]; ++i) check(&all, b.displs[r] * l->values + i, value(r, i));
  for (int r = 0; r < ranks; ++r) fill(&all, b.displs[r] * l->values, values[r], 60 + r, 0);
  CALL(Scatterv, Iscatterv, all.at, b.counts, b.displs, l->type, one.at, count_of(&one, values[rank]), one.layout->type,
       root, comm);
  for (int i = 0; i < values[rank]; ++i) check(&one, i, value(60 + rank, i));
  check_gaps(&all);
  check_gaps(&one);
}

static void among_all(int n) {
  const int in_place = (int)any(3) == 0;
  struct buffer one = buffer_of(n, any_layout()), all = buffer_of(n * ranks, any_layout());
  fill(&one, 0, n, rank, 0);
  if (in_place) fill(&all, rank * n, n, rank, 0);
  CALL(Allgather, Iallgather, in_place ? MPI_IN_PLACE : one.at, count_of(&one, n), one.layout->type, all.at,
       count_of(&all, n), all.layout->type, comm);
  for (int i = 0; i < n * ranks; ++i) check(&all, i, value(i / n, i % n));
  struct buffer sent = buffer_of(n * ranks, any_layout());
  struct buffer* from = in_place ? &all : &sent;
  for (int r = 0; r < ranks; ++r) fill(from, r * n, n, rank, 10 * r);
  CALL(Alltoall, Ialltoall, in_place ? MPI_IN_PLACE : sent.at, count_of(&sent, n), sent.layout->type, all.at,
       count_of(&all, n), all.layout->type, comm);
  for (int i = 0; i < n * ranks; ++i) check(&all, i, value(i / n, 10 * rank + i % n));
  check_gaps(&one);
  check_gaps(&all);
  check_gaps(&sent);
  what = "Barrier";
  CALL(Barrier, Ibarrier, comm);
}

static void among_all_different(int n) {
  const int in_place = (int)any(3) == 0;
  int values[64], sent[64], got[64];
  const struct layout *l = any_layout(), *m = any_layout();
  for (int r = 0; r < ranks; ++r) {
    values[r] = (r + n) % 4 * n;
    /* From each to each another number, in place the same both ways. */
    sent[r] = (in_place ? rank + r : rank + 2 * r) % 3 * n;
    got[r] = (in_place ? rank + r : r + 2 * rank) % 3 * n;
  }
  struct blocks b = blocks_of(values, ranks, l, 1);
  struct buffer one = buffer_of(values[rank], m), all = buffer_of(b.all, l);
  fill(&one, 0, values[rank], rank, 0);
  if (in_place) fill(&all, b.displs[rank] * l->values, values[rank], rank, 0);
  CALL(Allgatherv, Iallgatherv, in_place ? MPI_IN_PLACE : one.at, count_of(&one, values[rank]), m->type, all.at,
       b.counts, b.displs, l->type, comm);
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < values[r]; ++i) check(&all, b.displs[r] * l->values + i, value(r, i));
  check_gaps(&one);
  check_gaps(&all);

  for (int w = 0; w < 2; ++w) {
    struct blocks s = blocks_of(sent, ranks, l, 0), g = blocks_of(got, ranks, m, 1);
    struct buffer from = buffer_of(s.all, l), to = buffer_of(g.all, m);
    for (int r = 0; r < ranks; ++r) {
      if (in_place) fill(&to, g.displs[r] * m->values, got[r], rank, 5 * r);
      else fill(&from, s.displs[r] * l->values, sent[r], rank, 5 * r);
    }
    if (w) {
      MPI_Datatype stypes[64], rtypes[64];
      displ_t sdispls[64], rdispls[64];
      for (int r = 0; r < ranks; ++r) {
        stypes[r] = l->type;
        rtypes[r] = m->type;
        sdispls[r] = s.displs[r] * l->extent * 8;
        rdispls[r] = g.displs[r] * m->extent * 8;
      }
      CALL(Alltoallw, Ialltoallw, in_place ? MPI_IN_PLACE : from.at, s.counts, sdispls, stypes, to.at, g.counts,
           rdispls, rtypes, comm);
    } else {
      CALL(Alltoallv, Ialltoallv, in_place ? MPI_IN_PLACE : from.at, s.counts, s.displs, l->type, to.at, g.counts,
           g.displs, m->type, comm);
    }
    for (int r = 0; r < ranks; ++r)
      for (int i = 0; i < got[r]; ++i) check(&to, g.displs[r] * m->values + i, value(r, 5 * rank + i));
    check_gaps(&from);
    check_gaps(&to);
  }
}

/* x of the left, y of the right, and the number of elements in between: associative, but not commutative. */
struct strip {
  int32_t first, last;
  int64_t length;
};
static void join(void* left, void* right, int* n, MPI_Datatype* type) {
  struct strip *a = left, *b = right;
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  if (extent != sizeof *a) ++wrong, printf("rank %d: another datatype than that of the call\n", world_rank);
  for (int i = 0; i < *n; ++i) {
    b[i].first = a[i].first;
    b[i].length += a[i].length;
  }
}
/* The same for pairs with gaps between them. */
static void add_with_gaps(void* left, void* right, int* n, MPI_Datatype* type) {
  int64_t *a = left, *b = right;
  if (*type != layouts[2].type) ++wrong, printf("rank %d: not the datatype of the call\n", world_rank);
  for (int i = 0; i < *n; ++i) {
    b[5 * i + 1] += a[5 * i + 1];
    b[5 * i + 3] = a[5 * i + 3] < b[5 * i + 3] ? a[5 * i + 3] : b[5 * i + 3];
  }
}

static int64_t sum_to(int last, int i) {
  int64_t sum = 0;
  for (int r = 0; r <= last; ++r) sum += value(r, i);
  return sum;
}

static void sums(int n) {
  const int root = (int)any((unsigned)ranks), in_place = (int)any(3) == 0, mine = rank == root;
  const struct layout* l = &layouts[0];
  struct buffer in = buffer_of(n * ranks, l), out = buffer_of(n * ranks, l);
  const MPI_Datatype type = MPI_INT64_T;
  fill(&in, 0, n * ranks, rank, 0);
  if (in_place) fill(&out, 0, n, rank, 0);
  void* const given = in_place ? MPI_IN_PLACE : (void*)in.at;
  CALL(Allreduce, Iallreduce, given, out.at, n, type, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) check(&out, i, sum_to(ranks - 1, i));
  if (in_place) fill(&out, 0, n, rank, 0);
  CALL(Allreduce, Iallreduce, given, out.at, n, type, MPI_MAX, comm);
  for (int i = 0; i < n; ++i) {
    int64_t most = value(0, i);
    for (int r = 1; r < ranks; ++r) most = value(r, i) > most ? value(r, i) : most;
    check(&out, i, most);
  }
  if (mine && in_place) fill(&out, 0, n, rank, 0);
  CALL(Reduce, Ireduce, mine && in_place ? MPI_IN_PLACE : (void*)in.at, mine ? out.at : NULL, n, type, MPI_SUM, root,
       comm);
  for (int i = 0; mine && i < n; ++i) check(&out, i, sum_to(ranks - 1, i));
  if (in_place) fill(&out, 0, n, rank, 0);
  CALL(Scan, Iscan, given, out.at, n, type, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) check(&out, i, sum_to(rank, i));
  if (in_place) fill(&out, 0, n, rank, 0);
  CALL(Exscan, Iexscan, given, out.at, n, type, MPI_SUM, comm);
  for (int i = 0; i < n && rank; ++i) check(&out, i, sum_to(rank - 1, i));

  if (in_place) fill(&out, 0, n * ranks, rank, 0);
  CALL(Reduce_scatter_block, Ireduce_scatter_block, given, out.at, n, type, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) check(&out, i, sum_to(ranks - 1, rank * n + i));
  count_t counts[64];
  int before = 0, all = 0;
  for (int r = 0; r < ranks; ++r) {
    counts[r] = r % 3 == 1 ? 0 : r % 2 ? n / 2 : n;
    if (r < rank) before += counts[r];
    all += counts[r];
  }
  if (in_place) fill(&out, 0, all, rank, 0);
  CALL(Reduce_scatter, Ireduce_scatter, given, out.at, counts, type, MPI_SUM, comm);
  for (int i = 0; i < counts[rank]; ++i) check(&out, i, sum_to(ranks - 1, before + i));
  check_gaps(&in);
  check_gaps(&out);
}

static void own_operators(int n) {
  static MPI_Op joins = MPI_OP_NULL, adds;
  static MPI_Datatype strip;
  if (joins == MPI_OP_NULL) {
    MPI_Op_create(join, 0, &joins);
    MPI_Op_create(add_with_gaps, 1, &adds);
    MPI_Type_contiguous(sizeof(struct strip), MPI_BYTE, &strip);
    MPI_Type_commit(&strip);
  }
  const int root = (int)any((unsigned)ranks), mine = rank == root;
  struct strip *in = calloc((size_t)n + 1, sizeof *in), *out = calloc((size_t)n + 1, sizeof *out);
  for (int scans = 0; scans < 3; ++scans) {
    for (int i = 0; i < n; ++i) in[i] = (struct strip){100 * rank + i, 200 * rank + i, rank + 1};
    if (scans == 0) CALL(Allreduce, Iallreduce, in, out, n, strip, joins, comm);
    if (scans == 1) CALL(Scan, Iscan, in, out, n, strip, joins, comm);
    if (scans == 2) CALL(Reduce, Ireduce, in, mine ? out : NULL, n, strip, joins, root, comm);
    const int last = scans == 1 ? rank : ranks - 1;
    for (int i = 0; i < n && (scans < 2 || mine); ++i)
      if (out[i].first != i || out[i].last != 200 * last + i || out[i].length != (last + 1) * (last + 2) / 2)
        ++wrong, printf("rank %d: %s of an operator in order: %d %d %ld\n", rank, what, out[i].first, out[i].last,
                        (long)out[i].length);
  }
  free(in);
  free(out);
  struct buffer a = buffer_of(2 * n, &layouts[2]), b = buffer_of(2 * n, &layouts[2]);
  fill(&a, 0, 2 * n, rank, 0);
  CALL(Allreduce, Iallreduce, a.at, b.at, n, layouts[2].type, adds, comm);
  for (int i = 0; i < 2 * n; i += 2) {
    int64_t least = value(0, i + 1);
    for (int r = 1; r < ranks; ++r) least = value(r, i + 1) < least ? value(r, i + 1) : least;
    check(&b, i, sum_to(ranks - 1, i));
    check(&b, i + 1, least);
  }
  check_gaps(&a);
  check_gaps(&b);
  struct {
    double value;
    int at;
  } mine_of[7], most[7];
  for (int i = 0; i < 7; ++i) mine_of[i].value = (rank + i) % ranks, mine_of[i].at = rank;
  CALL(Allreduce, Iallreduce, mine_of, most, 7, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  for (int i = 0; i < 7; ++i)
    if (most[i].value != ranks - 1 || (most[i].at + i) % ranks != ranks - 1)
      ++wrong, printf("rank %d: MPI_MAXLOC gives %g at %d\n", rank, most[i].value, most[i].at);
  short bits = (short)(1 << rank % 15), any_bits = 0, all_bits = 0;
  for (int r = 0; r < ranks; ++r) all_bits |= (short)(1 << r % 15);
  CALL(Allreduce, Iallreduce, &bits, &any_bits, 1, MPI_SHORT, MPI_BOR, comm);
  if (any_bits != all_bits) ++wrong, printf("rank %d: MPI_BOR gives %x\n", rank, (unsigned)any_bits);
}

/* Neighbours of grids with an open side, and of a graph of other ins than outs, some of them twice. */
static void neighbours(int n) {
  MPI_Comm world = comm;
  for (int graph = 0; graph < 2; ++graph) {
    int in[8], out[8], ins = 0, outs = 0;
    if (graph) {
      /* To itself, to the next one, and to the one behind it; from the others in another order. */
      for (int k = 0; k < 3 && k < ranks; ++k) out[outs++] = (rank + k) % ranks;
      for (int k = outs; k-- > 0;) in[ins++] = (rank + ranks - k) % ranks;
      MPI_Dist_graph_create_adjacent(world, ins, in, MPI_UNWEIGHTED, outs, out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                     &comm);
    } else {
      int dims[2] = {0, 0}, periods[2] = {0, ranks > 2};
      MPI_Dims_create(ranks, 2, dims);
      if (dims[1] <= 2) periods[1] = 0;
      MPI_Cart_create(world, 2, dims, periods, 0, &comm);
      for (int d = 0; d < 2; ++d) {
        MPI_Cart_shift(comm, d, 1, &out[2 * d], &out[2 * d + 1]);
        in[2 * d] = out[2 * d];
        in[2 * d + 1] = out[2 * d + 1];
      }
      ins = outs = 4;
    }
    struct buffer one = buffer_of(n, any_layout()), got = buffer_of(4 * n, any_layout());
    struct buffer sent = buffer_of(4 * n, any_layout());
    fill(&one, 0, n, rank, 0);
    CALL(Neighbor_allgather, Ineighbor_allgather, one.at, count_of(&one, n), one.layout->type, got.at,
         count_of(&got, n), got.layout->type, comm);
    for (int k = 0; k < ins; ++k)
      for (int i = 0; i < n; ++i) check(&got, k * n + i, in[k] == MPI_PROC_NULL ? gap() : value(in[k], i));
    struct buffer all = buffer_of(4 * n, any_layout());
    count_t counts[4];
    displ_t displs[4];
    for (int k = 0; k < 4; ++k) counts[k] = count_of(&all, n), displs[k] = (3 - k) * counts[k];
    CALL(Neighbor_allgatherv, Ineighbor_allgatherv, one.at, count_of(&one, n), one.layout->type, all.at, counts, displs,
         all.layout->type, comm);
    for (int k = 0; k < ins; ++k)
      for (int i = 0; i < n; ++i) check(&all, (3 - k) * n + i, in[k] == MPI_PROC_NULL ? gap() : value(in[k], i));
    check_gaps(&all);
    for (int k = 0; k < outs; ++k) fill(&sent, k * n, n, rank, 11 * k);
    for (int turn = 0; turn < 3; ++turn) {
      count_t scounts[8], rcounts[8];
      displ_t sd[8], rd[8];
      MPI_Aint sb[8], rb[8];
      MPI_Datatype st[8], rt[8];
      for (int k = 0; k < 4; ++k) {
        scounts[k] = count_of(&sent, n);
        rcounts[k] = count_of(&got, n);
        sd[k] = k * scounts[k];
        rd[k] = k * rcounts[k];
        sb[k] = 8l * sd[k] * sent.layout->extent;
        rb[k] = 8l * rd[k] * got.layout->extent;
        st[k] = sent.layout->type;
        rt[k] = got.layout->type;
      }
      if (turn == 0)
        CALL(Neighbor_alltoall, Ineighbor_alltoall, sent.at, scounts[0], st[0], got.at, rcounts[0], rt[0], comm);
      if (turn == 1)
        CALL(Neighbor_alltoallv, Ineighbor_alltoallv, sent.at, scounts, sd, st[0], got.at, rcounts, rd, rt[0], comm);
      if (turn == 2)
        CALL(Neighbor_alltoallw, Ineighbor_alltoallw, sent.at, scounts, sb, st, got.at, rcounts, rb, rt, comm);
      for (int k = 0; k < ins; ++k) {
        /* In a grid, from the neighbour on one side comes what it sent to the other side. */
        const int slot = graph ? ins - 1 - k : k ^ 1;
        for (int i = 0; i < n; ++i)
          check(&got, k * n + i, in[k] == MPI_PROC_NULL ? gap() : value(in[k], 11 * slot + i));
      }
    }
    check_gaps(&one);
    check_gaps(&got);
    check_gaps(&sent);
    MPI_Comm_free(&comm);
  }
  comm = world;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, argc > 4 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  int size;
  MPI_Comm comms[5];
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_layouts();
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comms[2]);
  comms[3] = MPI_COMM_SELF;
  comms[4] = MPI_COMM_WORLD;
  const char* modes = argc > 3 ? argv[3] : "012";
  for (int round = 0; round < rounds; ++round) {
    for (int c = 0; c < 5; ++c) {
      comm = comms[c];
      MPI_Comm_rank(comm, &rank);
      MPI_Comm_size(comm, &ranks);
      state = (uint64_t)(argc > 2 ? atoi(argv[2]) : 1) * 1000 + (uint64_t)(10 * round + c);
      for (const char* m = modes; *m; ++m) {
        mode = *m - '0';
        static const int sizes[] = {0, 6, 30, 600, 6000, 60000};
        const int n = sizes[any(c == 4 ? 6 : 5)];
        rooted(n);
        rooted_different(n);
        among_all(n);
        among_all_different(n);
        sums(n);
        own_operators(n / 6);
        neighbours(n);
      }
    }
  }
  long all[2] = {0, 0}, own[2] = {checks, wrong};
  MPI_Reduce(own, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (world_rank == 0) printf("%ld calls checked, %ld wrong\n", all[0], all[1]);
  MPI_Finalize();
  return wrong != 0;
}
