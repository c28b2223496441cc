/* Collectives of two ranks on two cores: libisthmus, the MPI library that it is started by, and plain loops over shared
 * memory with flags as the limit; bench/runtime.py runs it.
 *
 *     runtime BATCHES
 *
 * All of them take turns, batch by batch, under the kernel's real-time scheduler during batches only: it gives what
 * they fill to nobody else, and a machine that changes its speed changes that of all. Buffers rotate, so that one that
 * is in the cache flatters nobody. A line each: who, what, bytes, and the least and the median of batches in
 * microseconds. */
#include <isthmus/isthmus_mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum { most_batches = 200, buffers = 8, largest = 1 << 20 };

typedef struct {
  _Alignas(128) atomic_uint turn;
} Flag;

static int rank, real_time_allowed = 1;
static unsigned turn;
static Flag* flags;
static double *published[2], *mine[buffers], *all[buffers];
static isthmus_team* team;
static void* volatile* addresses; /* shared by both ranks, as are these */
static volatile pid_t* processes;
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

typedef enum { BARRIER, BCAST, ALLREDUCE, ALLGATHER, ALLTOALL, NEIGHBORS } What;
static const char* const names[] = {"barrier", "bcast", "allreduce", "allgather", "alltoall", "neighbors"};
static const isthmus_kind kinds[] = {ISTHMUS_BARRIER,   ISTHMUS_BCAST,    ISTHMUS_ALLREDUCE,
                                     ISTHMUS_ALLGATHER, ISTHMUS_ALLTOALL, ISTHMUS_NEIGHBOR_ALLTOALL};

typedef struct {
  What what;
  int doubles; /* of the vector, or of a block; neighbors: for each of the two, who are both the other rank */
  isthmus_call call;
  isthmus_operation* made;
} Item;

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

/* Whether it could be done at all. */
static int limit(const Item* item, double* in, double* out) {
  if (item->what == BARRIER) return meet(), 1;
  if (item->what == ALLREDUCE) {
    memcpy(published[rank], in, 8 * (size_t)item->doubles);
    meet();
    const double *a = in, *b = published[1 - rank];
    for (int i = 0; i < item->doubles; ++i) out[i] = a[i] + b[i];
    meet();
    return 1;
  }
  const Blocks b = blocks_of(item, in, out);
  memcpy(published[rank], b.sent, b.sent_bytes);
  meet();
  if (b.kept_bytes > 0) memcpy(b.kept_to, b.kept, b.kept_bytes);
  memcpy(b.received, published[1 - rank], b.received_bytes);
  meet();
  return 1;
}

/* The same with one copy, from the memory of the other rank. */
static int limit_one_copy(const Item* item, double* in, double* out) {
  if (item->what == BARRIER || item->what == ALLREDUCE) return 0;
  const Blocks b = blocks_of(item, in, out);
  addresses[rank] = b.sent;
  meet();
  if (b.kept_bytes > 0) memcpy(b.kept_to, b.kept, b.kept_bytes);
  const struct iovec here = {b.received, b.received_bytes}, there = {addresses[1 - rank], b.received_bytes};
  const ssize_t got = b.received_bytes == 0 ? 0 : process_vm_readv(processes[1 - rank], &here, 1, &there, 1, 0);
  meet();
  return got == (ssize_t)b.received_bytes;
}

static int mpi_blocking(const Item* item, double* in, double* out) {
  const int n = item->doubles;
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

static int mpi_nonblocking(const Item* item, double* in, double* out) {
  const int n = item->doubles;
  MPI_Request request;
  switch (item->what) {
    case BARRIER: MPI_Ibarrier(MPI_COMM_WORLD, &request); break;
    case BCAST: MPI_Ibcast(out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request); break;
    case ALLREDUCE: MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request); break;
    case ALLGATHER: MPI_Iallgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, &request); break;
    case ALLTOALL: MPI_Ialltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, &request); break;
    case NEIGHBORS: MPI_Ineighbor_alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, ring, &request); break;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return 1;
}

static int give_up(int status) {
  if (status >= 0) return 1;
  fprintf(stderr, "%s\n", isthmus_last_error());
  return MPI_Abort(MPI_COMM_WORLD, 1);
}

static int ours(const Item* item, double* in, double* out) { return give_up(isthmus_run(team, &item->call, in, out)); }

static int ours_nonblocking(const Item* item, double* in, double* out) {
  isthmus_operation* operation;
  return give_up(isthmus_begin(team, &item->call, in, out, &operation)) && give_up(isthmus_wait(operation));
}

static int ours_persistent(const Item* item, double* in, double* out) {
  return give_up(isthmus_start(item->made, in, out)) && give_up(isthmus_wait(item->made));
}

static const struct {
  const char* name;
  int (*run)(const Item*, double*, double*);
} who[] = {{"limit", limit},
           {"limit-one-copy", limit_one_copy},
           {"mpi", mpi_blocking},
           {"mpi-nonblocking", mpi_nonblocking},
           {"isthmus", ours},
           {"isthmus-nonblocking", ours_nonblocking},
           {"isthmus-persistent", ours_persistent}};
enum { contestants = sizeof who / sizeof *who };

static int by_value(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

static void compare(What what, int doubles, int batches) {
  static double times[contestants][most_batches];
  int can[contestants];
  Item item = {.what = what, .doubles = doubles};
  item.call =
      (isthmus_call){.size = sizeof item.call, .kind = kinds[what], .element = ISTHMUS_F64, .count = (uint64_t)doubles};
  const int64_t neighbors[] = {1 - rank, doubles, doubles, 1 - rank, doubles, doubles};
  if (what == NEIGHBORS) {
    item.call.counts = neighbors;
    item.call.counts_length = 6;
  }
  give_up(isthmus_make(team, &item.call, &item.made));
  const int bytes = 8 * doubles, turns = bytes < 8192 ? 400 : bytes < 262144 ? 60 : 12;
  for (int c = 0; c < contestants; ++c)
    for (int b = 0; b < buffers; ++b) can[c] = who[c].run(&item, mine[b], all[b]);
  for (int batch = 0; batch < batches; ++batch) {
    for (int k = 0; k < contestants; ++k) {
      const int c = (k + batch) % contestants;
      if (!can[c]) continue;
      MPI_Barrier(MPI_COMM_WORLD);
      real_time(1);
      meet();
      const double begin = now();
      for (int i = 0; i < turns; ++i) who[c].run(&item, mine[i % buffers], all[i % buffers]);
      meet();
      times[c][batch] = (now() - begin) / turns;
      real_time(0);
      usleep(2000);
    }
  }
  for (int c = 0; c < contestants; ++c) {
    if (!can[c]) continue;
    qsort(times[c], (size_t)batches, sizeof **times, by_value);
    if (rank == 0) printf("%s %s %d %.4f %.4f\n", who[c].name, names[what], bytes, times[c][0], times[c][batches / 2]);
  }
  isthmus_free(item.made);
}

int main(int argc, char** argv) {
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int batches = argc > 1 ? atoi(argv[1]) : 20;
  if (ranks != 2 || batches < 1 || batches > most_batches) {
    fprintf(stderr, "two ranks, and 1 to %d batches\n", most_batches);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (isthmus_join_mpi(MPI_COMM_WORLD, &team) != ISTHMUS_DONE) give_up(-1);
  MPI_Win window;
  char* own;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(rank == 0 ? 4096 + 4 * largest : 0, 1, MPI_INFO_NULL, node, &own, &window);
  MPI_Aint size;
  int unit;
  char* segment;
  MPI_Win_shared_query(window, 0, &size, &unit, &segment);
  if (rank == 0) memset(segment, 0, 4096 + 4 * largest);
  MPI_Barrier(MPI_COMM_WORLD);
  flags = (Flag*)segment;
  addresses = (void* volatile*)(segment + 1024);
  processes = (volatile pid_t*)(segment + 2048);
  processes[rank] = getpid();
  for (int r = 0; r < 2; ++r) published[r] = (double*)(segment + 4096 + r * 2 * largest);
  const int two = 2, wraps = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &wraps, 0, &ring);
  for (int b = 0; b < buffers; ++b) {
    mine[b] = malloc(2 * largest);
    all[b] = malloc(2 * largest);
    for (int i = 0; i < 2 * largest / 8; ++i) mine[b][i] = all[b][i] = 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  compare(BARRIER, 0, batches);
  const int sizes[] = {1, 128, 2048, 8192, 131072};
  for (What what = BCAST; what <= NEIGHBORS; ++what)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) compare(what, sizes[s], batches);
  if (rank == 0 && !real_time_allowed) printf("disturbed\n");
  MPI_Win_free(&window);
  isthmus_leave(team);
  MPI_Finalize();
  return 0;
}
