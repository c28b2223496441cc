/* launch PARTS FOLDER REPETITIONS CHECK, started by mpirun: carries out a schedule and writes when everything happened.
 *
 * PARTS holds the parts of all ranks (isthmus_load), each where the table at its beginning says: "isthruns", version,
 * number of ranks, then of each rank offset and length, whole numbers of 64 bits. REPETITIONS 0: as many as a second
 * takes. In each of two series there are so many: first nothing but the end is looked at, then every step is. Rank 0
 * writes the times of all runs to FOLDER/runs; every rank the times of its steps to FOLDER/steps.RANK: of that run in
 * the second series whose time is nearest to the median of the first.
 *
 * A run begins at an agreed time, which all ranks wait for; its time is that of the last rank. Ranks of one kernel read
 * one clock; those of others are compared before every run, as `isthmus measure` does it (probes/global_clock.c), also
 * where the environment says ISTHMUS_CLOCKS=measured. */
#include <errno.h>
#include <fcntl.h>
#include <isthmus/isthmus_mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "global_clock.h"

enum { MOST_RUNS = 1000, WARM_UP = 20 };

static int rank, ranks;

/* The first rank that gives up says why; the launcher ends the others. */
static void give_up(const char* what, const char* why) {
  fprintf(stderr, "isthmus-launch: rank %d: %s%s%s\n", rank, what, *why ? ": " : "", why);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static void expect(int status, const char* what) {
  if (status < 0) give_up(what, isthmus_last_error());
}

static int64_t nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double now(void) { return 1e-9 * (double)nanoseconds(); }

/* -- parts and buffers */

static const unsigned char* map(const char* path, size_t* size) {
  struct stat found;
  const int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &found) != 0) give_up(path, strerror(errno));
  *size = (size_t)found.st_size;
  void* memory = mmap(NULL, *size ? *size : 1, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) give_up(path, strerror(errno));
  close(file);
  return memory;
}

/* This rank's part. */
static const unsigned char* part_of(const char* path, size_t* bytes) {
  size_t size;
  const unsigned char* file = map(path, &size);
  uint64_t head[3], place[2];
  if (size < sizeof head || memcmp(file, "isthruns", 8) != 0) give_up(path, "the file holds no parts of a schedule");
  memcpy(head, file, sizeof head);
  if (head[1] != 1) give_up(path, "the file is of another version");
  if (head[2] != (uint64_t)ranks) {
    char words[120];
    if (rank > 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      exit(1);
    }
    snprintf(words, sizeof words, "%d rank%s started, and the schedule has %llu", ranks, ranks == 1 ? " was" : "s were",
             (unsigned long long)head[2]);
    give_up(words, "");
  }
  const size_t at = sizeof head + sizeof place * (size_t)rank;
  if (size < at + sizeof place) give_up(path, "the file ends too early");
  memcpy(place, file + at, sizeof place);
  if (place[0] > size || place[1] > size - place[0]) give_up(path, "the file ends too early");
  *bytes = (size_t)place[1];
  return file + place[0];
}

/* What the part says before its steps; isthmus_load() has checked it. */
typedef struct {
  uint64_t mark;
  uint32_t version, rank, ranks, buffers, steps, edges, element_bytes, checksum;
} Header;

typedef struct {
  uint64_t amount, from, to, block;
  int32_t from_stride, to_stride;
  uint32_t peer, tag, comm, first_edge;
  uint8_t from_buffer, to_buffer, kind, order;
  uint32_t unused;
} Step;

enum { SEND = 1, RECV = 2 };

/* A byte of a message, other ones in every message: tags number those of two ranks. */
static unsigned char pattern(uint32_t from, uint32_t to, uint32_t tag, uint64_t at) {
  uint64_t x = (uint64_t)from * 0x9E3779B97F4A7C15u ^ (uint64_t)to * 0xC2B2AE3D27D4EB4Fu;
  x ^= (uint64_t)tag * 0x165667B19E3779F9u ^ (at >> 3) * 0xD6E8FEB86659FD93u;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 32;
  return (unsigned char)(x >> 8 * (at & 7));
}

static unsigned char* bytes_of(isthmus_operation* operation, uint32_t buffer, uint64_t offset) {
  void* memory;
  uint64_t size;
  expect(isthmus_buffer(operation, buffer, &memory, &size), "its buffers");
  return (unsigned char*)memory + offset;
}

/* Fills what is sent and spoils what is received. */
static void fill(isthmus_operation* operation, const Step* step, uint32_t steps) {
  for (uint32_t i = 0; i < steps; i++) {
    const Step* s = &step[i];
    if (s->amount == 0 || (s->kind != SEND && s->kind != RECV)) continue;
    const int sends = s->kind == SEND;
    unsigned char* at = bytes_of(operation, sends ? s->from_buffer : s->to_buffer, sends ? s->from : s->to);
    const uint32_t from = sends ? (uint32_t)rank : s->peer, to = sends ? s->peer : (uint32_t)rank;
    for (uint64_t k = 0; k < s->amount; k++) {
      const unsigned char right = pattern(from, to, s->tag, k);
      at[k] = sends ? right : (unsigned char)~right;
    }
  }
}

static void verify(isthmus_operation* operation, const Step* step, uint32_t steps) {
  for (uint32_t i = 0; i < steps; i++) {
    const Step* s = &step[i];
    if (s->amount == 0 || s->kind != RECV) continue;
    const unsigned char* at = bytes_of(operation, s->to_buffer, s->to);
    for (uint64_t k = 0; k < s->amount; k++) {
      if (at[k] == pattern(s->peer, (uint32_t)rank, s->tag, k)) continue;
      char words[200];
      snprintf(words, sizeof words, "operation %u: byte %llu of message %u from rank %u is not what was sent", i,
               (unsigned long long)k, s->tag, s->peer);
      give_up(words, "");
    }
  }
}

/* -- runs */

/* Of a run: when the last rank ended, and when the last one began, nanoseconds after the agreed time. */
typedef struct {
  int64_t end, late;
  int64_t took; /* with all that is done before */
} Run;

/* How long before a run the ranks agree on its begin; it grows where that was too short. */
static int64_t before = 100000;
/* There are more ranks than cores; ranks read several clocks. */
static bool share, several;
static Team all;

static void rest(int64_t time) {
  struct timespec t = {(time_t)(time / 1000000000), (long)(time % 1000000000)};
  nanosleep(&t, NULL);
}

/* Which ranks read one clock: those whose kernel started at the same time; and whether those have a core each. */
static void know_hosts(void) {
  char own[40] = "", *boot = malloc(sizeof own * (size_t)ranks);
  cpu_set_t may, any, *of = malloc(sizeof may * (size_t)ranks);
  FILE* file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (file != NULL) {
    if (fgets(own, sizeof own, file) == NULL) own[0] = '\0';
    fclose(file);
  }
  boot_of = malloc(sizeof *boot_of * (size_t)ranks);
  all = (Team){.me = rank, .size = ranks, .world = malloc(sizeof(int) * (size_t)ranks)};
  if (boot == NULL || of == NULL || boot_of == NULL || all.world == NULL) give_up("there is not enough memory", "");
  MPI_Comm_dup(MPI_COMM_WORLD, &all.comm);
  MPI_Allgather(own, sizeof own, MPI_CHAR, boot, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
  CPU_ZERO(&may);
  CPU_ZERO(&any);
  sched_getaffinity(0, sizeof may, &may);
  MPI_Allgather(&may, sizeof may, MPI_BYTE, of, sizeof may, MPI_BYTE, MPI_COMM_WORLD);
  int here = 0;
  for (int i = 0; i < ranks; i++) {
    int first = 0;
    while (memcmp(boot + sizeof own * (size_t)i, boot + sizeof own * (size_t)first, sizeof own) != 0) first++;
    all.world[i] = i;
    boot_of[i] = first;
    several |= first != 0;
    if (memcmp(boot + sizeof own * (size_t)i, own, sizeof own) != 0) continue;
    here++;
    CPU_OR(&any, &any, &of[i]);
  }
  share = here > CPU_COUNT(&any);
  const char* given = getenv("ISTHMUS_CLOCKS");
  measured_clocks = given != NULL && strcmp(given, "measured") == 0;
  several |= measured_clocks;
  free(boot);
  free(of);
}

/* Waits for a time with the processor, but for long ones. */
static void wait_until(int64_t begin) {
  if (begin - nanoseconds() > 2000000) rest(begin - nanoseconds() - 1000000);
  while (nanoseconds() < begin) {
    if (share) sched_yield();
  }
}

/* The agreed time, by the clock of this rank. */
static int64_t begin_together(void) {
  int64_t begin = 0;
  Offset offset = {0, 0, 0};
  if (several) offset = global_clock(&all);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) begin = nanoseconds() + before;
  MPI_Bcast(&begin, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (several) begin -= (int64_t)(1e9 * ahead(&offset, now()));
  wait_until(begin);
  return begin;
}

static void do_once(isthmus_operation* operation) {
  int status = isthmus_start(operation, NULL, NULL);
  if (status >= 0) status = isthmus_wait(operation);
  expect(status, "the schedule was not carried out");
}

/* What a run takes at least, where that is short: then one that does not count goes before each, from a begin of its
 * own to a begin that was agreed on before, so that what MPI does between does not count, nor what it drives out of
 * caches. */
static int64_t before_each;

static Run carry_out(isthmus_operation* operation, int64_t* agreed, int64_t* end) {
  int64_t worst[3];
  const int64_t called = nanoseconds();
  *agreed = begin_together();
  if (before_each > 0) {
    do_once(operation);
    *agreed += 3 * before_each + 5000;
    wait_until(*agreed);
  }
  const int64_t began = nanoseconds();
  do_once(operation);
  *end = nanoseconds() - *agreed;
  const int64_t mine[3] = {*end, began - *agreed, nanoseconds() - called};
  MPI_Allreduce(mine, worst, 3, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  const Run run = {worst[0], worst[1], worst[2]};
  if (run.late > before / 4 && before < 20000000) before *= 2;
  return run;
}

static int by_end(const void* a, const void* b) {
  const Run *x = a, *y = b;
  return (x->end > y->end) - (x->end < y->end);
}

static int64_t median(const Run* run, int count) {
  static Run sorted[MOST_RUNS];
  memcpy(sorted, run, sizeof *run * (size_t)count);
  qsort(sorted, (size_t)count, sizeof *sorted, by_end);
  return (sorted[(count - 1) / 2].end + sorted[count / 2].end) / 2;
}

/* Runs that show that memory is there and paths are open; how many there are to be. */
static int warm_up(isthmus_operation* operation, int asked) {
  int64_t agreed, end, spent = 0, least = INT64_MAX;
  int runs = 0;
  while (runs < WARM_UP && spent < 100000000) {
    const Run run = carry_out(operation, &agreed, &end);
    spent += run.took;
    runs++;
    if (run.end < least) least = run.end;
  }
  if (least < 100000 && !share) before_each = least;
  if (asked > 0) return asked;
  const int64_t fit = 1000000000 / (spent / runs + 1);
  return fit < 1 ? 1 : fit > 100 ? 100 : (int)fit;
}

/* -- what is written */

static void write_all(const char* path, const void* first, size_t first_bytes, const void* rest_, size_t rest_bytes) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) give_up(path, strerror(errno));
  if ((first_bytes && fwrite(first, first_bytes, 1, file) != 1) ||
      (rest_bytes && fwrite(rest_, rest_bytes, 1, file) != 1) || fclose(file) != 0)
    give_up(path, strerror(errno));
}

static void write_runs(const char* folder, const Run* quick, const Run* traced, int count, int shown) {
  char path[4096], library[MPI_MAX_LIBRARY_VERSION_STRING], host[MPI_MAX_PROCESSOR_NAME];
  int length;
  snprintf(path, sizeof path, "%s/runs", folder);
  FILE* file = fopen(path, "w");
  if (file == NULL) give_up(path, strerror(errno));
  MPI_Get_library_version(library, &length);
  library[strcspn(library, "\n,")] = '\0';
  MPI_Get_processor_name(host, &length);
  fprintf(file, "library %s\nhost %s\nshown %d\n", library, host, shown);
  for (int i = 0; i < count; i++) fprintf(file, "quick %lld %lld\n", (long long)quick[i].end, (long long)quick[i].late);
  for (int i = 0; i < count; i++)
    fprintf(file, "traced %lld %lld\n", (long long)traced[i].end, (long long)traced[i].late);
  fprintf(file, "end\n");
  if (fclose(file) != 0) give_up(path, strerror(errno));
}

int main(int argc, char** argv) {
  static Run quick[MOST_RUNS], traced[MOST_RUNS];
  isthmus_team* team;
  isthmus_operation* operation;
  size_t bytes;
  char path[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 5) give_up("it takes PARTS FOLDER REPETITIONS CHECK", "");
  const unsigned char* part = part_of(argv[1], &bytes);
  const int asked = atoi(argv[3]) < MOST_RUNS ? atoi(argv[3]) : MOST_RUNS, check = atoi(argv[4]);
  know_hosts();
  expect(isthmus_join_mpi(MPI_COMM_WORLD, &team), "it could not join the other ranks");
  expect(isthmus_load(team, part, bytes, &operation), "its part of the schedule");
  Header header;
  memcpy(&header, part, sizeof header);
  const Step* step = (const Step*)(const void*)(part + sizeof header + sizeof(uint64_t) * header.buffers);
  const size_t steps = header.steps;
  int64_t agreed, end;
  if (check) {
    fill(operation, step, header.steps);
    carry_out(operation, &agreed, &end);
    verify(operation, step, header.steps);
  }
  const int count = warm_up(operation, asked);
  for (int i = 0; i < count; i++) quick[i] = carry_out(operation, &agreed, &end);
  const int64_t typical = median(quick, count);
  /* Times of the run that is shown so far, and of the one that is made; and its agreed begin and this rank's end. */
  int64_t* times[2] = {calloc(2 * steps + 1, sizeof(int64_t)), calloc(2 * steps + 1, sizeof(int64_t))};
  int64_t kept[2] = {0, 0};
  if (times[0] == NULL || times[1] == NULL) give_up("there is not enough memory for the times of its operations", "");
  int shown = -1, into = 0;
  for (int i = 0; i < count; i++) {
    expect(isthmus_trace(operation, times[into], times[into] + steps), "its times");
    traced[i] = carry_out(operation, &agreed, &end);
    if (shown >= 0 && llabs(traced[i].end - typical) >= llabs(traced[shown].end - typical)) continue;
    shown = i;
    kept[0] = agreed;
    kept[1] = end;
    into = 1 - into;
  }
  snprintf(path, sizeof path, "%s/steps.%d", argv[2], rank);
  write_all(path, kept, sizeof kept, times[1 - into], 2 * steps * sizeof(int64_t));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) write_runs(argv[2], quick, traced, count, shown);
  isthmus_free(operation);
  isthmus_leave(team);
  MPI_Finalize();
  return 0;
}
