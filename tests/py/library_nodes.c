/* Collectives of a team whose ranks may be on several nodes, against what MPI says of them; or, with a last argument,
 * a failure.
 *
 *     library_nodes PLAN SEED     lines "collective algorithm": all of them with random counts, roots, types, in place
 * or not, many under way at once, ended in another order than begun library_nodes dies RANK     that rank dies while
 * the others wait library_nodes waits SECONDS all ranks begin again and again, for so long
 *
 * `full` in ISTHMUS_TEST: no shared memory can be had; `nodes`: which ranks share it. ISTHMUS_SAID: a file that gets
 * what is said otherwise. */
#include <isthmus/isthmus_mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { MOST = 4000, CASES = 64 };

static int rank, ranks, wrong;
static isthmus_team* team;
static uint64_t state;

/* The same numbers on all ranks. */
static uint32_t below(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

/* Of all hosts of this machine. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check(int status) {
  if (status >= 0) return;
  printf("rank %d: %d %s\n", rank, status, isthmus_last_error());
  printf("rank %d ends %.3f\n", rank, now());
  fflush(stdout);
  if (status != ISTHMUS_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
  sleep(3); /* a launcher may end all others with the first that ends */
  _exit(4);
}

static void say(const char* words) { printf("rank %d is told: %s\n", rank, words); }

typedef struct {
  char algorithm[64];
  isthmus_call call;
  isthmus_operation* operation;
  size_t size; /* of an element */
  unsigned char *in, *out;
} Case;

/* Small whole numbers, whose sums are exact in all types. */
static int64_t value_of(int of, uint64_t i) { return (int64_t)(((uint64_t)of * 7 + i * 3) % 11); }
static void put(const Case* c, unsigned char* to, int64_t value) {
  const double real = (double)value;
  const int32_t narrow = (int32_t)value;
  if (c->call.element == ISTHMUS_F64) memcpy(to, &real, 8);
  else if (c->call.element == ISTHMUS_I64) memcpy(to, &value, 8);
  else if (c->call.element == ISTHMUS_I32) memcpy(to, &narrow, 4);
  else *to = (unsigned char)value;
}
static int is(const Case* c, uint64_t at, int64_t value, int number) {
  unsigned char expected[8];
  put(c, expected, value);
  if (memcmp(expected, c->out + at * c->size, c->size) == 0) return 1;
  printf("rank %d, case %d: kind %d by %s, count %llu, root %u%s: element %llu differs\n", rank, number,
         (int)c->call.kind, c->algorithm, (unsigned long long)c->call.count, c->call.root,
         c->call.in_place ? ", in place" : "", (unsigned long long)at);
  return wrong = 1, 0;
}
static int64_t sum(int first, int end, uint64_t i) {
  int64_t all = 0;
  for (int r = first; r < end; ++r) all += value_of(r, i);
  return all;
}

/* What the output has before, where the contribution is in place or the rank is the root of a broadcast. */
static void prepare(Case* c) {
  const uint64_t n = c->call.count, all = n * (uint64_t)ranks;
  const int root = (int)c->call.root == rank;
  for (uint64_t i = 0; i < all; ++i) put(c, c->in + i * c->size, value_of(rank, i));
  memset(c->out, 0xDD, MOST * 8);
  switch (c->call.kind) {
    case ISTHMUS_BCAST:
      if (root)
        for (uint64_t i = 0; i < n; ++i) put(c, c->out + i * c->size, value_of(rank, i));
      break;
    case ISTHMUS_REDUCE:
      if (!root) break; /* fall through */
    case ISTHMUS_ALLREDUCE:
    case ISTHMUS_SCAN:
    case ISTHMUS_EXSCAN:
      if (c->call.in_place)
        for (uint64_t i = 0; i < n; ++i) put(c, c->out + i * c->size, value_of(rank, i));
      break;
    case ISTHMUS_GATHER:
      if (!root) break; /* fall through */
    case ISTHMUS_ALLGATHER:
      if (c->call.in_place)
        for (uint64_t i = 0; i < n; ++i) put(c, c->out + (n * (uint64_t)rank + i) * c->size, value_of(rank, i));
      break;
    case ISTHMUS_ALLTOALL:
      if (c->call.in_place) memcpy(c->out, c->in, all * c->size);
      break;
    default: break;
  }
}

static void compare(const Case* c, int number) {
  const uint64_t n = c->call.count;
  const int root = (int)c->call.root == rank;
  const uint64_t own = n * (uint64_t)rank;
  int good = 1;
  for (uint64_t i = 0; i < n && good; ++i) {
    switch (c->call.kind) {
      case ISTHMUS_BCAST: good = is(c, i, value_of((int)c->call.root, i), number); break;
      case ISTHMUS_REDUCE: good = !root || is(c, i, sum(0, ranks, i), number); break;
      case ISTHMUS_ALLREDUCE: good = is(c, i, sum(0, ranks, i), number); break;
      case ISTHMUS_SCAN: good = is(c, i, sum(0, rank + 1, i), number); break;
      case ISTHMUS_EXSCAN: good = rank == 0 || is(c, i, sum(0, rank, i), number); break;
      case ISTHMUS_REDUCE_SCATTER: good = is(c, i, sum(0, ranks, own + i), number); break;
      case ISTHMUS_SCATTER:
        good = (c->call.in_place && root) || is(c, i, value_of((int)c->call.root, own + i), number);
        break;
      case ISTHMUS_GATHER:
      case ISTHMUS_ALLGATHER:
        for (int r = 0; r < ranks && good && (root || c->call.kind == ISTHMUS_ALLGATHER); ++r)
          good = is(c, n * (uint64_t)r + i, value_of(r, i), number);
        break;
      case ISTHMUS_ALLTOALL:
        for (int r = 0; r < ranks && good; ++r) good = is(c, n * (uint64_t)r + i, value_of(r, own + i), number);
        break;
      default: break;
    }
  }
}

static const struct {
  const char* name;
  isthmus_kind kind;
} kinds[] = {
    {"barrier", ISTHMUS_BARRIER},     {"bcast", ISTHMUS_BCAST},       {"reduce", ISTHMUS_REDUCE},
    {"allreduce", ISTHMUS_ALLREDUCE}, {"gather", ISTHMUS_GATHER},     {"allgather", ISTHMUS_ALLGATHER},
    {"scatter", ISTHMUS_SCATTER},     {"alltoall", ISTHMUS_ALLTOALL}, {"reduce_scatter", ISTHMUS_REDUCE_SCATTER},
    {"scan", ISTHMUS_SCAN},           {"exscan", ISTHMUS_EXSCAN}};

static int known(Case* c, const char* name) {
  static const isthmus_element elements[] = {ISTHMUS_I32, ISTHMUS_I64, ISTHMUS_F64, ISTHMUS_U8};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    if (strcmp(kinds[k].name, name) != 0) continue;
    memset(&c->call, 0, sizeof c->call);
    c->call.size = sizeof c->call;
    c->call.kind = kinds[k].kind;
    c->call.algorithm = c->algorithm;
    c->call.root = below((uint32_t)ranks);
    c->call.count = below(MOST / (uint32_t)ranks) / (below(3) == 0 ? 1 : 40);
    c->call.element = elements[below(4)];
    c->size = c->call.element == ISTHMUS_I32 ? 4 : c->call.element == ISTHMUS_U8 ? 1 : 8;
    /* Not of reduce_scatter, whose input then is where its output is. */
    c->call.in_place = c->call.kind != ISTHMUS_REDUCE_SCATTER && below(2) == 0;
    return 1;
  }
  return 0;
}

/* An algorithm may refuse a number of ranks, as it does on every rank. */
static void begin(Case* c, int* carried) {
  prepare(c);
  const int status = isthmus_begin(team, &c->call, c->in, c->out, &c->operation);
  if (status == ISTHMUS_INVALID) c->operation = NULL;
  else check(status), ++*carried;
}

static int all_cases(const char* plan) {
  static Case cases[CASES];
  char name[64];
  int count = 0, carried = 0, more = 1;
  FILE* file = fopen(plan, "r");
  for (int i = 0; i < CASES; ++i) cases[i].in = malloc(MOST * 8), cases[i].out = malloc(MOST * 8);
  while (more) {
    more = fscanf(file, "%63s %63s", name, cases[count].algorithm) == 2;
    if (more && known(&cases[count], name)) begin(&cases[count], &carried), ++count;
    if (count < CASES && more) continue;
    for (int j = 0; j < count; ++j) {
      const int i = (j * 7 + rank) % count; /* each rank in another order, all of them where `count` allows */
      if (cases[i].operation == NULL) continue;
      check(isthmus_wait(cases[i].operation));
      cases[i].operation = NULL;
      compare(&cases[i], i);
    }
    for (int i = 0; i < count; ++i) {
      if (cases[i].operation == NULL) continue;
      check(isthmus_wait(cases[i].operation));
      compare(&cases[i], i);
    }
    count = 0;
  }
  fclose(file);
  return carried;
}

static void again_and_again(double seconds, int dies) {
  double begin = MPI_Wtime();
  static int64_t in[9000], out[9000];
  isthmus_call call = {.size = sizeof call, .kind = ISTHMUS_ALLREDUCE, .element = ISTHMUS_I64, .count = 9000};
  for (int turn = 0; MPI_Wtime() - begin < seconds; ++turn) {
    if (turn == 5 && rank == dies) {
      printf("rank %d dies %.3f\n", rank, now());
      fflush(stdout);
      usleep(300000); /* what launchers pass on is there before they hear of it */
      raise(SIGKILL);
    }
    if (turn == 5 && rank == 0) printf("began\n"), fflush(stdout);
    check(isthmus_run(team, &call, in, out));
  }
}

int main(int argc, char** argv) {
  const char *test = getenv("ISTHMUS_TEST"), *said = getenv("ISTHMUS_SAID");
  isthmus_job job;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  /* A launcher that fails with a rank does not pass on what the others say. */
  if (said && !freopen(said, "a", stdout)) MPI_Abort(MPI_COMM_WORLD, 3);
  if (said) setvbuf(stdout, NULL, _IOLBF, 4096);
  if (said)
    signal(SIGUSR1, SIG_IGN), signal(SIGPIPE, SIG_IGN); /* by which MPICH's launcher tells of a rank that died */
  memset(&job, 0, sizeof job);
  job.size = sizeof job;
  job.say = say;
  job.cached = 1000;
  if (test && strcmp(test, "full") == 0) {
    const struct rlimit none = {1024, 1024};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
  }
  state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const int status = isthmus_join_mpi_with(MPI_COMM_WORLD, &job, &team);
  if (status != ISTHMUS_DONE) {
    printf("rank %d: %d %s\n", rank, status, isthmus_last_error());
    MPI_Finalize();
    return 0;
  }
  if (strcmp(argv[1], "dies") == 0) again_and_again(100, atoi(argv[2]));
  else if (strcmp(argv[1], "waits") == 0) again_and_again(atof(argv[2]), -1);
  else {
    uint32_t nodes[64], from;
    int apart;
    isthmus_mpi_nodes(MPI_COMM_WORLD, nodes, &apart, &from);
    for (int r = 0; r < ranks && rank == 0 && test && strcmp(test, "nodes") == 0; ++r)
      printf("rank %d is on %u\n", r, nodes[r]);
    const int carried = all_cases(argv[1]);
    if (rank == 0) printf("%d carried out\n", carried);
  }
  check(isthmus_leave(team));
  MPI_Finalize();
  return wrong;
}
