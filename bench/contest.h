/* Collectives of two ranks on two cores, and who carries them out: libisthmus, the MPI library of this process, LibNBC,
 * plain loops over shared memory with flags as the limit. Processes with other MPI libraries take turns with this one;
 * bench/runtime.py and bench/overlap_node.py start them all.
 *
 *     PROGRAM NAME BATCHES TURNS JOB JOBS WHO...
 *
 * NAME: what MPI is called here. TURNS: a file of zeros that all processes map. JOB: number of this one among JOBS.
 * WHO: `limit`, `isthmus` (by its own interface), `mpi` and `nbc`.
 *
 * Everything that is timed runs under the kernel's real-time scheduler, which gives what it fills to nobody else, and a
 * machine that changes its speed changes that of all. Processes that wait for their turn sleep. Buffers rotate, so that
 * one that is in the cache flatters nobody. */
#ifndef CONTEST_H
#define CONTEST_H

#include <isthmus/isthmus_mpi.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#ifdef LIBNBC
#include <nbc.h>
#endif
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { most_batches = 200, buffers = 8 };
static size_t largest = 1 << 20; /* bytes of a block, unless a program says otherwise before begin_contest() */

typedef struct {
  _Alignas(128) atomic_uint turn;
} Flag;

static int rank, real_time_allowed = 1, batches, job, jobs;
static const char* mpi_name;
static unsigned turn, next_turn;
static atomic_uint* turns; /* that have been taken by a rank, of all jobs */
static Flag* flags;
static double *published[2], *mine[buffers], *all[buffers];
static isthmus_team* team;
static void* volatile* addresses; /* shared by both ranks, as are these */
static volatile pid_t* processes;
static volatile long* agreed;
static MPI_Comm ring;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void real_time(int on) {
  const struct sched_param p = {.sched_priority = on ? 5 : 0};
  if (sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &p) != 0) real_time_allowed = 0;
}

static void meet(void) {
  ++turn;
  atomic_store_explicit(&flags[rank].turn, turn, memory_order_release);
  while ((int)(atomic_load_explicit(&flags[1 - rank].turn, memory_order_acquire) - turn) < 0) continue;
}

/* What rank 0 says. */
static long agree(long value) {
  if (rank == 0) *agreed = value;
  meet();
  value = *agreed;
  meet();
  return value;
}

/* Until all jobs before this one have had their turn; both ranks of each say when it is over. */
static void take_turn(void) {
  const unsigned first = 2 * (next_turn++ * (unsigned)jobs + (unsigned)job);
  unsigned seen;
  while ((int)((seen = atomic_load(turns)) - first) < 0) syscall(SYS_futex, turns, FUTEX_WAIT, seen, NULL, NULL, 0);
}
static void end_turn(void) {
  MPI_Barrier(MPI_COMM_WORLD); /* what the MPI library has still to send leaves */
  atomic_fetch_add(turns, 1);
  syscall(SYS_futex, turns, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

typedef enum { BARRIER, BCAST, ALLREDUCE, ALLGATHER, ALLTOALL, NEIGHBORS } What;
static const char* const names[] = {"barrier", "bcast", "allreduce", "allgather", "alltoall", "neighbors"};
static const isthmus_kind kinds[] = {ISTHMUS_BARRIER,   ISTHMUS_BCAST,    ISTHMUS_ALLREDUCE,
                                     ISTHMUS_ALLGATHER, ISTHMUS_ALLTOALL, ISTHMUS_NEIGHBOR_ALLTOALL};

typedef struct {
  What what;
  int doubles; /* of the vector, or of a block; neighbors: for each of the two, who are both the other rank */
  int64_t neighbors[6];
  isthmus_call call;
  isthmus_operation *made, *operation; /* persistent; under way */
  MPI_Request request, kept[buffers];
#ifdef LIBNBC
  NBC_Handle handle;
#endif
} Item;

static int give_up(int status) {
  if (status >= 0) return 1;
  fprintf(stderr, "%s\n", isthmus_last_error());
  return MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Who carries it out: in one call, or begun, tested and ended. Zero from `begin` and `run`: they cannot. */
typedef struct {
  const char *who, *name;
  int (*run)(Item*, int buffer);
  int (*begin)(Item*, int buffer);
  int (*test)(Item*); /* 1: it is done, and `end` is not called */
  void (*end)(Item*);
} Contestant;

/* ---- the limit: whether it could be done at all ---- */

/* What goes to the other rank and comes from it, and what a rank has for itself. */
typedef struct {
  double *sent, *received, *kept, *kept_to;
  size_t sent_bytes, received_bytes, kept_bytes;
} Blocks;

static Blocks blocks_of(const Item* item, double* in, double* out) {
  const size_t n = (size_t)item->doubles, other = (size_t)(1 - rank), self = (size_t)rank;
  switch (item->what) {
    case BCAST: return (Blocks){out, out, NULL, NULL, rank == 0 ? 8 * n : 0, rank == 0 ? 0 : 8 * n, 0};
    case ALLGATHER: return (Blocks){in, out + other * n, in, out + self * n, 8 * n, 8 * n, 8 * n};
    case ALLTOALL: return (Blocks){in + other * n, out + other * n, in + self * n, out + self * n, 8 * n, 8 * n, 8 * n};
    default: return (Blocks){in, out, NULL, NULL, 16 * n, 16 * n, 0};
  }
}

/* Past the caches, so that no line has to come from the processor that read the bytes before. */
static void copy_past(double* to, const double* from, size_t bytes) {
#ifdef __SSE2__
  size_t i = 0;
  for (; i + 2 <= bytes / sizeof *to; i += 2) _mm_stream_pd(to + i, _mm_loadu_pd(from + i));
  for (; i < bytes / sizeof *to; ++i) to[i] = from[i];
  _mm_sfence();
#else
  memcpy(to, from, bytes);
#endif
}

static void copy_through(double* to, const double* from, size_t bytes) { memcpy(to, from, bytes); }

/* What a rank does itself; `wait` is called where it needs the other one, `copy_in` makes bytes known to it. */
static int copies(Item* item, int buffer, const double* others, void (*wait)(void),
                  void (*copy_in)(double*, const double*, size_t)) {
  double *const in = mine[buffer], *const out = all[buffer];
  if (item->what == BARRIER) return wait(), 1;
  if (item->what == ALLREDUCE) {
    copy_in(published[rank], in, 8 * (size_t)item->doubles);
    wait();
    for (int i = 0; i < item->doubles; ++i) out[i] = in[i] + others[i];
    wait();
    return 1;
  }
  const Blocks b = blocks_of(item, in, out);
  copy_in(published[rank], b.sent, b.sent_bytes);
  wait();
  if (b.kept_bytes > 0) memcpy(b.kept_to, b.kept, b.kept_bytes);
  memcpy(b.received, others, b.received_bytes);
  wait();
  return 1;
}

static int limit(Item* item, int buffer) { return copies(item, buffer, published[1 - rank], meet, copy_through); }
static int limit_past(Item* item, int buffer) {
  return item->what != BARRIER && copies(item, buffer, published[1 - rank], meet, copy_past);
}

/* The work alone, which the processor cannot do beside another one. */
static void wait_for_nobody(void) {}
static int work(Item* item, int buffer) { return copies(item, buffer, published[rank], wait_for_nobody, copy_through); }

/* The same with one copy, from the memory of the other rank. */
static int limit_one_copy(Item* item, int buffer) {
  if (item->what == BARRIER || item->what == ALLREDUCE) return 0;
  const Blocks b = blocks_of(item, mine[buffer], all[buffer]);
  addresses[rank] = b.sent;
  meet();
  if (b.kept_bytes > 0) memcpy(b.kept_to, b.kept, b.kept_bytes);
  const struct iovec here = {b.received, b.received_bytes}, there = {addresses[1 - rank], b.received_bytes};
  const ssize_t got = b.received_bytes == 0 ? 0 : process_vm_readv(processes[1 - rank], &here, 1, &there, 1, 0);
  meet();
  return got == (ssize_t)b.received_bytes;
}

/* ---- MPI, its own or what is put under it ---- */

static int mpi_run(Item* item, int buffer) {
  const int n = item->doubles;
  double *const in = mine[buffer], *const out = all[buffer];
  switch (item->what) {
    case BARRIER: MPI_Barrier(MPI_COMM_WORLD); break;
    case BCAST: MPI_Bcast(out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD); break;
    case ALLREDUCE: MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
    case ALLGATHER: MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD); break;
    case ALLTOALL: MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD); break;
    case NEIGHBORS: MPI_Neighbor_alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, ring); break;
  }
  return 1;
}

static int mpi_begin(Item* item, int buffer) {
  const int n = item->doubles;
  double *const in = mine[buffer], *const out = all[buffer];
  MPI_Request* const r = &item->request;
  switch (item->what) {
    case BARRIER: MPI_Ibarrier(MPI_COMM_WORLD, r); break;
    case BCAST: MPI_Ibcast(out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, r); break;
    case ALLREDUCE: MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r); break;
    case ALLGATHER: MPI_Iallgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, r); break;
    case ALLTOALL: MPI_Ialltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, r); break;
    case NEIGHBORS: MPI_Ineighbor_alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, ring, r); break;
  }
  return 1;
}

static int mpi_test(Item* item) {
  int done;
  MPI_Test(&item->request, &done, MPI_STATUS_IGNORE);
  return 0; /* a request that is done costs nothing to wait for */
}

static void mpi_end(Item* item) { MPI_Wait(&item->request, MPI_STATUS_IGNORE); }

#if MPI_VERSION >= 4
/* A persistent call has its buffers for good: one for each. */
static int mpi_start(Item* item, int buffer) {
  const int n = item->doubles;
  double *const in = mine[buffer], *const out = all[buffer];
  MPI_Request* const r = &item->kept[buffer];
  const MPI_Info none = MPI_INFO_NULL;
  if (*r == MPI_REQUEST_NULL) {
    switch (item->what) {
      case BARRIER: MPI_Barrier_init(MPI_COMM_WORLD, none, r); break;
      case BCAST: MPI_Bcast_init(out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, none, r); break;
      case ALLREDUCE: MPI_Allreduce_init(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, none, r); break;
      case ALLGATHER: MPI_Allgather_init(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, none, r); break;
      case ALLTOALL: MPI_Alltoall_init(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, none, r); break;
      case NEIGHBORS: MPI_Neighbor_alltoall_init(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, ring, none, r); break;
    }
  }
  item->request = *r;
  return MPI_Start(r) == MPI_SUCCESS;
}
#else
static int mpi_start(Item* item, int buffer) {
  (void)item;
  (void)buffer;
  return 0;
}
#endif

/* ---- libisthmus by its own interface ---- */

static int isthmus_run_it(Item* item, int buffer) {
  return give_up(isthmus_run(team, &item->call, mine[buffer], all[buffer]));
}

static int isthmus_begin_it(Item* item, int buffer) {
  return give_up(isthmus_begin(team, &item->call, mine[buffer], all[buffer], &item->operation));
}

static int isthmus_start_it(Item* item, int buffer) {
  item->operation = item->made;
  return give_up(isthmus_start(item->made, mine[buffer], all[buffer]));
}

static int isthmus_test_it(Item* item) {
  const int status = isthmus_test(item->operation);
  give_up(status);
  return status == ISTHMUS_DONE;
}

static void isthmus_end_it(Item* item) { give_up(isthmus_wait(item->operation)); }

/* ---- LibNBC, over the MPI library ---- */

#ifdef LIBNBC
static int nbc_begin(Item* item, int buffer) {
  const int n = item->doubles;
  double *const in = mine[buffer], *const out = all[buffer];
  NBC_Handle* const h = &item->handle;
  switch (item->what) {
    case BARRIER: NBC_Ibarrier(MPI_COMM_WORLD, h); break;
    case BCAST: NBC_Ibcast(out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, h); break;
    case ALLREDUCE: NBC_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, h); break;
    case ALLGATHER: NBC_Iallgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, h); break;
    case ALLTOALL: NBC_Ialltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, h); break;
    case NEIGHBORS: NBC_Ineighbor_xchg(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, ring, h); break;
  }
  return 1;
}

static int nbc_test(Item* item) {
  int done = 0;
  NBC_Test(&item->handle, &done, MPI_STATUS_IGNORE);
  return done;
}

static void nbc_end(Item* item) { NBC_Wait(&item->handle, MPI_STATUS_IGNORE); }
#endif

static const Contestant contestants[] = {
    {"limit", "limit", limit, NULL, NULL, NULL},
    {"limit", "limit-past-caches", limit_past, NULL, NULL, NULL},
    {"limit", "limit-one-copy", limit_one_copy, NULL, NULL, NULL},
    {"work", "work", work, NULL, NULL, NULL},
    {"isthmus", "isthmus", isthmus_run_it, NULL, NULL, NULL},
    {"isthmus", "isthmus-nonblocking", NULL, isthmus_begin_it, isthmus_test_it, isthmus_end_it},
    {"isthmus", "isthmus-persistent", NULL, isthmus_start_it, isthmus_test_it, isthmus_end_it},
    {"mpi", "", mpi_run, NULL, NULL, NULL},
    {"mpi", "-nonblocking", NULL, mpi_begin, mpi_test, mpi_end},
    {"mpi", "-persistent", NULL, mpi_start, mpi_test, mpi_end},
#ifdef LIBNBC
    {"nbc", "libnbc-nonblocking", NULL, nbc_begin, nbc_test, nbc_end},
#endif
};
enum { most_contestants = sizeof contestants / sizeof *contestants };

/* Those that take part in this process. */
static int taking_part;
static const Contestant* parts[most_contestants];

static void carry_out(const Contestant* c, Item* item, int buffer) {
  if (c->run) {
    c->run(item, buffer);
  } else {
    c->begin(item, buffer);
    c->end(item);
  }
}

static const char* name_of(const Contestant* c) {
  static char whole[200];
  if (strcmp(c->who, "isthmus") == 0 && strcmp(mpi_name, "before") == 0) {
    snprintf(whole, sizeof whole, "before%s", c->name + strlen("isthmus"));
    return whole;
  }
  if (strcmp(c->who, "mpi") != 0) return c->name;
  snprintf(whole, sizeof whole, "%s%s", mpi_name, c->name);
  return whole;
}

static void make(Item* item, What what, int doubles) {
  memset(item, 0, sizeof *item);
  item->what = what;
  item->doubles = doubles;
  for (int b = 0; b < buffers; ++b) item->kept[b] = MPI_REQUEST_NULL;
  item->call = (isthmus_call){
      .size = sizeof item->call, .kind = kinds[what], .element = ISTHMUS_F64, .count = (uint64_t)doubles};
  if (what == NEIGHBORS) {
    const int64_t neighbors[] = {1 - rank, doubles, doubles, 1 - rank, doubles, doubles};
    memcpy(item->neighbors, neighbors, sizeof neighbors);
    item->call.counts = item->neighbors;
    item->call.counts_length = 6;
  }
  if (team) give_up(isthmus_make(team, &item->call, &item->made));
}

static void unmake(Item* item) {
  for (int b = 0; b < buffers; ++b)
    if (item->kept[b] != MPI_REQUEST_NULL) MPI_Request_free(&item->kept[b]);
  if (item->made) isthmus_free(item->made);
}

/* Tries who can do it, with every buffer. */
static void try_all(Item* item, int can[most_contestants]) {
  for (int c = 0; c < taking_part; ++c) {
    const Contestant* const p = parts[c];
    can[c] = 1;
    for (int b = 0; b < buffers && can[c]; ++b) {
      can[c] = p->run ? p->run(item, b) : p->begin(item, b);
      if (can[c] && p->end) p->end(item);
    }
  }
}

static int by_value(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

/* Flags, buffers and what else the ranks share. */
static void share(void) {
  MPI_Win window; /* in use until the process ends */
  char *own, *segment;
  MPI_Comm node;
  MPI_Aint size;
  int unit;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(rank == 0 ? 4160 + 4 * largest : 0, 1, MPI_INFO_NULL, node, &own, &window);
  MPI_Win_shared_query(window, 0, &size, &unit, &segment);
  segment = (char*)(((uintptr_t)segment + 63) / 64 * 64); /* MPI libraries begin anywhere */
  if (rank == 0) memset(segment, 0, 4096 + 4 * largest);
  MPI_Barrier(MPI_COMM_WORLD);
  flags = (Flag*)segment;
  addresses = (void* volatile*)(segment + 1024);
  processes = (volatile pid_t*)(segment + 2048);
  processes[rank] = getpid();
  agreed = (volatile long*)(segment + 3072);
  for (int r = 0; r < 2; ++r) published[r] = (double*)(segment + 4096 + r * 2 * largest);
  const int two = 2, wraps = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &wraps, 0, &ring);
  for (int b = 0; b < buffers; ++b) {
    mine[b] = malloc(2 * largest);
    all[b] = malloc(2 * largest);
    for (int i = 0; i < 2 * largest / 8; ++i) mine[b][i] = all[b][i] = 1;
  }
}

/* Rank r runs on the r-th core that it may use. */
static void bind_to_core(void) {
  cpu_set_t allowed, own;
  CPU_ZERO(&own);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0, left = rank; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || left-- > 0) continue;
    CPU_SET(core, &own);
    sched_setaffinity(0, sizeof own, &own);
    return;
  }
}

static void begin_contest(int argc, char** argv) {
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  batches = argc > 6 ? atoi(argv[2]) : 0;
  if (ranks != 2 || batches < 1 || batches > most_batches) {
    fprintf(stderr, "two ranks, and 1 to %d batches\n", most_batches);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  mpi_name = argv[1];
  job = atoi(argv[4]);
  jobs = atoi(argv[5]);
  FILE* const file = fopen(argv[3], "r+");
  turns = file ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0) : MAP_FAILED;
  if (turns == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int c = 0; c < most_contestants; ++c)
    for (int i = 6; i < argc; ++i)
      if (strcmp(contestants[c].who, argv[i]) == 0) parts[taking_part++] = &contestants[c];
  bind_to_core();
  for (int i = 6; i < argc; ++i)
    if (strcmp(argv[i], "isthmus") == 0 && isthmus_join_mpi(MPI_COMM_WORLD, &team) != ISTHMUS_DONE) give_up(-1);
  share();
}

static void end_contest(void) {
  if (rank == 0 && !real_time_allowed) printf("disturbed\n");
  isthmus_leave(team);
  MPI_Finalize();
}

#endif
