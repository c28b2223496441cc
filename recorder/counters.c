/* Counters of the processor between calls: instructions, cycles and the like, in user space, of each thread.
 *
 * They are read where a call is left and where the next one begins, and belong to the computation between. Reading
 * takes some 30 ns for each counter where the kernel lets programs read them, and up to a microsecond where it must be
 * asked. So they are read behind a call only if computations behind calls by the same path have been long enough so
 * far: what reading takes stays below SHARE of them, however short computations are.
 *
 * ISTHMUS_COUNTERS  NAME:TYPE:CONFIG;... as perf_event_open(2) numbers them; empty or not there: none */
#include "counters_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder.h"

/* Two readings may take this part of a computation: one fiftieth. */
enum { SHARE = 50, PATHS = 1024, CREDIT = 256, DEBT = 16 };
/* Between polls that found nothing a program computes where this much time passes; see rank_records.py. */
#define POLL_NS 20000

struct counters {
  int file[TRACE_COUNTERS]; /* -1: closed, for it is read by its page */
  struct perf_event_mmap_page* page[TRACE_COUNTERS];
  bool by_page;
  bool running, stopped; /* begun behind the last call; read where this one began */
  int64_t begun[TRACE_COUNTERS], now[TRACE_COUNTERS];
  int64_t marked;           /* nanoseconds computed since then up to marks */
  uint32_t last, before;    /* path of the last call, of the last one that was recorded by itself */
  struct trace_counted sum; /* since the latter */
  int64_t score[PATHS];     /* by path: nanoseconds computed behind it beyond those that pay for reading */
};

static struct {
  unsigned count;
  struct {
    uint32_t type;
    uint64_t config;
  } event[TRACE_COUNTERS];
  int64_t reading;               /* nanoseconds; 0: not measured yet */
  int64_t least;                 /* of a computation that pays for two readings */
  int64_t empty[TRACE_COUNTERS]; /* what is counted where nothing is computed */
} asked;

/* ---- Opening ---- */

static void parse(void) {
  const char* text = getenv("ISTHMUS_COUNTERS");
  asked.count = 0;
  while (text && *text && asked.count < TRACE_COUNTERS) {
    char name[sizeof process.header.counters[0]] = "";
    unsigned type;
    unsigned long long config;
    int length = 0;
    if (sscanf(text, "%23[^:;]:%u:%llu%n", name, &type, &config, &length) != 3) break;
    asked.event[asked.count].type = type;
    asked.event[asked.count].config = config;
    memcpy(process.header.counters[asked.count++], name, sizeof name);
    text += length + (text[length] == ';');
  }
}

/* The file under a high number: programs may count on the low ones. */
static int moved_up(int file) {
  struct rlimit limit;
  if (file < 0) return -1;
  const int most = getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > 8192 ? 8192 : (int)limit.rlim_cur;
  int moved = fcntl(file, F_DUPFD_CLOEXEC, most / 2);
  int error = errno;
  close(file);
  /* The rest is left to the program. */
  if (moved >= most / 4 * 3) {
    close(moved);
    moved = -1;
    error = EMFILE;
  }
  errno = error;
  return moved;
}

static int open_event(unsigned i, int leader) {
  struct perf_event_attr event = {
      .size = sizeof event,
      .type = asked.event[i].type,
      .config = asked.event[i].config,
      .read_format = PERF_FORMAT_GROUP,
      .exclude_kernel = 1,
      .exclude_hv = 1,
      .pinned = leader < 0,   /* all the time or not at all */
      .disabled = leader < 0, /* others that join it while it counts begin late */
  };
  return moved_up((int)syscall(SYS_perf_event_open, &event, 0, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

static void release(struct counters* c) {
  for (unsigned i = 0; i < asked.count; i++) {
    if (c->page[i]) munmap(c->page[i], (size_t)sysconf(_SC_PAGESIZE));
    if (c->file[i] >= 0) close(c->file[i]);
  }
  recorder_release(c, sizeof *c);
}

/* ---- Reading ---- */

#if ON_X86_64
static inline uint64_t read_register(uint32_t index) {
  uint32_t low, high;
  __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
  return (uint64_t)high << 32 | low;
}

static inline bool read_pages(const struct counters* c, int64_t* values) {
  for (unsigned i = 0; i < asked.count; i++)
    if (!page_value(c->page[i], read_register, &values[i])) return false;
  return true;
}
#else
static inline bool read_pages(const struct counters* c, int64_t* values) {
  (void)c, (void)values;
  return false;
}
#endif

static bool read_group(const struct counters* c, int64_t* values) {
  struct {
    uint64_t count;
    int64_t value[TRACE_COUNTERS];
  } group;
  const ssize_t size = (ssize_t)(sizeof group.count + asked.count * sizeof *values);
  /* A group that has no place on the processor reads as the end of a file; a program may have closed all its files. */
  const int error = errno;
  const bool whole = read(c->file[0], &group, (size_t)size) == size && group.count == asked.count;
  errno = error;
  if (whole) memcpy(values, group.value, asked.count * sizeof *values);
  return whole;
}

static inline bool read_all(const struct counters* c, int64_t* values) {
  return LIKELY(c->by_page) ? read_pages(c, values) : read_group(c, values);
}

/* Without the kernel, where it allows that for all of them. */
static void map_pages(struct counters* c) {
  int64_t values[TRACE_COUNTERS];
  bool all = true;
  for (unsigned i = 0; i < asked.count && all; i++) {
    void* page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, c->file[i], 0);
    c->page[i] = page == MAP_FAILED ? NULL : page;
    all = c->page[i] && c->page[i]->cap_user_rdpmc;
  }
  c->by_page = all && read_pages(c, values);
  for (unsigned i = 0; i < asked.count; i++) {
    if (c->by_page) {
      /* The page keeps the counter. */
      close(c->file[i]);
      c->file[i] = -1;
    } else if (c->page[i]) {
      munmap(c->page[i], (size_t)sysconf(_SC_PAGESIZE));
      c->page[i] = NULL;
    }
  }
}

/* Time of a reading and counts between two readings: the least of several rounds. False: they do not count. */
static bool measure(struct counters* c) {
  enum { ROUNDS = 5, READINGS = 32 };
  int64_t least = INT64_MAX;
  for (unsigned i = 0; i < asked.count; i++) asked.empty[i] = INT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    const int64_t begin = clock_now();
    for (int n = 0; n < READINGS / 2; n++) {
      if (!read_all(c, c->begun) || !read_all(c, c->now)) return false;
      for (unsigned i = 0; i < asked.count; i++)
        if (c->now[i] - c->begun[i] < asked.empty[i]) asked.empty[i] = c->now[i] - c->begun[i];
    }
    const int64_t each = (clock_now() - begin) / READINGS;
    if (each < least) least = each;
  }
  for (unsigned i = 0; i < asked.count; i++) {
    /* Virtual machines may have counters that never move. */
    const bool moves = asked.event[i].type == PERF_TYPE_HARDWARE && asked.event[i].config <= 1;
    if (moves && c->now[i] <= 0) return false;
  }
  asked.reading = least > 0 ? least : 1;
  asked.least = 2 * SHARE * asked.reading > TRACE_LONG_NS ? 2 * SHARE * asked.reading : TRACE_LONG_NS;
  return true;
}

static int read_paranoid(void) {
  int level = INT32_MAX;
  FILE* file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
  if (file && fscanf(file, "%d", &level) != 1) level = INT32_MAX;
  if (file) fclose(file);
  return level;
}

void counters_attach(struct thread* thread) {
  static bool parsed;
  const bool first = !parsed;
  if (first) parse();
  parsed = true;
  if (!asked.count || thread->counters) return;
  struct trace_header* header = thread->header;
  struct counters* c = recorder_allocate(sizeof *c);
  int error = 0;
  for (unsigned i = 0; i < TRACE_COUNTERS; i++) c->file[i] = -1;
  for (unsigned i = 0; i < asked.count && !error; i++) {
    c->file[i] = open_event(i, i ? c->file[0] : -1);
    if (c->file[i] < 0) error = errno;
  }
  if (!error && ioctl(c->file[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP)) error = errno;
  if (!error) {
    map_pages(c);
    if (first && !measure(c)) error = ENODATA;
  }
  if (!error && !asked.reading) error = ENODATA;
  memcpy(header->counters, process.header.counters, sizeof header->counters);
  header->counter_error = error;
  header->counter_paranoid = read_paranoid();
  header->counter_ns = (int32_t)asked.reading;
  if (error) release(c);
  else thread->counters = c;
}

void counters_detach(struct thread* thread) {
  if (thread->counters) release(thread->counters);
  thread->counters = NULL;
}

/* ---- Between calls ---- */

void counters_start(void) {
  struct thread* thread = here;
  struct counters* c = thread ? thread->counters : NULL;
  if (!c) return;
  thread->own_ns += asked.reading;
  thread->own_cpu += asked.reading;
  c->running = read_all(c, c->begun);
}

void counters_stop(struct counters* c) {
  c->stopped = c->running && read_all(c, c->now);
  c->running = false;
}

void counters_mark(struct counters* c, int64_t computed) { c->marked += computed; }

void counters_passed(struct thread* thread, int64_t computed) {
  struct counters* c = thread->counters;
  computed = (computed > 0 ? computed : 0) + c->marked;
  c->marked = 0;
  int64_t* score = &c->score[c->last % PATHS];
  *score += computed - asked.least;
  if (*score > CREDIT * asked.least) *score = CREDIT * asked.least;
  if (*score < -DEBT * asked.least) *score = -DEBT * asked.least;
  if (!c->stopped) return;
  c->stopped = false;
  if (thread->polls && thread->poll[0]->what == POLLED_WAITING && computed < POLL_NS) return;
  c->sum.intervals++;
  c->sum.ns += computed;
  for (unsigned i = 0; i < asked.count; i++) {
    const int64_t counted = c->now[i] - c->begun[i] - asked.empty[i];
    c->sum.value[i] += counted > 0 ? counted : 0;
  }
}

bool counters_pay(struct counters* c, uint32_t path) {
  c->last = path;
  return c->score[path % PATHS] >= 0;
}

void counters_write(struct thread* thread, uint32_t path) {
  struct counters* c = thread->counters;
  if (c->sum.intervals) {
    struct trace_counted* record = record_reserve(TRACE_COUNTED, sizeof *record);
    if (record) {
      c->sum.head = record->head;
      *record = c->sum;
      record->before = c->before;
      record->after = path;
      record_commit(thread->header->last_ns);
    }
    memset(&c->sum, 0, sizeof c->sum);
  }
  c->before = path;
}

void counters_forget(struct thread* thread) {
  struct counters* c = thread->counters;
  if (!c) return;
  c->running = c->stopped = false;
  c->marked = 0;
  memset(&c->sum, 0, sizeof c->sum);
}

void counters_finish(int64_t computed) {
  struct thread* thread = here;
  if (!thread || !thread->counters) return;
  counters_stop(thread->counters);
  counters_passed(thread, computed);
  if (atomic_load(&writing)) counters_write(thread, 0);
  counters_detach(thread);
}
