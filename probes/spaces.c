/* Collectives on the memory of a space by the algorithms of a plan, in turns: spaces PLAN JOURNAL. Ranks are those of
 * libisthmus's launcher; compiled with OVER_MPI, of an MPI program. `tune --measured --spaces` starts it.
 *
 * A plan has lines of words:
 *
 *     rounds N               turns of every algorithm
 *     batch SECONDS          that calls are repeated for between two readings of the clock
 *     table PATH             a decision table on the host of rank 0
 *     case KIND ENTER LEAVE BYTES ALGORITHM ...
 *
 * KIND is bcast, scatter, gather, allgather or alltoall, ENTER and LEAVE are none, my or all, and the algorithm `-` is
 * what the library takes by itself, `=` what it takes by the table. Where ranks wait for nothing, there is a barrier
 * every few calls, as in a program, and its time counts. An algorithm that is much slower than the best after two rounds is not timed again.
 *
 * The journal: `ranks N near 0|1` (1: all share memory), then of every case and algorithm, by number, the seconds of a
 * call in every round, on the slowest rank, `C A T T T`; none where the library refuses it. Its last line is `end`. */
#include <isthmus/isthmus_pgas.h>
#ifdef OVER_MPI
#include <isthmus/isthmus_mpi.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 512, MOST_ROUNDS = 64, BETWEEN = 8, MOST_CALLS = 8192 };
static const double HOPELESS = 1.5;

static isthmus_team* team;
static isthmus_space* space;
static uint32_t rank, ranks;
static uint64_t from, to;
static char table[4096];

static void fail(const char* what) {
  fprintf(stderr, "spaces: rank %u: %s\n", rank, what);
  exit(1); /* the launcher ends the others */
}

static void must(int status) {
  if (status < 0) fail(isthmus_last_error());
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void over_all(isthmus_kind kind, isthmus_element element, isthmus_operator operation, void* value,
                     uint64_t count) {
  isthmus_call call;
  memset(&call, 0, sizeof call);
  call.size = sizeof call;
  call.kind = kind;
  call.element = element;
  call.operation = operation;
  call.count = count;
  call.in_place = kind == ISTHMUS_ALLREDUCE;
  must(isthmus_run(team, &call, NULL, value));
}

/* What rank 0 reads, for all: they may be on hosts without the file. */
static char* plan_of(const char* path) {
  uint64_t bytes = 0;
  char* text = NULL;
  if (rank == 0) {
    FILE* const file = fopen(path, "r");
    if (!file || fseek(file, 0, SEEK_END)) fail("the plan cannot be read");
    bytes = (uint64_t)ftell(file);
    rewind(file);
    text = malloc(bytes + 1);
    if (!text || fread(text, 1, bytes, file) != bytes) fail("the plan cannot be read");
    fclose(file);
  }
  over_all(ISTHMUS_BCAST, ISTHMUS_U64, ISTHMUS_SUM, &bytes, 1);
  if (rank != 0) text = malloc(bytes + 1);
  if (!text) fail("no memory");
  over_all(ISTHMUS_BCAST, ISTHMUS_U8, ISTHMUS_SUM, text, bytes);
  text[bytes] = 0;
  return text;
}

struct timed {
  char kind[16];
  isthmus_manner manner;
  uint64_t bytes;
  int algorithms;
  char algorithm[MOST][96];
  int rounds[MOST]; /* that were timed; below 0: the library refuses it */
  double seconds[MOST][MOST_ROUNDS];
};

static isthmus_sync sync_of(const char* word) {
  if (strcmp(word, "none") == 0) return ISTHMUS_SYNC_NONE;
  if (strcmp(word, "my") == 0) return ISTHMUS_SYNC_MY;
  if (strcmp(word, "all") != 0) fail("a mode is none, my or all");
  return ISTHMUS_SYNC_ALL;
}

static int carry_out(const struct timed* t) {
  const isthmus_manner* const how = &t->manner;
  if (strcmp(t->kind, "bcast") == 0) return isthmus_broadcast(space, how, to, 0, from, t->bytes);
  if (strcmp(t->kind, "scatter") == 0) return isthmus_scatter(space, how, to, 0, from, t->bytes);
  if (strcmp(t->kind, "gather") == 0) return isthmus_gather(space, how, 0, to, from, t->bytes);
  if (strcmp(t->kind, "allgather") == 0) return isthmus_gather_all(space, how, to, from, t->bytes);
  if (strcmp(t->kind, "alltoall") == 0) return isthmus_exchange_all(space, how, to, from, t->bytes);
  fail("a collective that spaces have not");
  return 0;
}

/* Seconds of a call, of the slowest rank. */
static double run(const struct timed* t, int calls) {
  const int meets = t->manner.enter == ISTHMUS_SYNC_NONE || t->manner.leave == ISTHMUS_SYNC_NONE;
  must(isthmus_barrier(space, NULL));
  const double begin = now();
  for (int i = 1; i <= calls; ++i) {
    must(carry_out(t));
    if (meets && i % BETWEEN == 0) must(isthmus_barrier(space, NULL));
  }
  must(isthmus_barrier(space, NULL));
  double own = (now() - begin) / calls;
  over_all(ISTHMUS_ALLREDUCE, ISTHMUS_F64, ISTHMUS_MAX, &own, 1);
  return own;
}

static double least(const struct timed* t, int a) {
  double best = 1e30;
  for (int i = 0; i < t->rounds[a]; ++i)
    if (t->seconds[a][i] < best) best = t->seconds[a][i];
  return best;
}

/* The algorithm of the calls that follow; the first of them, which makes the schedule, is not timed. */
static int take(struct timed* t, int a) {
  const char* const name = t->algorithm[a];
  const int by_table = strcmp(name, "=") == 0;
  t->manner.algorithm = by_table || strcmp(name, "-") == 0 ? NULL : name;
  if (table[0] && !t->manner.algorithm) must(isthmus_use(team, by_table ? table : ""));
  const int status = carry_out(t);
  must(isthmus_barrier(space, NULL));
  return status;
}

static void measure(struct timed* t, int rounds, double batch) {
  for (int a = 0; a < t->algorithms; ++a) {
    const int status = take(t, a);
    if (status < 0) fprintf(stderr, "spaces: %s by %s: %s\n", t->kind, t->algorithm[a], isthmus_last_error());
    t->rounds[a] = status < 0 ? -1 : 0;
  }
  take(t, 0);
  int calls = BETWEEN;
  for (int i = 0; i < 2; ++i) { /* with a time that is right to the order of magnitude, then with that */
    const double wanted = batch / run(t, calls);
    calls = wanted < BETWEEN ? (wanted < 1 ? 1 : (int)wanted) : wanted > MOST_CALLS ? MOST_CALLS : (int)wanted / 8 * 8;
  }
  for (int round = 0; round < rounds; ++round) {
    double best = 1e30;
    for (int a = 0; a < t->algorithms; ++a)
      if (t->rounds[a] >= 0 && least(t, a) < best) best = least(t, a);
    for (int i = 0; i < t->algorithms; ++i) {
      const int a = (i + round) % t->algorithms;
      if (t->rounds[a] < 0 || (round >= 2 && a > 0 && least(t, a) > HOPELESS * best)) continue;
      take(t, a);
      t->seconds[a][t->rounds[a]++] = run(t, calls);
    }
  }
}

static void read_case(char* words, struct timed* t) {
  char enter[16], leave[16];
  int used = 0;
  unsigned long long bytes = 0;
  memset(t, 0, sizeof *t);
  if (sscanf(words, "%15s %15s %15s %llu%n", t->kind, enter, leave, &bytes, &used) != 4) fail("a case is cut off");
  t->bytes = bytes;
  t->manner.size = sizeof t->manner;
  t->manner.enter = sync_of(enter);
  t->manner.leave = sync_of(leave);
  char* rest = NULL;
  for (char* word = strtok_r(words + used, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    if (t->algorithms == MOST || strlen(word) >= sizeof t->algorithm[0]) fail("a case has too many algorithms");
    strcpy(t->algorithm[t->algorithms++], word);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
#ifdef OVER_MPI
  MPI_Init(&argc, &argv);
  must(isthmus_join_mpi(MPI_COMM_WORLD, &team));
#else
  must(isthmus_join(NULL, &team));
#endif
  rank = isthmus_rank(team), ranks = isthmus_ranks(team);
  must(isthmus_space_make(team, NULL, &space));
  char* const plan = plan_of(argv[1]);
  int rounds = 3, near = 1;
  double batch = 1e-3;
  for (uint32_t r = 0; r < ranks; ++r) near &= isthmus_cast(space, r, 0) != NULL;
  over_all(ISTHMUS_ALLREDUCE, ISTHMUS_I32, ISTHMUS_MIN, &near, 1);
  FILE* const journal = rank == 0 ? fopen(argv[2], "w") : NULL;
  if (rank == 0 && !journal) fail("the journal cannot be written");
  if (journal) fprintf(journal, "ranks %u near %d\n", ranks, near);
  struct timed* const t = malloc(sizeof *t);
  if (!t) fail("no memory");
  uint64_t room = 0, cases = 0;
  char* rest = NULL;
  for (char* line = strtok_r(plan, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    if (sscanf(line, "rounds %d", &rounds) == 1) {
      if (rounds < 1 || rounds > MOST_ROUNDS) fail("rounds are 1 to 64");
      continue;
    }
    if (sscanf(line, "batch %lf", &batch) == 1) continue;
    if (sscanf(line, "table %4095[^\n]", table) == 1) continue;
    if (strncmp(line, "case ", 5) != 0) fail("a line of the plan is of no kind");
    read_case(line + 5, t);
    if (t->bytes * ranks > room) {
      if (room > 0) {
        must(isthmus_barrier(space, NULL));
        if (rank == 0) must(isthmus_release(space, rank, from)), must(isthmus_release(space, rank, to));
        must(isthmus_barrier(space, NULL));
      }
      room = t->bytes * ranks;
      must(isthmus_allocate_all(space, room, &from));
      must(isthmus_allocate_all(space, room, &to));
      memset(isthmus_cast(space, rank, from), 1, room);
    }
    measure(t, rounds, batch);
    for (int a = 0; journal && a < t->algorithms; ++a) {
      fprintf(journal, "%llu %d", (unsigned long long)cases, a);
      for (int i = 0; i < t->rounds[a]; ++i) fprintf(journal, " %.9g", t->seconds[a][i]);
      fputc('\n', journal);
    }
    ++cases;
  }
  if (journal && (fputs("end\n", journal) < 0 || fclose(journal) != 0)) fail("the journal cannot be written");
  free(t);
  free(plan);
  must(isthmus_space_leave(space));
  must(isthmus_leave(team));
#ifdef OVER_MPI
  MPI_Finalize();
#endif
  return 0;
}
