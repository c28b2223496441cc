/* Before main: threads find each other and shared objects get their places. After it: they wait for each other. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"
#include "starts.h"
#ifdef ISTHMUS_UPC_MPI
#include <isthmus/isthmus_mpi.h>
/* What the linker makes of calls with --wrap. */
int __real_MPI_Init_thread(int* argc, char*** argv, int wanted, int* given);
int __real_MPI_Finalize(void);
int __wrap_MPI_Init(int* argc, char*** argv);
int __wrap_MPI_Init_thread(int* argc, char*** argv, int wanted, int* given);
int __wrap_MPI_Finalize(void);
#endif

isthmus_space* isthmus_upc_space;
uint32_t isthmus_upc_threads, isthmus_upc_thread;
int isthmus_upc_control;
char* isthmus_upc_own;

static isthmus_team* team;
static uint64_t ends; /* offset of a process number and an exit status of every thread */
static pid_t owner;

/* Lists that the linker makes of what translated files leave. */
#define LIST(type, name)                                               \
  extern type __start_isthmus_upc_list_##name[] __attribute__((weak)); \
  extern type __stop_isthmus_upc_list_##name[] __attribute__((weak));
LIST(const isthmus_upc_object* const, objects)
typedef void (*starter)(void);
LIST(const starter, starts)
LIST(const uint64_t, threads)

void isthmus_upc_fail(const char* doing) {
  fflush(NULL);
  fprintf(stderr, "thread %u: %s: %s\n", isthmus_upc_thread, doing, isthmus_last_error());
  _exit(1);
}

void isthmus_upc_refuse(const char* format, ...) {
  va_list list;
  va_start(list, format);
  fflush(NULL);
  fprintf(stderr, "thread %u: ", isthmus_upc_thread);
  vfprintf(stderr, format, list);
  fprintf(stderr, "\n");
  va_end(list);
  _exit(1);
}

/* One allocation holds all static objects: each at a multiple of 64. */
static void place_objects(void) {
  uint64_t bytes = 64, at;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass) {
      check(isthmus_allocate_all(isthmus_upc_space, bytes, &at), "static shared memory");
      check(isthmus_set(isthmus_upc_space, isthmus_upc_thread, at, 0, bytes), "static shared memory");
      at += 64; /* offset 0 is that of null */
    }
    for (const isthmus_upc_object* const* object = __start_isthmus_upc_list_objects;
         object < __stop_isthmus_upc_list_objects; ++object) {
      const isthmus_upc_object* const o = *object;
      uint64_t count = o->count;
      for (uint64_t i = 0; i < o->threads; ++i) count *= isthmus_upc_threads;
      const uint64_t size =
          (isthmus_shared_bytes(count, o->bytes, (uint32_t)o->block, isthmus_upc_threads) + 63) / 64 * 64;
      if (!pass) bytes += size;
      else if (*o->offset == 0) *o->offset = at, at += size;
    }
  }
  check(isthmus_barrier(isthmus_upc_space, NULL), "start");
  if (isthmus_upc_thread) return;
  for (const isthmus_upc_object* const* object = __start_isthmus_upc_list_objects;
       object < __stop_isthmus_upc_list_objects; ++object) {
    const isthmus_upc_object* const o = *object;
    isthmus_shared p = isthmus_shared_first(*o->offset);
    for (uint64_t i = 0; i < o->given; ++i) {
      check(isthmus_put(isthmus_upc_space, p.rank, p.offset, (const char*)o->values + i * o->bytes, o->bytes),
            "initial value");
      p = isthmus_shared_add(p, 1, o->bytes, (uint32_t)o->block, isthmus_upc_threads);
    }
  }
}

/* upc_global_exit(): a signal ends the others with the same status. */
static void ended(int number) {
  const int* const mine = isthmus_cast(isthmus_upc_space, isthmus_upc_thread, ends);
  (void)number;
  if (!ftrylockfile(stdout)) {
    funlockfile(stdout);
    fflush(stdout);
  }
  _exit(mine[1]);
}

void upc_global_exit(int status) {
  fflush(NULL);
#ifdef ISTHMUS_UPC_MPI
  MPI_Abort(MPI_COMM_WORLD, status);
#endif
  for (uint32_t rank = 0; rank < isthmus_upc_threads; ++rank) {
    int* const other = isthmus_cast(isthmus_upc_space, rank, ends);
    if (rank == isthmus_upc_thread || !other) continue;
    other[1] = status;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    kill(other[0], SIGUSR2);
  }
  _exit(status);
}

static void leave(int status, void* unused) {
  (void)unused;
  if (status || getpid() != owner) return; /* a thread that failed waits for nobody */
  fflush(NULL);
  check(isthmus_barrier(isthmus_upc_space, NULL), "end of the program");
  signal(SIGUSR2, SIG_IGN);
  check(isthmus_space_leave(isthmus_upc_space), "end of the program");
  check(isthmus_leave(team), "end of the program");
#ifdef ISTHMUS_UPC_MPI
  __real_MPI_Finalize();
#endif
}

#ifdef ISTHMUS_UPC_MPI
/* The program's own calls: MPI has begun before main, and ends after it. */
int __wrap_MPI_Init(int* argc, char*** argv) {
  (void)argc, (void)argv;
  return MPI_SUCCESS;
}
int __wrap_MPI_Init_thread(int* argc, char*** argv, int wanted, int* given) {
  (void)argc, (void)argv, (void)wanted;
  return MPI_Query_thread(given);
}
int __wrap_MPI_Finalize(void) { return MPI_SUCCESS; }

static void find_each_other(void) {
  int given;
  __real_MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
  check(isthmus_join_mpi(MPI_COMM_WORLD, &team), "start");
}
#else
static void find_each_other(void) {
  isthmus_job job = {.size = sizeof job};
  static char name[40];
  if (!getenv("ISTHMUS_JOB") && !getenv("ISTHMUS_RANKS") && !getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMI_SIZE") &&
      !getenv("SLURM_NTASKS")) { /* started by hand: one thread */
    snprintf(name, sizeof name, "upc-%d", (int)getpid());
    job.name = name;
    job.ranks = 1;
  }
  check(isthmus_join(job.name ? &job : NULL, &team), "start");
}
#endif

static void __attribute__((constructor)) join(void) {
  find_each_other();
  isthmus_upc_threads = isthmus_ranks(team), isthmus_upc_thread = isthmus_rank(team);
  for (const uint64_t* threads = __start_isthmus_upc_list_threads; threads < __stop_isthmus_upc_list_threads; ++threads)
    if (*threads && *threads != isthmus_upc_threads) {
      if (!isthmus_upc_thread)
        fprintf(stderr, "this program was translated for %llu threads (-T) and is run with %u\n",
                (unsigned long long)*threads, isthmus_upc_threads);
      _exit(2);
    }
  check(isthmus_space_make(team, NULL, &isthmus_upc_space), "start");
  isthmus_upc_own = isthmus_cast(isthmus_upc_space, isthmus_upc_thread, 0);
  isthmus_upc_locks_start();
  isthmus_upc_rows_start();
  place_objects();
  check(isthmus_allocate_all(isthmus_upc_space, 64, &ends), "start");
  int* const mine = isthmus_cast(isthmus_upc_space, isthmus_upc_thread, ends);
  mine[0] = owner = getpid();
  mine[1] = 0;
  signal(SIGUSR2, ended);
  setvbuf(stdout, NULL, _IOLBF, 0);
  on_exit(leave, NULL);
  isthmus_upc_rows_measure();
  check(isthmus_barrier(isthmus_upc_space, NULL), "start");
  for (const starter* start = __start_isthmus_upc_list_starts; start < __stop_isthmus_upc_list_starts; ++start)
    (*start)();
}
