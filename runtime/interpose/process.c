/* The process: from MPI_Init to MPI_Finalize, the ranks of its node, its one lock. */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

/* Every group says what holds for all of them. */
static void told(const char* words) {
  static char last[256];
  if (strncmp(last, words, sizeof last - 1) == 0) return;
  strncpy(last, words, sizeof last - 1);
  say("%s", words);
}

/* Memory for messages between all pairs of ranks is had now or never: later it would be too late to do without. */
static int reserve(isthmus_team* team) {
  enum { BYTES = 256 }; /* more than fit into a slot of a ring */
  const uint32_t ranks = isthmus_ranks(team);
  isthmus_call call = {.size = sizeof call, .kind = ISTHMUS_ALLTOALL, .element = ISTHMUS_U8, .count = BYTES};
  call.algorithm = "linear";
  char* memory = calloc(2 * (size_t)ranks, BYTES);
  const int status = memory ? isthmus_run(team, &call, memory, memory + ranks * BYTES) : ISTHMUS_MEMORY;
  free(memory);
  return status;
}

/* The ranks of this node, of which all communicators within it are groups. */
static void join_node(void) {
  MPI_Comm node;
  int rank, status, worst, first, mine;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, process.rank, MPI_INFO_NULL, &node);
  PMPI_Comm_rank(node, &rank);
  const isthmus_job job = {.size = sizeof job, .say = rank == 0 ? told : NULL};
  worst = status = isthmus_join_mpi_with(node, &job, &process.node);
  if (status == ISTHMUS_DONE) {
    status = reserve(process.node);
    /* Who has none leaves at once, so that nobody waits for it. */
    if (status != ISTHMUS_DONE) isthmus_leave(process.node);
    PMPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, node);
    if (status == ISTHMUS_DONE && worst != ISTHMUS_DONE) isthmus_leave(process.node);
  }
  if (worst == ISTHMUS_DONE) {
    PMPI_Comm_group(node, &process.node_group);
  } else {
    /* The words of one rank that knows the cause: others have only seen that it left. */
    const char* why = isthmus_last_error();
    process.node = NULL;
    mine = status != ISTHMUS_DONE && strstr(why, "has left") == NULL ? rank : INT_MAX;
    PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, node);
    if (rank == (first == INT_MAX ? 0 : first)) say("collectives are left to the MPI library: %s", why);
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
  process.compares = !(compares && compares[0] == '0');
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
