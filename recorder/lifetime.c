/* From MPI_Init or the first session to MPI_Finalize or the last session. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "describe.h"
#include "recorder.h"

bool lifetime_seen;

int64_t lifetime_enter(void) {
  lifetime_seen = true;
  depth++;
  return clock_now();
}

static void describe_mpi(struct trace_header* h) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0, version = 0, subversion = 0;
  PMPI_Get_library_version(library, &length);
  library[strcspn(library, "\n")] = '\0';
  /* One blank for several, and for tabs. */
  size_t n = 0;
  for (const char* c = library; *c && n + 1 < sizeof h->library; c++) {
    const bool blank = *c == ' ' || *c == '\t';
    if (!blank || (n > 0 && h->library[n - 1] != ' ')) h->library[n++] = blank ? ' ' : *c;
  }
  h->library[n] = '\0';
  PMPI_Get_version(&version, &subversion);
  h->mpi_version = (uint32_t)version;
  h->mpi_subversion = (uint32_t)subversion;
}

/* Whether this process is one to record: the launcher asked for it, and it was not spawned by others (whose ranks
 * would be taken for those of the first world). */
static bool wanted(void) {
  const char* directory = getenv("ISTHMUS_DIRECTORY");
  if (!directory || directory[0] != '/' || strlen(directory) >= sizeof process.directory) return false;
  strcpy(process.directory, directory);
  if (!process.has_world) return true;
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  return parent == MPI_COMM_NULL;
}

static int64_t realtime_at(int64_t monotonic) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (clock_now() - monotonic);
}

static void write_init(unsigned function, int64_t begin_ns, int64_t end_ns) {
  const struct call call = {.function = function, .begin = begin_ns, .end = end_ns, .cpu_gap = -1};
  record_plain(&call);
}

/* The process has a rank. From here on it is recorded. */
static void begin(unsigned function, int64_t init_begin, int64_t init_end) {
  struct trace_header* h = &process.header;
  describe_header(h);
  describe_mpi(h);
  if (process.has_world) {
    process.synchronised = true;
    int local = 0;
    synchronise(&h->sync[0], &local);
    h->world_local = (uint32_t)local;
  } else {
    h->sync[0] = (struct trace_sync){.local_ns = init_end, .error_ns = -1};
  }
  h->sync[1] = h->sync[0];
  /* The time that all this takes is none of MPI_Init's nor of the program's: MPI_Init is moved to its end. */
  const int64_t setup = clock_now() - init_end;
  process.init_begin = h->init_begin = init_begin + setup;
  process.init_end = h->init_end = init_end + setup;
  h->started_realtime_ns = realtime_at(h->init_begin);
  if (!thread_attach()) return;
  communicators_begin();
  windows_begin();
  atomic_store(&writing, true);
  write_init(function, h->init_begin, h->init_end);
  costs_measure();
  regions_begin();
  ending_watch();
  counters_attach(here);
  process.cpu_before = clock_process();
  here->cpu_base = clock_thread();
  here->last_end = here->wall_base = clock_now();
  here->gap_unknown = true;
  here->header->recorder_ns = here->last_end - init_end;
  /* All this is the recorder's, too. */
  const int64_t more = here->last_end - process.init_end;
  here->header->init_begin = process.init_begin += more;
  here->header->init_end = process.init_end += more;
  atomic_store(&recorder_on, true);
  counters_start();
}

void lifetime_init(int64_t init_begin, unsigned function, int error) {
  const int64_t init_end = clock_now();
  int level = MPI_THREAD_SINGLE;
  if (depth == 1 && error == MPI_SUCCESS) {
    process.has_world = true;
    PMPI_Query_thread(&level);
    process.level = level == MPI_THREAD_MULTIPLE     ? 3
                    : level == MPI_THREAD_SERIALIZED ? 2
                    : level == MPI_THREAD_FUNNELED   ? 1
                                                     : 0;
    process.threads = process.threads || process.level == 3;
    if (process.sessions++ == 0 && wanted()) {
      PMPI_Comm_rank(MPI_COMM_WORLD, &process.rank);
      PMPI_Comm_size(MPI_COMM_WORLD, &process.ranks);
      PMPI_Comm_group(MPI_COMM_WORLD, &process.world);
      begin(function, init_begin, init_end);
    }
  }
  depth--;
}

#if MPI_VERSION >= 4
/* Sessions that begin when all were finalised. */
static void begin_again(void) {
  for (struct thread* thread = atomic_load(&all_threads); thread; thread = thread->all) {
    thread->header->flags &= ~(uint32_t)TRACE_FINALIZED;
    thread->last_end = clock_now();
    thread->gap_unknown = true;
  }
  communicators_begin();
  windows_begin();
  counters_attach(here);
  here->cpu_base = clock_thread();
  here->last_end = here->wall_base = clock_now();
  atomic_store(&recorder_on, true);
}

void lifetime_session(int64_t init_begin, unsigned function, int error, MPI_Session session) {
  const int64_t init_end = clock_now();
  if (depth == 1 && error == MPI_SUCCESS && process.sessions++ == 0) {
    const bool again = here != NULL;
    MPI_Group world;
    /* Sessions do not say what threads do with each other: as much as they may. */
    process.threads = true;
    process.level = 3;
    if (wanted() && PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) == MPI_SUCCESS) {
      process.world = world;
      PMPI_Group_rank(world, &process.rank);
      PMPI_Group_size(world, &process.ranks);
      if (again) begin_again();
      else begin(function, init_begin, init_end);
    }
  }
  depth--;
}
#endif

void lifetime_finalize_begin(void) {
  depth++;
  const int64_t begin_ns = clock_now();
  if (depth > 1 || --process.sessions > 0) return;
  struct trace_sync sync = process.header.sync[0];
  if (!atomic_load(&recorder_on)) {
    /* A rank that had no room for its trace takes part in what the others do. */
    if (process.synchronised) synchronise(&sync, NULL);
    return;
  }
  /* Between the last call and this one. */
  const int64_t computed = here ? thread_computed(here, begin_ns - here->last_end, clock_thread()) : -1;
  counters_finish(computed);
  const int64_t cpu = clock_process() - process.cpu_before;
  if (process.has_world) synchronise(&sync, NULL);
  /* Short after the beginning the clock is slow. */
  if (!process.costs_settled && clock_settled() && here) costs_measure();
  atomic_store(&recorder_on, false);
  threads_mark(TRACE_FINALIZED, 0, 0);
  threads_close();
  for (struct thread* thread = atomic_load(&all_threads); thread; thread = thread->all) {
    thread->header->sync[1] = sync;
    thread->header->ended_ns = 0;
    thread->header->tail_cpu_ns = thread == here ? computed : -1;
    thread->header->cpu_ns = cpu;
    thread->header->finalize_begin = begin_ns;
    thread->header->finalize_end = 0;
  }
  PMPI_Group_free(&process.world);
  communicators_end();
  windows_end();
  if (here) here->header->recorder_ns += clock_now() - begin_ns;
}

void lifetime_finalize_end(int error) {
  if (depth == 1 && error == MPI_SUCCESS && process.sessions == 0) {
    const int64_t now = clock_now();
    for (struct thread* thread = atomic_load(&all_threads); thread; thread = thread->all)
      if (thread->header->finalize_begin && !thread->header->finalize_end) thread->header->finalize_end = now;
  }
  depth--;
}

void lifetime_abort(void) {
  if (atomic_load(&recorder_on)) threads_mark(TRACE_ABORTED, 0, 0);
}
