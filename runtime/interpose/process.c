/* The process: from MPI_Init to MPI_Finalize, the ranks of its node, its one lock. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose.h"

bool taking_on;
_Thread_local int depth __attribute__((tls_model("initial-exec")));
struct process process = {.looks = 2000};

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

void progress(bool aside) {
  const struct whole* const wholes[] = {&process.node, &process.world};
  for (int i = 0; i < 2; ++i)
    if (wholes[i]->team && (wholes[i]->concurrent || !aside)) isthmus_progress(wholes[i]->team);
}

/* Others may wait for the MPI library to go on with what this rank began there: it is given time now and then, and so
 * are other processes, where there are more of them than processors. */
void go_on(unsigned looks) {
  if (requests_busy > 0 && process.world.team) progress(false);
  enum { LOOKS_FOR_MPI = 64 };
  if (looks % LOOKS_FOR_MPI == LOOKS_FOR_MPI - 1) {
    int found;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, process.own, &found, MPI_STATUS_IGNORE);
  }
  if (UNLIKELY(process.several_threads)) {
    pthread_mutex_unlock(&mutex);
    if (looks + 1 >= process.looks) sched_yield();
    pthread_mutex_lock(&mutex);
  } else if (looks + 1 >= process.looks) {
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

/* The ranks of a communicator, of which others are groups. */
static void join(struct whole* whole, MPI_Comm comm, bool reserves) {
  int rank, status, worst, first, mine;
  PMPI_Comm_rank(comm, &rank);
  const isthmus_job job = {.size = sizeof job, .say = rank == 0 ? told : NULL};
  worst = status = isthmus_join_mpi_with(comm, &job, &whole->team);
  if (status == ISTHMUS_DONE && reserves) {
    status = reserve(whole->team);
    /* Who has none leaves at once, so that nobody waits for it. */
    if (status != ISTHMUS_DONE) isthmus_leave(whole->team);
    PMPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm);
    if (status == ISTHMUS_DONE && worst != ISTHMUS_DONE) isthmus_leave(whole->team);
  }
  if (worst == ISTHMUS_DONE) {
    PMPI_Comm_group(comm, &whole->group);
    whole->concurrent = isthmus_concurrent(whole->team);
    process.looks = isthmus_looks(whole->team);
    return;
  }
  /* The words of one rank that knows the cause: others have only seen that it left. */
  const char* why = isthmus_last_error();
  whole->team = NULL;
  mine = status != ISTHMUS_DONE && strstr(why, "has left") == NULL ? rank : INT_MAX;
  PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
  if (rank == (first == INT_MAX ? 0 : first)) say("collectives are left to the MPI library: %s", why);
}

/* Communicators within a node need no MPI, and go on beside it. */
static void join_all(void) {
  MPI_Comm node;
  int ranks, mine, any;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, process.rank, MPI_INFO_NULL, &node);
  join(&process.node, node, true);
  if (process.compares) agreed_begin(node);
  PMPI_Comm_size(node, &ranks);
  mine = ranks < process.ranks;
  PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  process.several_nodes = any != 0;
  if (any) join(&process.world, MPI_COMM_WORLD, false);
  PMPI_Comm_free(&node);
}

static void leave_team(struct whole* whole) {
  if (!whole->team) return;
  isthmus_leave(whole->team);
  PMPI_Group_free(&whole->group);
  whole->team = NULL;
}

void process_begin(void) {
  int level = MPI_THREAD_SINGLE;
  const char* compares = getenv("ISTHMUS_COMPARES");
  if (depth != 0 || (taking_on && !process.sessions) || !getenv("ISTHMUS_COUNTS")) return;
  depth++;
  process.sessions = false;
  PMPI_Query_thread(&level);
  process.several_threads = level == MPI_THREAD_MULTIPLE;
  process.compares = !(compares && compares[0] == '0');
  process.reproducible = getenv("ISTHMUS_REPRODUCIBLE") != NULL;
  process.online = getenv("ISTHMUS_ONLINE") != NULL;
  PMPI_Comm_rank(MPI_COMM_WORLD, &process.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &process.ranks);
  PMPI_Comm_dup(MPI_COMM_SELF, &process.own);
  communicators_begin();
  join_all();
  reorder_begin();
  depth--;
  taking_on = true;
  communicator_made(MPI_COMM_WORLD);
  communicator_made(MPI_COMM_SELF);
}

#ifdef MPI_SESSION_NULL
void process_session(MPI_Session session) {
  MPI_Group group;
  if (depth != 0 || taking_on || !getenv("ISTHMUS_COUNTS")) return;
  if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS) return;
  PMPI_Group_rank(group, &process.rank);
  PMPI_Group_size(group, &process.ranks);
  PMPI_Group_free(&group);
  communicators_begin();
  /* Another thread may have a session, too. */
  process.sessions = process.several_threads = true;
  taking_on = true;
}
#endif

/* MPI_Finalize of MPICH on UCX over TCP (4.0.2 on 1.13) waits for an answer of each rank, which only a rank gives that
 * looks for messages; whoever was answered no longer looks. A rank that looks before its own MPI_Finalize answers one
 * that never answers it: so none begins before all have had their last message. */
static void let_all_end(void) {
#ifdef MPICH
  enum { pause = 50000 }; /* microseconds, more than another process keeps a processor */
  if (dlsym(RTLD_DEFAULT, "ucp_worker_progress")) usleep(pause);
#endif
}

void process_end(void) {
  const bool apart = process.several_nodes || !process.node.team || !process.node.concurrent;
  if (depth != 0 || !taking_on || process.sessions) return;
  taking_on = false;
  depth++;
  counts_write();
  /* Nobody waits for this rank any more. */
  PMPI_Barrier(MPI_COMM_WORLD);
  aside_stop();
  requests_end();
  communicators_end();
  agreed_end();
  reorder_end();
  PMPI_Comm_free(&process.own);
  leave_team(&process.world);
  leave_team(&process.node);
  if (apart) let_all_end();
  depth--;
}

/* A child is no rank. */
static void in_child(void) { taking_on = false; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* A program that leaves without MPI_Finalize. */
__attribute__((destructor)) static void at_exit(void) {
  if (taking_on) counts_write();
}
