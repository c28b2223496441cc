/* The process: from MPI_Init to MPI_Finalize, the ranks of its node, its one lock. */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>

#include "interpose.h"

bool taking_on;
_Thread_local int depth __attribute__((tls_model("initial-exec")));
struct process process;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void enter(void) {
  depth++;
  if (UNLIKELY(process.several_threads)) pthread_mutex_lock(&mutex);
}

void leave(void) {
  if (UNLIKELY(process.several_threads)) pthread_mutex_unlock(&mutex);
  depth--;
}

void lock(void) { pthread_mutex_lock(&mutex); }
void unlock(void) { pthread_mutex_unlock(&mutex); }

void say(const char* format, ...) {
  char line[512];
  va_list values;
  va_start(values, format);
  vsnprintf(line, sizeof line, format, values);
  va_end(values);
  fprintf(stderr, "isthmus: %s\n", line);
}

/* Others may wait for the MPI library to go on with what this rank began there: it is given time now and then, and so
 * are other processes, where there are more of them than processors. */
void go_on(unsigned looks) {
  enum { LOOKS_FOR_MPI = 64, LOOKS_FOR_OTHERS = 2000 };
  if (looks % LOOKS_FOR_MPI == LOOKS_FOR_MPI - 1) {
    int found;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, process.own, &found, MPI_STATUS_IGNORE);
  }
  if (UNLIKELY(process.several_threads)) {
    pthread_mutex_unlock(&mutex);
    if (looks > LOOKS_FOR_OTHERS) sched_yield();
    pthread_mutex_lock(&mutex);
  } else if (looks > LOOKS_FOR_OTHERS) {
    sched_yield();
  }
}

/* The ranks of this node, of which all communicators within it are groups. */
static void join_node(void) {
  MPI_Comm node;
  int first;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, process.rank, MPI_INFO_NULL, &node);
  PMPI_Comm_rank(node, &first);
  if (isthmus_join_mpi(node, &process.node) == ISTHMUS_DONE) {
    PMPI_Comm_group(node, &process.node_group);
  } else {
    process.node = NULL;
    const char* why = isthmus_last_error();
    if (first == 0) say("collectives are left to the MPI library: %s", *why ? why : "another rank could not join");
  }
  PMPI_Comm_free(&node);
}

void process_begin(void) {
  int level = MPI_THREAD_SINGLE;
  const char* compares = getenv("ISTHMUS_COMPARES");
  if (depth != 0 || taking_on || !getenv("ISTHMUS_COUNTS")) return;
  depth++;
  PMPI_Query_thread(&level);
  process.several_threads = level == MPI_THREAD_MULTIPLE;
  process.reproducible = getenv("ISTHMUS_REPRODUCIBLE") != NULL;
  process.compares = !process.reproducible && !(compares && compares[0] == '0');
  PMPI_Comm_rank(MPI_COMM_WORLD, &process.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &process.ranks);
  PMPI_Comm_dup(MPI_COMM_SELF, &process.own);
  communicators_begin();
  join_node();
  depth--;
  taking_on = true;
  communicator_made(MPI_COMM_WORLD);
  communicator_made(MPI_COMM_SELF);
}

void process_end(void) {
  if (depth != 0 || !taking_on) return;
  taking_on = false;
  depth++;
  counts_write();
  /* Nobody waits for this rank any more. */
  PMPI_Barrier(MPI_COMM_WORLD);
  aside_stop();
  requests_end();
  communicators_end();
  if (process.node) {
    isthmus_leave(process.node);
    PMPI_Group_free(&process.node_group);
  }
  process.node = NULL;
  PMPI_Comm_free(&process.own);
  depth--;
}

/* A child is no rank. */
static void in_child(void) { taking_on = false; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* A program that leaves without MPI_Finalize. */
__attribute__((destructor)) static void at_exit(void) {
  if (taking_on) counts_write();
}
