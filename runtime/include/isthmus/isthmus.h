/* Collectives of Isthmus between processes of one node or, over MPI, of many: what is simulated is what runs.
 *
 *     isthmus_team *team;
 *     isthmus_call sum = {.size = sizeof sum, .kind = ISTHMUS_ALLREDUCE, .count = 1000, .element = ISTHMUS_F64};
 *     isthmus_join(NULL, &team);
 *     isthmus_run(team, &sum, mine, all);
 *     isthmus_leave(team);
 *
 * Every function returns a status: 0 done, 1 in progress, below 0 an error, whose words are in isthmus_last_error().
 * One thread at a time may use a team. All ranks of a team begin the same collectives in the same order. */
#ifndef ISTHMUS_H
#define ISTHMUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Of this header. A library of a later version serves programs that were compiled with it. */
#define ISTHMUS_VERSION 1
/* Of the library. */
int isthmus_version(void);

enum {
  ISTHMUS_DONE = 0,
  ISTHMUS_IN_PROGRESS = 1,
  ISTHMUS_INVALID = -1,     /* a wrong argument */
  ISTHMUS_UNSUPPORTED = -2, /* a valid one that cannot be served; the words name the alternative */
  ISTHMUS_SYSTEM = -3,      /* the system refused something, or other ranks did not start */
  ISTHMUS_FAILED = -4,      /* a rank died or left, or sent what was not expected: the team is of no use any more */
  ISTHMUS_MEMORY = -5       /* there is not enough memory */
};

/* Words of the last error of this thread; good until its next error. */
const char* isthmus_last_error(void);

/* -- who takes part ------------------------------------------------------------------------------------------------ */

typedef struct isthmus_team isthmus_team;

/* A message that has gone, or come. */
typedef struct isthmus_wire_end {
  uint64_t token; /* given when it was begun */
  uint64_t bytes; /* that came; ISTHMUS_WIRE_MORE: more than there is room for */
} isthmus_wire_end;
#define ISTHMUS_WIRE_MORE UINT64_MAX
#define ISTHMUS_WIRE_ANY UINT32_MAX /* a message of any rank */

/* Messages between processes that share no memory, as an MPI library passes them: isthmus_mpi.h fills it for the one
 * that a program is compiled with, so that libisthmus needs none. libisthmus itself has one for libfabric. Messages
 * from one rank to another with the same tag are received in the order in which they were sent; nothing is asked of
 * those with different tags. Functions return less than 0 where they fail. One thread at a time calls them. */
typedef struct isthmus_wire {
  size_t size;           /* sizeof(isthmus_wire) */
  uint32_t rank, ranks;  /* as in isthmus_job */
  uint32_t tags;         /* tags from 0 to below this one may be used */
  uint32_t concurrent;   /* not 0: another thread may call them while the program calls MPI (MPI_THREAD_MULTIPLE) */
  uint64_t most;         /* bytes of one message, at least 256 */
  const uint32_t* nodes; /* of each rank: ranks with the same number may share memory; NULL: none may. Good as long as
                            isthmus_join() runs */
  void* data;            /* handed to all functions */
  int (*send)(void* data, uint32_t to, uint32_t tag, const void* bytes, uint64_t count, uint64_t token);
  int (*receive)(void* data, uint32_t from, uint32_t tag, void* bytes, uint64_t count, uint64_t token);
  /* What has ended since the last call: their number; the list is good until the next call. -2: a rank has died, and
   * error() says all of it. */
  int64_t (*poll)(void* data, const isthmus_wire_end** ended);
  const char* (*error)(void* data); /* words of the last failure */
  /* The last call; other ranks close theirs too, unless `failed`: then they may have died, and messages under way are
   * given up. */
  void (*close)(void* data, int failed);
  /* Messages of up to 1 MiB go in pieces of so many bytes, the same on all ranks, which should be no more than leave
   * before the receiver has been asked: nobody answers while the program computes. 0: they are asked for. */
  uint64_t piece;
  const char* name; /* what messages go over, for words of errors; default: "MPI" */
  /* Windows: memory that other ranks read and write by themselves. NULL: there are none. All `count` ranks of `members`
   * open one together, with memory of their own, and close it; 1: it cannot be had. `failed`: as of close(). */
  int (*open_window)(void* data, const uint32_t* members, uint32_t count, void* memory, uint64_t bytes, void** window);
  void (*close_window)(void* window, int failed);
  /* `rank`: its place in `members`. At most `most` bytes. put() and get() are done when flush() of that rank returns,
   * change() when it returns itself: an atomic operation, of an isthmus_element of 4 or 8 bytes, by an
   * isthmus_atomic_operator, with the bits of all values. NULL: there are none through windows. */
  int (*put)(void* window, uint32_t rank, uint64_t at, const void* from, uint64_t bytes);
  int (*get)(void* window, uint32_t rank, uint64_t at, void* to, uint64_t bytes);
  int (*flush)(void* window, uint32_t rank);
  int (*change)(void* window, uint32_t rank, uint64_t at, uint32_t element, uint32_t operation, uint64_t operand,
                uint64_t expected, uint64_t* before);
  /* What was put to that rank may be overwritten when it returns. NULL: flush() serves. */
  int (*flush_local)(void* window, uint32_t rank);
} isthmus_wire;

/* Processes for which this number is the same can share memory: they see one /dev/shm of one kernel. */
uint64_t isthmus_memory(void);

/* Members that are 0 take their defaults. */
typedef struct isthmus_job {
  size_t size;      /* sizeof(isthmus_job) */
  const char* name; /* letters, digits, '-', '_', '.': the same on all ranks, another one for every job */
  uint32_t rank;
  uint32_t ranks;
  uint32_t patience_ms;     /* how long to wait for the others to start; default: a minute */
  uint32_t cached;          /* most calls whose schedules are kept; default: 64 */
  void (*say)(const char*); /* given what a user may want to know, a line each; default: nobody is */
  /* Not 0, or ISTHMUS_CHECK=1 in the environment, on all ranks: calls are compared before they begin, which takes three
   * more collectives each. Calls that do not match are ISTHMUS_INVALID on all ranks, in words that name call, ranks and
   * places. */
  uint32_t check;
  const char* table;        /* path of a decision table, see isthmus_use(); default: ISTHMUS_TABLE of the environment */
  const isthmus_wire* wire; /* to ranks that share no memory with this one; the library calls its close() in any case.
                               Default: all ranks are processes of this node */
  const char* transport; /* "shm", "mpi" or "ofi" (libfabric) alone; "shm+mpi", "shm+ofi": shared memory inside a node,
                            the other between nodes. Default: ISTHMUS_TRANSPORT, or else shm+mpi with a wire and shm
                            without one */
  uint32_t silence_ms;   /* a wait for other nodes in which nothing has come for so long fails; default:
                            ISTHMUS_SILENCE, in seconds, or else never */
  const char* online;    /* path of a table that isthmus_tune() adds to and later runs start from; blocking calls
                            whose size nobody has tried yet are tuned first. Default: ISTHMUS_ONLINE, or none */
  /* Who goes on with what is under way while the program does something else: "none"; "thread", which looks every 20 us
   * and wants a core; "timer", which looks when it expects something to do; "auto", "thread" where
   * a core is free, otherwise "timer" for more than two ranks of several nodes and "none" for others. Default:
   * ISTHMUS_PROGRESS, or else none. Operators of the user are then called by that thread too. Over MPI it needs
   * MPI_THREAD_MULTIPLE. */
  const char* progress;
  /* For ofi: HOST:PORT where rank 0 listens while the ranks find each other; it tells them later who has died. Default:
   * ISTHMUS_RENDEZVOUS, or, with a wire, an address of rank 0 that is not of its own computer only. */
  const char* rendezvous;
  const char* fabric; /* for ofi: provider of libfabric; default: ISTHMUS_FABRIC, or else libfabric's choice */
} isthmus_job;

/* Joins the other ranks. `job` NULL: from the environment: ISTHMUS_JOB, ISTHMUS_RANK
 * and ISTHMUS_RANKS, the latter two by default those of the launcher (Open MPI, MPICH, Slurm). */
int isthmus_join(const isthmus_job* job, isthmus_team** team);
/* Leaves when all that this rank began is done; its operations are freed with it. Others need not leave, unless
 * there is a wire between nodes: then all ranks do. */
int isthmus_leave(isthmus_team* team);
uint32_t isthmus_rank(const isthmus_team* team);
uint32_t isthmus_ranks(const isthmus_team* team);
/* A team of some of the ranks of a team, this one among them, in the order of `members`; it needs no shared memory of
 * its own. `number` 0: its ranks agree on one, for which they wait for each other; two ranks make the groups that they
 * share in the same order. Otherwise nobody waits, and `number`, from 1 to below 2^31, is the same on all its ranks,
 * and another one for each group of the job to which two ranks belong together. It is left as any team; one that was
 * left before it stays until then. */
int isthmus_group(const isthmus_team* team, const uint32_t* members, uint32_t ranks, uint32_t number,
                  isthmus_team** group);
/* All ranks of the team call it: those that give the same colour are a team, in the order of their keys, and where keys
 * are equal in the order of the team. A rank whose colour is below 0 is in none: `part` becomes NULL. */
int isthmus_split(isthmus_team* team, int64_t colour, int64_t key, isthmus_team** part);
/* The number that a rank of one team has in another team of the same job; ISTHMUS_NO_RANK where it is not in it. */
#define ISTHMUS_NO_RANK UINT32_MAX
int isthmus_translate(const isthmus_team* team, uint32_t rank, const isthmus_team* other, uint32_t* found);
/* Goes on with everything that is under way in a team and in its groups. */
int isthmus_progress(isthmus_team* team);
/* Not 0: another thread may call isthmus_progress() while this one is in the MPI library. */
int isthmus_concurrent(const isthmus_team* team);
/* A program that waits by isthmus_test() should give its processor to others (sched_yield()) at each look after so many
 * in a row that found nothing: 1 where the ranks of the node share processors, as counted when they joined. */
uint32_t isthmus_looks(const isthmus_team* team);

/* -- collectives --------------------------------------------------------------------------------------------------- */

typedef enum isthmus_kind {
  ISTHMUS_BARRIER = 1,
  ISTHMUS_BCAST = 2,
  ISTHMUS_REDUCE = 3,
  ISTHMUS_ALLREDUCE = 4,
  ISTHMUS_GATHER = 5,
  ISTHMUS_ALLGATHER = 6,
  ISTHMUS_SCATTER = 7,
  ISTHMUS_ALLTOALL = 8,
  ISTHMUS_REDUCE_SCATTER = 9,
  ISTHMUS_SCAN = 10,
  ISTHMUS_EXSCAN = 11,
  ISTHMUS_NEIGHBOR_ALLTOALL = 12
} isthmus_kind;

typedef enum isthmus_element {
  ISTHMUS_I8 = 0,
  ISTHMUS_I16 = 1,
  ISTHMUS_I32 = 2,
  ISTHMUS_I64 = 3,
  ISTHMUS_U8 = 4,
  ISTHMUS_U16 = 5,
  ISTHMUS_U32 = 6,
  ISTHMUS_U64 = 7,
  ISTHMUS_F32 = 8,
  ISTHMUS_F64 = 9,
  ISTHMUS_C32 = 10, /* complex numbers of two floats */
  ISTHMUS_C64 = 11,
  ISTHMUS_BYTES = 12 /* `element_bytes` of each; reductions of them take `combine` */
} isthmus_element;

typedef enum isthmus_operator {
  ISTHMUS_SUM = 0,
  ISTHMUS_PRODUCT = 1,
  ISTHMUS_MIN = 2,
  ISTHMUS_MAX = 3,
  ISTHMUS_LAND = 4,
  ISTHMUS_LOR = 5,
  ISTHMUS_LXOR = 6,
  ISTHMUS_BAND = 7,
  ISTHMUS_BOR = 8,
  ISTHMUS_BXOR = 9
} isthmus_operator;

/* out = left (+) right for so many elements; `out` is one of the other two. */
typedef void (*isthmus_combine)(const void* left, const void* right, void* out, size_t elements, void* data);

/* What ranks wait for when they enter a collective and when they leave it, as in UPC. */
typedef enum isthmus_sync {
  ISTHMUS_SYNC_DEFAULT = 0, /* MY; in a space (isthmus_pgas.h) ALL */
  ISTHMUS_SYNC_NONE = 1,    /* nothing: data and room are there before any rank enters, and used after a barrier */
  ISTHMUS_SYNC_MY = 2,      /* buffers of a rank are used after it has entered and before it leaves, as in MPI */
  ISTHMUS_SYNC_ALL = 3      /* no buffer is used before all ranks have entered; none leaves before all are done */
} isthmus_sync;

/* Among the `counts` of neighbor_alltoall, in place of a rank. */
#define ISTHMUS_GAP (-1)

/* What is done, the same on all ranks but for `counts`. Members that are 0 take their defaults. */
typedef struct isthmus_call {
  size_t size; /* sizeof(isthmus_call) */
  isthmus_kind kind;
  isthmus_element element;
  isthmus_operator operation;
  uint32_t root;
  /* Elements: of the vector; of a rank's block (gather, allgather, scatter, reduce_scatter), of a block for one other
   * rank (alltoall). */
  uint64_t count;
  /* Elements where blocks differ, in place of `count`: those of all ranks in their order; alltoall: those sent to each
   * rank, then those that come from each; neighbor_alltoall: three for each neighbour: its rank, elements sent to it,
   * elements that come from it. Blocks lie one after the other. Three with ISTHMUS_GAP as rank: the blocks behind it
   * lie so many elements further on, or back if they are less than 0. Between two ranks the first block sent is the
   * first that comes, and so on. */
  const int64_t* counts;
  size_t counts_length;
  const char* algorithm;  /* one of `isthmus schedule algorithms`, `knomial,radix=4` with options; NULL: by the table */
  uint32_t in_place;      /* not 0: the rank's contribution is already where MPI_IN_PLACE expects it */
  uint32_t element_bytes; /* of ISTHMUS_BYTES */
  isthmus_combine combine; /* an operator of the user, in place of `operation` */
  void* data;              /* handed to it */
  uint32_t commutes;       /* not 0: operands of `combine` may change places, which allows more algorithms */
  isthmus_sync enter, leave;
  uint32_t apart; /* of bcast, not 0: the vector of the root is its `input`, and its `output` gets a copy */
  /* 0: ranks begin the calls of a team in the same order. Otherwise below 2^32, the same on all ranks, and that of no
   * other call under way: such calls begin in any order. They are not among those that isthmus_job.check compares. */
  uint64_t name;
} isthmus_call;

/* A collective that is under way, or that may be started. */
typedef struct isthmus_operation isthmus_operation;

/* Blocking. `input` is what MPI calls the send buffer, `output` the receive buffer; of bcast the vector is `output`. */
int isthmus_run(isthmus_team* team, const isthmus_call* call, const void* input, void* output);
/* Nonblocking: begins it; schedules are cached by the call. Buffers are not to be touched until it is done. */
int isthmus_begin(isthmus_team* team, const isthmus_call* call, const void* input, void* output,
                  isthmus_operation** operation);
/* Persistent: makes an operation that isthmus_start() begins any number of times, with any buffers. */
int isthmus_make(isthmus_team* team, const isthmus_call* call, isthmus_operation** operation);
int isthmus_start(isthmus_operation* operation, const void* input, void* output);
/* Begins it, and goes on with everything of the team until it is done, or `looks` times in vain; its status then. */
int isthmus_start_and_look(isthmus_operation* operation, const void* input, void* output, uint32_t looks);
/* Goes on with everything of the team; the status of this operation. Where it is not in progress any more, one that
 * isthmus_begin() gave is freed. */
int isthmus_test(isthmus_operation* operation);
/* The same, until it is not in progress any more. */
int isthmus_wait(isthmus_operation* operation);
/* Frees an operation of isthmus_make() that is not in progress. */
int isthmus_free(isthmus_operation* operation);

/* -- where ranks are ----------------------------------------------------------------------------------------------- */

/* The places of the ranks of a job on its machine, which `isthmus map --format places` writes. Needs no team. */
typedef struct isthmus_places isthmus_places;

/* One coordinate of nodes. A job has the smallest box of coordinates that holds its nodes. */
typedef struct isthmus_dimension {
  const char* name;
  uint32_t extent;
  uint32_t wraps; /* not 0: the last is next to the first */
} isthmus_dimension;

typedef struct isthmus_place {
  uint32_t node;               /* its number on the machine */
  uint32_t core;               /* of the node */
  const uint32_t* coordinates; /* of the node in the box, as many as there are dimensions */
} isthmus_place;

/* Reads a file; `file` NULL: the one that ISTHMUS_PLACES names. */
int isthmus_places_read(const char* file, isthmus_places** places);
/* Frees it, with all that the functions below have pointed to. */
void isthmus_places_free(isthmus_places* places);
uint32_t isthmus_places_ranks(const isthmus_places* places);
/* The number of dimensions, and what they are. */
size_t isthmus_dimensions(const isthmus_places* places, const isthmus_dimension** dimensions);
int isthmus_place_of(const isthmus_places* places, uint32_t rank, isthmus_place* place);
/* The ranks of the node at the coordinates, ascending; none where the job has no node. */
int isthmus_ranks_at(const isthmus_places* places, const uint32_t* coordinates, const uint32_t** ranks, size_t* count);
/* Links on the shortest way from one rank's node to another's. ISTHMUS_UNSUPPORTED where the file does not say. */
int isthmus_hops(const isthmus_places* places, uint32_t from, uint32_t to, uint32_t* hops);

/* What two ranks of a new communicator exchange. */
typedef struct isthmus_exchange {
  uint32_t from, to;
  double bytes; /* or any other weight */
} isthmus_exchange;

/* Finds which process is to be which rank of a new communicator, so that ranks that exchange much are few hops apart.
 * `members`, `size` of them, are the ranks of the job in the communicator that there is, in order; NULL: 0 to size - 1.
 * `order[i]` becomes the new rank of members[i], and `hop_bytes` (may be NULL) the sum of bytes times hops as it is and
 * in that order. Where no order has fewer, order[i] is i. The first `tasks` new ranks may exchange something; members
 * that are not needed for these come last, as MPI_Cart_create has it. Exchanges of the same two ranks are added up. The
 * result is the same on every computer: one rank calls it for all, or all do. `seconds` of processor time, about, are
 * for searches; 0: a millisecond for each task, at most one second. */
int isthmus_reorder(const isthmus_places* places, const uint32_t* members, uint32_t size, uint32_t tasks,
                    const isthmus_exchange* exchanges, size_t count, double seconds, uint32_t* order,
                    double hop_bytes[2]);

/* -- choice of algorithms ------------------------------------------------------------------------------------------ */

/* From now on calls without an algorithm take that of a decision table, in the plain text that `isthmus tune export
 * TABLE --for isthmus` writes; `path` NULL: of the table that comes with the library. All ranks call it at the same
 * place; rank 0 reads the file for all of them, and groups that are made later take it over. What the table does not
 * say, or an algorithm cannot do, is decided by the default table, which `isthmus_job.say` is told once. */
int isthmus_use(isthmus_team* team, const char* path);
/* The algorithm that a call takes, such as `knomial,radix=4`; `library` where the table leaves the decision to the MPI
 * library, and we would take a default. The text is good until the next use of the team. */
int isthmus_choice(isthmus_team* team, const isthmus_call* call, const char** algorithm);
/* The algorithms that can carry out a call, with spaces between them: first the one that it takes, then all others,
 * with their default options. The text is good until the next use of the team. */
int isthmus_algorithms(isthmus_team* team, const isthmus_call* call, const char** algorithms);

typedef enum isthmus_objective {
  ISTHMUS_LATENCY = 0,    /* of one call */
  ISTHMUS_THROUGHPUT = 1, /* time for each of several that are under way at once */
  ISTHMUS_EXPOSED = 2     /* what one call adds to `work`, which goes on meanwhile */
} isthmus_objective;

/* How algorithms are tried. Members that are 0 take their defaults. */
typedef struct isthmus_trial {
  size_t size; /* sizeof(isthmus_trial) */
  isthmus_objective objective;
  uint32_t budget_us; /* about how long it may take; default: 20 ms. Five turns of two algorithms take place anyway */
  void (*work)(void* data); /* a sample of what the program does between begin and wait: for ISTHMUS_EXPOSED */
  /* The same collective by another library, such as MPI's: where the best of ours takes more than 2 % longer, the
   * decision is `library`. Less than 0: it failed. */
  int (*external)(void* data, const void* input, void* output);
  void* data; /* handed to both */
} isthmus_trial;

/* Times the algorithms that can carry out a call, in turns, and decides for its collective and all sizes up to twice
 * the power of two below its own, by the longest time of any rank: the same on all ranks, which call it at the same
 * place. Another algorithm than the usual one is taken only where its confidence interval lies below. Buffers are as
 * for isthmus_run(); `output` is left as it was. `trial` NULL: latency. Operators of the user are not tried. */
int isthmus_tune(isthmus_team* team, const isthmus_call* call, const isthmus_trial* trial, const void* input,
                 const void* output);
/* For who tunes while a program runs, and waits for calls to come again: how often this was asked of the collective and
 * the sizes that a decision is for, by all ranks at the same places; 0 where there is a decision, nothing to decide, or
 * no file of `isthmus_job.online`. Less than 0: an error. */
int isthmus_untried(isthmus_team* team, const isthmus_call* call);

/* -- schedules as bytes -------------------------------------------------------------------------------------------- */

/* Makes a persistent operation from this rank's part of a schedule, as `isthmus run` writes it: with computations, for
 * which it is busy, and with buffers of its own; it is started without others. */
int isthmus_load(isthmus_team* team, const void* part, size_t bytes, isthmus_operation** operation);
/* One of its buffers, which stays where it is until the operation is freed. */
int isthmus_buffer(isthmus_operation* operation, uint32_t number, void** memory, uint64_t* bytes);
/* From the next start on, writes when each of its steps began and ended: nanoseconds of CLOCK_MONOTONIC. Both have as
 * many numbers as the part has steps; NULL: writes nothing. */
int isthmus_trace(isthmus_operation* operation, int64_t* begins, int64_t* ends);
/* The part of this rank in the schedule of a call, in the same form. Writes no more than `room` bytes; `bytes` is how
 * many there are. */
int isthmus_describe(isthmus_team* team, const isthmus_call* call, void* part, size_t room, size_t* bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
