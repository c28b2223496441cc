/* How much of a nonblocking collective is hidden behind computation: libisthmus and the MPI library; bench/overlap.py
 * runs it on two hosts.
 *
 *     overlap WHO TURNS         WHO: isthmus, mpi or isthmus-persistent is measured; a line for each cell
 *
 * The computation is a number of turns of a loop that takes, alone, as long as the collective without computation. It
 * is cut by 0, 4 or 16 tests. A line: who, collective, bytes, tests, then in microseconds the pure time, the time of
 * the computation alone, of both together, and of the computation beside the collective (least of the turns, the last
 * one the median, as is that alone after it). */
#include <isthmus/isthmus_mpi.h>

enum { most_turns = 50, largest = 1 << 20 };

static int rank;
static isthmus_team* team;
static double *in, *out;
static volatile double sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void compute(long turns) {
  double x = 1;
  for (long i = 0; i < turns; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

typedef enum { ALLREDUCE, ALLTOALL, BCAST } What;
static const char* const names[] = {"allreduce", "alltoall", "bcast"};
static const isthmus_kind kinds[] = {ISTHMUS_ALLREDUCE, ISTHMUS_ALLTOALL, ISTHMUS_BCAST};

typedef struct {
  int ours;
  What what;
  int doubles;
  isthmus_operation* operation;
  MPI_Request request;
} Item;

static void check(int status) {
  if (status >= 0) return;
  fprintf(stderr, "%s\n", isthmus_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void begin(Item* item) {
  const int n = item->doubles;
  if (item->ours) {
    isthmus_call call = {.size = sizeof call, .kind = kinds[item->what], .element = ISTHMUS_F64, .count = (uint64_t)n};
    check(isthmus_begin(team, &call, in, out, &item->operation));
    return;
  }
  switch (item->what) {
    case ALLREDUCE: MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &item->request); break;
    case ALLTOALL: MPI_Ialltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, &item->request); break;
    case BCAST: MPI_Ibcast(out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &item->request); break;
  }
}
static void test(Item* item) {
  int flag;
  if (!item->ours) {
    MPI_Test(&item->request, &flag, MPI_STATUS_IGNORE);
  } else if (item->operation) {
    const int status = isthmus_test(item->operation);
    check(status);
    if (status == ISTHMUS_DONE) item->operation = NULL;
  }
}
static void finish(Item* item) {
  if (!item->ours) MPI_Wait(&item->request, MPI_STATUS_IGNORE);
  else if (item->operation) check(isthmus_wait(item->operation));
  item->operation = NULL;
}

static int by_value(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

/* The slowest of both ranks counts. */
static double slowest(double mine) {
  double most;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static void measure(int ours, const char* who, What what, int bytes, int turns) {
  /* Of alltoall the bytes are those for the other rank. */
  Item item = {.ours = ours, .what = what, .doubles = bytes / 8};
  double pure = 1e300, alone[most_turns], speed;
  for (int i = -2; i < turns; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(3000); /* the bucket fills again */
    const double start = now();
    begin(&item);
    finish(&item);
    const double took = slowest(now() - start);
    if (i >= 0 && took < pure) pure = took;
  }
  for (int i = 0; i < turns; ++i) {
    const double start = now();
    compute(300000);
    alone[i] = now() - start;
  }
  qsort(alone, (size_t)turns, sizeof *alone, by_value);
  speed = slowest(alone[0]) / 300000;
  const long loop = (long)(pure / speed);
  const int cuts[] = {0, 4, 16};
  for (int c = 0; c < 3; ++c) {
    const int tests = cuts[c];
    double both = 1e300, beside[most_turns], least = 1e300;
    for (int i = -1; i < turns; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      usleep(3000);
      double start = now();
      compute(loop);
      const double without = now() - start;
      MPI_Barrier(MPI_COMM_WORLD);
      usleep(3000);
      start = now();
      begin(&item);
      const double begun = now();
      for (int t = 0; t < tests; ++t) {
        compute(loop / (tests + 1));
        test(&item);
      }
      compute(loop / (tests + 1));
      const double computed = now();
      finish(&item);
      const double took = slowest(now() - start);
      if (i < 0) continue;
      if (took < both) both = took;
      if (without < least) least = without;
      beside[i] = computed - begun;
      alone[i] = without;
    }
    least = slowest(least);
    qsort(beside, (size_t)turns, sizeof *beside, by_value);
    qsort(alone, (size_t)turns, sizeof *alone, by_value);
    const double during = slowest(beside[turns / 2]), before = slowest(alone[turns / 2]);
    if (rank == 0)
      printf("%s %s %d %d %.1f %.1f %.1f %.1f %.1f\n", who, names[what], bytes, tests, pure, least, both, during,
             before);
  }
}

int main(int argc, char** argv) {
  const int threads = getenv("ISTHMUS_PROGRESS") != NULL;
  int level;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int ours = argc > 1 && strcmp(argv[1], "mpi") != 0, turns = argc > 2 ? atoi(argv[2]) : 8;
  if (argc != 3 || turns < 1 || turns > most_turns) {
    fprintf(stderr, "overlap isthmus|mpi TURNS (1 to %d)\n", most_turns);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (isthmus_join_mpi(MPI_COMM_WORLD, &team) != ISTHMUS_DONE) check(-1);
  in = malloc(2 * largest);
  out = malloc(2 * largest);
  for (int i = 0; i < 2 * largest / 8; ++i) in[i] = out[i] = 1;
  const int sizes[] = {128 << 10, 1 << 20};
  for (What what = ALLREDUCE; what <= BCAST; ++what)
    for (int s = 0; s < 2; ++s) measure(ours, argv[1], what, sizes[s], turns);
  isthmus_leave(team);
  MPI_Finalize();
  return 0;
}
