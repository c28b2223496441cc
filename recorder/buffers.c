/* The file of each thread. It is written through a window mapped into memory, so that what was written is in the file
 * however the process ends. Room on the disk is taken before it is mapped: a full disk is an error code here, not a
 * SIGBUS in the middle of the program. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recorder.h"

/* Bytes of traces of a process where nothing else is said: tens of millions of calls. */
#define LIMIT_DEFAULT 2000000000u
enum { TOUCHED = 64 << 10, WINDOW_LEAST = 16 << 10, WINDOW_FIRST = 128 << 10, WINDOW_MOST = 4 << 20 };

_Thread_local struct thread* here;
_Thread_local int depth;
_Atomic(struct thread*) all_threads;
atomic_bool writing;

static pthread_mutex_t threads_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_end_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct thread* free_threads;
static int threads_made;
static uint64_t file_limit;
static _Atomic uint64_t file_bytes;

static void thread_ended(void* data) {
  /* Its file goes on with the next thread that begins. */
  struct thread* thread = data;
  counters_detach(thread);
  pthread_mutex_lock(&threads_mutex);
  thread->free = free_threads;
  free_threads = thread;
  pthread_mutex_unlock(&threads_mutex);
}

static void prepare(void) {
  pthread_key_create(&thread_end_key, thread_ended);
  const char* limit = getenv("ISTHMUS_LIMIT");
  file_limit = limit ? strtoull(limit, NULL, 10) : LIMIT_DEFAULT;
  if (!file_limit) file_limit = UINT64_MAX;
}

/* Maps `bytes` of the file from `place` on, which is a multiple of the page size; NULL: no room. */
static void* map_file(const char* path, uint64_t place, size_t bytes, int flags) {
  int file = open(path, O_RDWR | O_CLOEXEC | flags, 0666);
  if (file < 0) return NULL;
  void* at = MAP_FAILED;
  struct rlimit most;
  int error = 0;
  /* Beyond this limit the kernel sends a signal that ends the program. */
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && place + bytes > most.rlim_cur)
    error = EFBIG;
  else do
      error = posix_fallocate(file, (off_t)place, (off_t)bytes);
    while (error == EINTR);
  if (!error) at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)place);
  if (!error && at == MAP_FAILED) error = errno;
  /* A new file without room stays, empty: whoever merges learns that this rank was there. */
  if (error && flags & O_TRUNC && ftruncate(file, 0)) error = errno;
  errno = error;
  return at == MAP_FAILED ? NULL : at;
}

static struct thread* thread_make(void) {
  struct thread* thread = recorder_allocate(sizeof *thread);
  snprintf(thread->path, sizeof thread->path, "%s/%d.%d.%ld.trace", process.directory, process.rank, threads_made,
           (long)getpid());
  thread->header = map_file(thread->path, 0, TRACE_HEADER, O_CREAT | O_TRUNC);
  if (!thread->header) {
    static bool said;
    if (!said)
      fprintf(stderr, "isthmus: rank %d is not recorded: %s: %s\n", process.rank, thread->path, strerror(errno));
    said = true;
    recorder_release(thread, sizeof *thread);
    return NULL;
  }
  struct trace_header* header = thread->header;
  *header = process.header;
  header->thread = (uint32_t)threads_made++;
  header->started_ns = header->thread ? clock_now() : process.init_begin;
  header->last_ns = header->started_ns;
  thread->last_end = clock_now();
  thread->gap_unknown = true;
  thread->all = atomic_load(&all_threads);
  atomic_store(&all_threads, thread);
  return thread;
}

bool thread_attach(void) {
  static _Thread_local bool failed;
  if (failed) return false;
  pthread_once(&once, prepare);
  pthread_mutex_lock(&threads_mutex);
  struct thread* thread = free_threads;
  if (thread) {
    free_threads = thread->free;
    thread->last_end = clock_now();
    thread->gap_unknown = true;
  } else {
    thread = thread_make();
  }
  pthread_mutex_unlock(&threads_mutex);
  failed = !thread;
  if (failed) {
    threads_mark(TRACE_LOST_CALLS, 0, 0);
    return false;
  }
  here = thread;
  pthread_setspecific(thread_end_key, thread);
  thread->wall_base = thread->last_end;
  thread->cpu_base = clock_thread();
  paths_attach(thread);
  if (atomic_load(&recorder_on)) counters_attach(thread);
  return true;
}

/* Takes the pages of the next records, so that none of them has to wait for a page of the file in the middle. */
static void window_touch(struct thread* thread, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* const from = thread->window + (size_t)(thread->end - thread->window) / page * page;
  size_t size = (size_t)(thread->next - from) + bytes;
  size = size < TOUCHED ? TOUCHED : (size + page - 1) / page * page;
  if (size > (size_t)(thread->window_end - from)) size = (size_t)(thread->window_end - from);
#ifdef MADV_POPULATE_WRITE
  const bool touched = madvise(from, size, MADV_POPULATE_WRITE) == 0;
#else
  const bool touched = false;
#endif
  for (char* at = from; !touched && at < from + size; at += page) {
    volatile char* byte = at < thread->next ? thread->next : at;
    if (byte < thread->window_end) *byte = 0;
  }
  thread->end = from + size;
}

/* Another window, with the place of the next record in it. */
static bool window_move(struct thread* thread, size_t bytes) {
  uint64_t place = TRACE_HEADER + thread->header->used;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint64_t begin = place / page * page;
  size_t size = thread->window_bytes ? 4 * thread->window_bytes : WINDOW_FIRST;
  if (size > WINDOW_MOST) size = WINDOW_MOST;
  const size_t least = place - begin + bytes;
  char* window = NULL;
  bool limited = false;
  /* The last of the room is taken in small pieces. */
  for (; !window && size >= WINDOW_LEAST; size /= 2) {
    const size_t taken = size < least ? (least + page - 1) / page * page : size;
    const bool allowed = atomic_fetch_add(&file_bytes, taken) + taken <= file_limit;
    window = allowed ? map_file(thread->path, begin, taken, 0) : NULL;
    limited = !allowed;
    if (window) {
      size = taken;
      break;
    }
    atomic_fetch_sub(&file_bytes, taken);
  }
  if (!window) {
    thread->full = true;
    thread->header->flags |= TRACE_FULL | (limited ? (uint32_t)TRACE_LIMITED : 0);
    return false;
  }
  if (thread->window) munmap(thread->window, thread->window_bytes);
  atomic_fetch_add(&recorder_memory, (long long)size - (long long)thread->window_bytes);
  thread->window = window;
  thread->window_bytes = size;
  thread->next = window + (place - begin);
  thread->end = thread->next;
  thread->window_end = window + size;
  thread->polls = 0;
  thread->header->cpu_ns = clock_process() - process.cpu_before;
  return true;
}

/* Room where there is none; how long that takes is no time of the program. */
static bool make_room(struct thread* thread, size_t bytes) {
  const int64_t begin = clock_now(), cpu = clock_thread();
  const bool room = (size_t)(thread->window_end - thread->next) >= bytes || window_move(thread, bytes);
  if (room) window_touch(thread, bytes);
  thread->own_cpu += clock_thread() - cpu;
  thread->own_ns += clock_now() - begin;
  return room;
}

void* record_reserve(unsigned kind, size_t bytes) {
  struct thread* thread = here;
  if (UNLIKELY(!thread)) return NULL;
  bytes = (bytes + 7) & ~(size_t)7;
  if (UNLIKELY(thread->full || (size_t)(thread->end - thread->next) < bytes)) {
    if (thread->full || !make_room(thread, bytes)) {
      thread->header->lost++;
      return NULL;
    }
  }
  struct trace_head* head = (struct trace_head*)thread->next;
  head->kind = (uint16_t)kind;
  head->unused = 0;
  head->words = (uint32_t)(bytes / 8);
  return head;
}

void record_commit(int64_t at) {
  struct thread* thread = here;
  const struct trace_head* head = (const struct trace_head*)thread->next;
  size_t bytes = 8 * (size_t)head->words;
  if (head->kind != TRACE_POLLS) thread->polls = 0;
  thread->next += bytes;
  thread->header->last_ns = at;
  /* The record first: whoever reads `used` finds it whole. */
  atomic_signal_fence(memory_order_release);
  *(volatile uint64_t*)&thread->header->used += bytes;
}

void record_name(unsigned function) {
  const char* name = function_names[function];
  size_t length = strlen(name) + 1;
  struct named {
    struct trace_head head;
    uint64_t id;
    char name[];
  }* record = record_reserve(TRACE_NAME, sizeof *record + length);
  if (!record) return;
  record->id = function;
  memset(record->name, 0, 8 * (size_t)record->head.words - sizeof *record);
  memcpy(record->name, name, length);
  here->named[function / 8] |= (uint8_t)(1u << function % 8);
  record_commit(here->header->last_ns);
}

void counts_write(struct thread* thread) {
  struct thread* before = here;
  here = thread;
  for (unsigned function = 1; function <= function_count; function++) {
    if (!thread->counts[function]) continue;
    if (!(thread->named[function / 8] >> function % 8 & 1)) record_name(function);
    struct trace_count* record = record_reserve(TRACE_COUNT, sizeof *record);
    if (!record) break;
    record->function = function;
    record->count = thread->counts[function];
    thread->counts[function] = 0;
    record_commit(thread->header->last_ns);
  }
  thread->counted = 0;
  here = before;
}

void threads_mark(uint32_t flags, uint32_t signal, int32_t sender) {
  int64_t cpu = clock_process() - process.cpu_before;
  for (struct thread* thread = atomic_load(&all_threads); thread; thread = thread->all) {
    /* What was first has ended it; what follows is how it went on. */
    const bool ending = thread->header->flags & TRACE_SIGNALLED;
    thread->header->flags |= flags;
    if (signal && !ending) {
      thread->header->signal = signal;
      thread->header->signal_sender = sender;
    }
    if (!ending && flags & (TRACE_ABORTED | TRACE_SIGNALLED | TRACE_EXITED)) {
      thread->header->ended_ns = clock_now();
      /* Nobody knows here what another thread did. */
      const bool outside = thread == here && (depth == 0 || flags & TRACE_ABORTED);
      const int64_t used = clock_thread() - (thread->cpu_base + (thread->last_end - thread->wall_base));
      thread->header->tail_cpu_ns = outside && used > 0 ? used : 0;
    }
    thread->header->cpu_ns = cpu;
    thread->header->recorder_bytes = atomic_load(&recorder_memory);
  }
}

void threads_close(void) {
  for (struct thread* thread = atomic_load(&all_threads); thread; thread = thread->all) {
    counts_write(thread);
    /* Room that was taken and not needed; a file that cannot be cut is longer, no more. */
    if (truncate(thread->path, (off_t)(TRACE_HEADER + thread->header->used))) continue;
    /* A window beyond the end of the file must not be written to; sessions may begin again. */
    if (thread->window) {
      munmap(thread->window, thread->window_bytes);
      atomic_fetch_sub(&recorder_memory, (long long)thread->window_bytes);
    }
    thread->window = thread->next = thread->end = thread->window_end = NULL;
    thread->window_bytes = 0;
    thread->polls = 0;
  }
}
