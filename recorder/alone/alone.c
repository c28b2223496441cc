/* The recorder of programs that use no MPI: from isthmus_join() to isthmus_leave(). */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../describe.h"
#include "../pgas.h"
#include "../recorder.h"

#define NAME(symbol, shown) , "isthmus_" shown
const char* const function_names[] = {NULL PGAS_FUNCTIONS(NAME)};
const unsigned function_count = PGAS_COUNT;
const unsigned pgas_before = 0;

bool pgas_begin(int rank, int ranks, int64_t begin_ns, int64_t end_ns) {
  struct trace_header* h = &process.header;
  const char* directory = getenv("ISTHMUS_DIRECTORY");
  if (atomic_load(&recorder_on) || here) return false;
  if (!directory || directory[0] != '/' || strlen(directory) >= sizeof process.directory) return false;
  strcpy(process.directory, directory);
  process.rank = rank;
  process.ranks = ranks;
  process.threads = true; /* nobody says what threads there will be */
  process.level = 3;
  describe_header(h);
  strcpy(h->library, "libisthmus");
  /* Clocks of several hosts are not compared. */
  h->sync[0] = h->sync[1] = (struct trace_sync){.local_ns = end_ns, .error_ns = -1};
  h->world_local = (uint32_t)ranks;
  const int64_t setup = clock_now() - end_ns;
  process.init_begin = h->init_begin = begin_ns + setup;
  process.init_end = h->init_end = end_ns + setup;
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  h->started_realtime_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (clock_now() - h->init_begin);
  if (!thread_attach()) return false;
  atomic_store(&writing, true);
  const struct call call = {
      .function = pgas_before + PGAS_join, .begin = h->init_begin, .end = h->init_end, .cpu_gap = -1};
  record_plain(&call);
  regions_begin();
  ending_watch();
  counters_attach(here);
  process.cpu_before = clock_process();
  here->cpu_base = clock_thread();
  here->last_end = here->wall_base = clock_now();
  here->gap_unknown = true;
  here->header->recorder_ns = here->last_end - end_ns;
  const int64_t more = here->last_end - process.init_end;
  here->header->init_begin = process.init_begin += more;
  here->header->init_end = process.init_end += more;
  atomic_store(&recorder_on, true);
  return true;
}

void pgas_end(int64_t begin_ns) {
  if (!atomic_load(&recorder_on) || !here) return;
  const int64_t computed = thread_computed(here, begin_ns - here->last_end, clock_thread());
  counters_finish(computed);
  const int64_t cpu = clock_process() - process.cpu_before;
  atomic_store(&recorder_on, false);
  threads_mark(TRACE_FINALIZED, 0, 0);
  threads_close();
  for (struct thread* thread = atomic_load(&all_threads); thread; thread = thread->all) {
    thread->header->ended_ns = 0;
    thread->header->tail_cpu_ns = thread == here ? computed : -1;
    thread->header->cpu_ns = cpu;
    thread->header->finalize_begin = begin_ns;
    thread->header->finalize_end = 0;
  }
}

void pgas_ended(void) {
  const int64_t now = clock_now();
  for (struct thread* thread = atomic_load(&all_threads); thread; thread = thread->all)
    if (thread->header->finalize_begin && !thread->header->finalize_end) thread->header->finalize_end = now;
}
