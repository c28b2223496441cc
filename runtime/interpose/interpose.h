/* Collectives of Isthmus under an MPI program: interfaces between the parts, and what generated entry points call.
 *
 * An entry point of a blocking collective is
 *   if (!taking()) return PMPI_X(...);
 *   struct arguments a = {...};                     // the same in C and Fortran
 *   struct turn turn;
 *   if (collective_run(&a, &turn)) return turn.error;  // carried out by Isthmus
 *   turn.error = PMPI_X(...);
 *   collective_ran(&turn);                          // counted, and timed where it is compared
 * Everything inside runs at depth 1, so that what the library, its callbacks or this part call there is not taken.
 * Whether a call is taken is the same on all ranks of its communicator: it depends on the communicator, the
 * collective, the operator, and how many such calls came before, never on what a rank alone knows. */
#ifndef ISTHMUS_INTERPOSE_H
#define ISTHMUS_INTERPOSE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "beneath.h"
#include "fortran.h"

/* ---- what was called, in either language ---- */
enum collective {
  BARRIER,
  BCAST,
  REDUCE,
  ALLREDUCE,
  GATHER,
  GATHERV,
  SCATTER,
  SCATTERV,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  ALLTOALLW,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BLOCK,
  SCAN,
  EXSCAN,
  NEIGHBOR_ALLGATHER,
  NEIGHBOR_ALLGATHERV,
  NEIGHBOR_ALLTOALL,
  NEIGHBOR_ALLTOALLV,
  NEIGHBOR_ALLTOALLW,
  COLLECTIVES
};
extern const char* const collective_names[COLLECTIVES];

struct ints {
  const void* at;
  size_t width;
};
struct types {
  const void* at;
  bool fortran;
};
/* One buffer, as bcast has, is the receive buffer; one count or type is that of both sides. */
struct arguments {
  enum collective kind;
  const void* sbuf;
  void* rbuf;
  int64_t scount, rcount;
  MPI_Datatype stype, rtype;
  struct ints scounts, sdispls, rcounts, rdispls;
  struct types stypes, rtypes;
  MPI_Op op;
  int root;
  MPI_Comm comm;
  bool kept; /* arrays and types of data are copies */
};
static inline int64_t int_at(struct ints a, int64_t i) {
  return a.width == sizeof(int) ? ((const int*)a.at)[i] : ((const int64_t*)a.at)[i];
}
static inline MPI_Datatype type_at(struct types a, int64_t i) {
  return a.fortran ? PMPI_Type_f2c(((const MPI_Fint*)a.at)[i]) : ((const MPI_Datatype*)a.at)[i];
}
/* ---- arguments.c ---- */
struct communicator;
/* The buffer that a Fortran program means. */
void* fortran_buffer(void* argument);
/* Makes arrays and derived types the call's own; types of reductions stay those that operators are called with. */
void arguments_keep(struct arguments* a, const struct communicator* c);
void arguments_release(struct arguments* a, const struct communicator* c);

/* ---- process.c ---- */
extern bool taking_on; /* between MPI_Init and MPI_Finalize, where Isthmus takes collectives over */
extern _Thread_local int depth __attribute__((tls_model("initial-exec")));
static inline bool taking(void) { return taking_on && depth == 0; }
struct process {
  int rank, ranks; /* of the world */
  struct whole {
    isthmus_team* team; /* NULL: there is none */
    MPI_Group group;    /* its ranks, as MPI knows them */
    bool concurrent;    /* a thread may go on with it beside the MPI library */
  } node, world;        /* the ranks of this node; all, where there are several nodes */
  MPI_Comm own;         /* of this rank alone: by it the MPI library is given time */
  unsigned looks;       /* in vain, after which others get the processor of one that waits */
  bool several_nodes;
  bool sessions;        /* alone, without MPI_Init: there is no world whose ranks could join */
  bool several_threads; /* may call at once */
  bool compares;        /* a sample of calls goes to the MPI library */
  bool reproducible;    /* numbers are combined in the order of the MPI library */
  bool online;          /* calls that come often are tuned */
};
extern struct process process;
void process_begin(void); /* behind MPI_Init */
void process_end(void);   /* before MPI_Finalize */
#ifdef MPI_SESSION_NULL
void process_session(MPI_Session session); /* behind MPI_Session_init */
#endif
/* One line on standard error. */
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
/* All that is kept here is used by one thread at a time; the wait for others gives way in between. */
void enter(void);
void leave(void);
void lock(void);
void unlock(void);
/* Goes on with all that is under way; `aside`: while another thread is in the MPI library. */
void progress(bool aside);
/* Gives time to others, after so many looks in a row that found nothing. */
void go_on(unsigned looks);

/* ---- communicators.c ---- */
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum { ORDERS = 64 };                     /* lists of them */
enum { CLASSES = 6, NO_CLASS = CLASSES }; /* of sizes; the last one: ranks do not know those of others */
struct tally;
struct order;
struct communicator {
  isthmus_team* team; /* NULL: its calls go to the MPI library */
  const char* why;    /* then */
  bool own_team;      /* to be left with it */
  bool may_tune;
  bool concurrent; /* calls that do not wait are taken */
  int rank, size;
  int references;
  bool neighbours_known;
  int ins, outs;    /* neighbours */
  int *in, *out;    /* their ranks; MPI_PROC_NULL: none */
  bool twice;       /* some rank has a neighbour twice: MPI libraries differ in which block is which */
  bool both_sides;  /* of a grid: what is sent to one side comes from the other, whoever is there */
  const char* away; /* why their collectives go to the MPI library; NULL: they do not */
  uint64_t key;     /* no other communicator of a node with a rank of this one has it */
  bool compares;    /* calls that do not wait, too */
  struct tally* tallies[COLLECTIVES][CLASSES + 1];
  struct series* series[COLLECTIVES][CLASSES + 1]; /* of nonblocking calls */
  uint32_t persistent;                             /* requests made */
  struct sides {
    uint32_t under_way[2], begun[2]; /* calls that are compared, ours and theirs */
  } persistent_sides;
  struct prepared* prepared[COLLECTIVES]; /* the last calls of each kind that can be used again */
  struct order* orders[ORDERS];
};
void communicators_begin(void);
void communicators_end(void);
/* Of a communicator; made if it may be, which all ranks do together. NULL: it is none. */
struct communicator* communicator_of(MPI_Comm comm, bool may_make);
void communicator_made(MPI_Comm comm);
void communicator_drop(struct communicator* c);
void communicator_neighbours(struct communicator* c, MPI_Comm comm);

/* ---- reorder.c: communicators with a topology ---- */
/* How the MPI library is called for one: as the program does, or with its ranks in another order already. */
struct reordered {
  const char* kind;
  MPI_Comm comm;
  int reorder;
  bool own; /* the communicator is to be freed */
  /* Neighbours of MPI_Dist_graph_create_adjacent; as they are, where the program gives none. */
  int ins, outs;
  const int *sources, *source_weights, *destinations, *destination_weights;
  int* memory;
};
void reorder_begin(void); /* all ranks, behind MPI_Init */
void reorder_end(void);
/* All ranks of the communicator call these, and reordered_end() behind the MPI library's. */
void reorder_cart(struct reordered* r, MPI_Comm comm, int n, const int* dims, const int* periods, int reorder);
void reorder_graph(struct reordered* r, MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder);
void reorder_dist_graph(struct reordered* r, MPI_Comm comm, int n, const int* sources, const int* degrees,
                        const int* destinations, const int* weights, bool weighted, int reorder);
/* `weighted`: how many of both sides are. */
void reorder_adjacent(struct reordered* r, MPI_Comm comm, int ins, const int* sources, const int* source_weights,
                      int outs, const int* destinations, const int* destination_weights, int weighted, int reorder);
void reordered_end(struct reordered* r);

/* ---- types.c ---- */
struct type {
  MPI_Datatype handle;
  int64_t size, extent;
  bool dense;  /* its elements lie one after the other, in the order of the type */
  bool named;  /* predefined */
  int element; /* isthmus_element of predefined numbers; -1: none */
};
struct type type_of(MPI_Datatype type);
void type_pack(const struct type* type, const void* from, int64_t count, void* to);
void type_unpack(const struct type* type, const void* from, void* to, int64_t count);

/* ---- operators.c ---- */
/* How a reduction is done. By the library of MPI: elements are combined by MPI_Reduce_local. */
struct reduction {
  bool by_mpi;
  bool exact;      /* the result is the same in every order of the operands, but for a NaN or the sign of a zero */
  bool of_program; /* the operator */
  isthmus_operator operation;
  bool commutes;
  MPI_Op op;
  struct type type;
  int64_t element_bytes;
};
/* NULL, or why the MPI library has to do it. */
const char* reduction_of(MPI_Op op, MPI_Datatype type, struct reduction* reduction);
void reduction_combine(const void* left, const void* right, void* out, size_t elements, void* reduction);

/* ---- sides.c ---- */
/* What a rank gives, or gets: blocks of elements. */
struct side {
  char* base;
  struct type type;
  int64_t count; /* of each block, without counts */
  int blocks;
  struct ints counts, displs;
  struct types types; /* a type for each block; displacements are in bytes then */
  const int* ranks;   /* of the blocks: none is where there is MPI_PROC_NULL; NULL: all are there */
};
int64_t side_block(const struct side* s, int block); /* bytes */
/* Where a block is; false: its bytes do not lie one after the other. */
bool side_place(const struct side* s, int block, char** at);
int64_t side_bytes(const struct side* s);
/* Where all of it lies one after the other; false if it does not. */
bool side_lies(const struct side* s, void** at);
void side_pack(const struct side* s, void* to);
void side_unpack(const struct side* s, const void* from);
/* One block of it, to another place. */
void side_pack_block(const struct side* s, int block, void* to);

/* ---- calls.c ---- */
/* A collective that is carried out by Isthmus. */
struct call {
  struct communicator* comm;
  isthmus_call call;
  struct reduction reduction;
  void *input, *output;   /* as Isthmus sees them */
  void *packed, *pending; /* own memory: the input, the output that is unpacked at the end */
  struct side to;         /* where it is unpacked */
};
bool reduces(enum collective kind);
/* Whether this rank gives something, and gets it into a buffer: the arguments for it mean something then. */
bool call_gives(const struct arguments* a, const struct communicator* c);
bool call_gets(const struct arguments* a, const struct communicator* c);
/* Whether calls of it may go each way. What depends on the MPI library may not change from call to call. */
bool call_comparable(enum collective kind, const struct communicator* c);
/* What decides whether a call is taken: NULL, or why it is not. */
const char* call_refused(const struct arguments* a, struct communicator* c, struct reduction* reduction);
/* Bytes of the vector or of a block, where all ranks know them; -1: they do not. */
int64_t call_size(const struct arguments* a, const struct communicator* c, int64_t* own);
/* False: there is no memory. */
bool call_prepare(struct call* call, const struct arguments* a, struct communicator* c,
                  const struct reduction* reduction);
void call_finish(struct call* call);
void call_release(struct call* call);

/* ---- prepared.c: calls as one of the last, of types without gaps, which need not be prepared again ---- */
enum buffer { NO_BUFFER, SENT, RECEIVED };
struct place {
  enum buffer buffer;
  ptrdiff_t at;
};
enum { ARRAYS = 4 }; /* of counts and displacements */
struct prepared {
  int64_t scount, rcount;
  MPI_Datatype stype, rtype;
  MPI_Op op;
  int root;
  bool sent_in_place, received_in_place, with_arrays;
  bool any_stype, any_rtype;  /* it means nothing */
  struct ints arrays[ARRAYS]; /* those that mean something */
  size_t lengths[ARRAYS];
  bool for_ever;  /* of predefined handles alone */
  uint32_t freed; /* handles, when it was made */
  struct place input, output;
  struct reduction reduction;
  isthmus_call call;
  isthmus_operation* operation; /* of it, for calls that wait; NULL: not made yet */
  int in_use;                   /* by calls that wait */
  int size_class;               /* as call_size() and class_of() say */
  int64_t own;
  struct prepared* next; /* used before */
};
/* Types and operators of the program that were freed: their handles may mean others now. */
extern uint32_t handles_freed;
static inline void handle_freed(void) { __atomic_fetch_add(&handles_freed, 1, __ATOMIC_RELEASE); }
/* NULL: it is to be prepared. */
struct prepared* prepared_call(struct communicator* c, const struct arguments* a);
/* Begins it, which its operator must not be one of the MPI library for; returns what isthmus_begin() returns. */
void* prepared_buffer(struct place place, const struct arguments* a);
struct request;
int prepared_begin(const struct prepared* p, const struct request* r, isthmus_operation** operation);
/* The same with its own operation, which is looked at so many times in vain. */
int prepared_carry_out(struct prepared* p, const struct communicator* c, const struct arguments* a, uint32_t looks);
/* Algorithms may be others from now on, also of calls of other sizes: which calls are kept is not the same on all
 * ranks. */
void prepared_renew(struct communicator* c);
/* Keeps what call_prepare() has made, if it can be used again. */
void prepared_keep(struct communicator* c, const struct arguments* a, const struct call* call);
void prepared_free(struct prepared* last); /* and all before it */

/* ---- collectives.c ---- */
struct turn {
  int error;
  struct tally* tally; /* where the time goes; NULL: nowhere */
  uint64_t begin;
  bool aside;
};
/* False: the MPI library is to be called, between this and collective_ran(). */
bool collective_run(const struct arguments* a, struct turn* turn);
void collective_ran(struct turn* turn);
int collective_failed(MPI_Comm comm, int status);
/* Carries out what call_prepare() has made, but for call_finish(). */
int collective_wait(const struct communicator* c, const struct call* call, MPI_Comm comm);
/* Until all ranks are there. */
int collective_meet(const struct communicator* c, MPI_Comm comm);

/* ---- orders.c ---- */
/* In runs that are reproducible: NULL, with the algorithm that combines as the MPI library does (NULL: any does), or
 * why the MPI library has to. All ranks. */
const char* order_of(const struct arguments* a, struct communicator* c, const struct reduction* r,
                     const char** algorithm);
void orders_free(struct communicator* c);

/* ---- series.c: who carries out calls that do not wait ---- */
enum turn_of { OURS, THEIRS, SIDES };
struct series;
struct series* series_of(struct communicator* c, enum collective kind, int size_class);
/* Of a persistent request alone, the `number`th of its communicator, which no other one has. */
struct series* series_alone(struct communicator* c, uint32_t number, enum collective kind, int size_class);
enum turn_of series_turn(struct series* s, bool* timed);
void series_free(struct series* s);
/* A call that is timed. */
struct sample {
  struct series* series; /* NULL: it is not */
  enum turn_of who;
  uint64_t ns;
  uint32_t others; /* calls of the other side that had begun */
  bool mixed;      /* one of them was under way */
  const struct exposed* thread;
};
void sample_begin(struct sample* sample, struct series* s, enum turn_of who, uint64_t ns); /* that its start took */
void sample_end(struct sample* sample);
void sample_drop(struct sample* sample); /* its end will not be seen */
/* Time of a thread in waits and tests, while there are samples. */
extern int samples_under_way;
extern _Thread_local struct exposed {
  uint64_t ns, since;
} exposed __attribute__((tls_model("initial-exec")));

/* ---- agreed.c: what ranks of a node agree on without waiting for each other ---- */
struct agreed;
/* Bounds of the times of both sides, sums over ranks. */
struct bounds {
  double ns[SIDES];
  bool unsure; /* a rank has measured too little */
};
void agreed_begin(MPI_Comm node);
void agreed_end(void);
bool agreed_can(void);
struct agreed* agreed_of(uint64_t key); /* NULL: there is no room, for all ranks */
/* False: never again. The verdict cannot hold in this window or before it. */
bool agreed_tell(struct agreed* a, unsigned round, uint64_t window, const struct bounds* own);
/* Whether the verdict holds in this window, which this rank comes to now. */
bool agreed_holds(struct agreed* a, unsigned round, uint32_t ranks, uint64_t window, struct bounds* all);

/* ---- requests.c ---- */
extern int requests_live; /* in the hands of the program */
extern int requests_busy; /* under way */
struct request {
  MPI_Request handle;
  struct arguments arguments;
  struct reduction reduction;
  struct communicator* comm;
  struct call call;
  isthmus_operation* operation;
  bool persistent, active, done, freed;
  uint32_t number; /* of a persistent one: the same on all ranks, which may start several in any order */
  char* algorithm; /* the same, while calls are tuned; NULL: the usual one */
  bool holds;      /* types or operators that the program may free */
  int error;
  /* The MPI library's own: of a call that is its turn; of a persistent one always, where both take turns. */
  MPI_Request theirs;
  bool by_theirs;
  struct series* series;
  struct sample sample;
  struct request* next; /* of those that are not used */
};
/* An entry point that does not wait is as one of a blocking collective:
 *   if (collective_start(&a, NONBLOCKING, request, &started)) return started.error;
 *   started.error = PMPI_X(..., request);
 *   collective_started(&started, request); */
struct started {
  int error;
  struct request* request; /* stands for that of the MPI library; NULL: the program gets the latter */
  uint64_t begin;
  bool timed;
};
bool collective_start(const struct arguments* a, enum form form, MPI_Request* handle, struct started* started);
void collective_started(struct started* started, MPI_Request* handle);
struct request* request_find(MPI_Request handle); /* NULL: it is the MPI library's */
bool request_test(struct request* r);             /* whether it is done, or inactive */
/* The program waits for nothing of ours: the MPI library may wait by itself. */
static inline bool requests_wait_alone(void) { return requests_busy == 0 && !process.several_threads; }
void request_wait_alone(struct request* r); /* of the MPI library's */
int request_end(struct request* r, MPI_Request* handle);
int request_start(struct request* r);
void request_free(struct request* r);
void requests_end(void);
/* Frees it later, as something uses it; false: not so. */
bool type_put_off(MPI_Datatype* type);
bool op_put_off(MPI_Op* op);

/* ---- waits.c: as the functions of MPI, where ours are among the requests or beside them ---- */
int waits_wait(MPI_Request* request, MPI_Status* status);
int waits_test(MPI_Request* request, int* flag, MPI_Status* status);
int waits_waitall(int n, MPI_Request* requests, MPI_Status* statuses);
int waits_testall(int n, MPI_Request* requests, int* flag, MPI_Status* statuses);
int waits_waitany(int n, MPI_Request* requests, int* index, MPI_Status* status);
int waits_testany(int n, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int waits_waitsome(int n, MPI_Request* requests, int* count, int* indices, MPI_Status* statuses);
int waits_testsome(int n, MPI_Request* requests, int* count, int* indices, MPI_Status* statuses);
int waits_request_get_status(MPI_Request request, int* flag, MPI_Status* status);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
int waits_request_get_status_all(int n, const MPI_Request* requests, int* flag, MPI_Status* statuses);
int waits_request_get_status_any(int n, const MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int waits_request_get_status_some(int n, const MPI_Request* requests, int* count, int* indices, MPI_Status* statuses);
#endif
int waits_start(MPI_Request* request);
int waits_startall(int n, MPI_Request* requests);
int waits_request_free(MPI_Request* request);
/* The end of a request of the MPI library, while ours go on. */
int waits_for_theirs(MPI_Request* request, MPI_Status* status);

/* ---- aside.c: while this thread is in a call that waits within the MPI library, another one goes on with ours ---- */
bool aside_begin(void); /* false: nothing is under way */
void aside_end(bool begun);
void aside_stop(void);

/* ---- tallies.c ---- */
uint64_t now_ns(void);
int class_of(int64_t bytes);
/* Of a communicator, a collective and a class of sizes: how calls take turns. */
struct tally* tally_of(struct communicator* c, enum collective kind, int size_class);
/* Whose turn the next call is. */
struct tally_turn {
  enum turn_of who;
  bool compared; /* it is not the turn of who is faster */
  bool timed;
  bool decides; /* all ranks call tally_decide() before it */
};
struct tally_turn tally_turn(struct tally* t);
void tally_time(struct tally* t, enum turn_of who, uint64_t ns);
/* All ranks: agrees whether the MPI library's own is faster. */
void tally_decide(struct tally* t, MPI_Comm comm);
void tally_free(struct tally* t);
/* The median of some times, which are sorted, and its interval of 95 % by order statistics. */
void interval_of(float* times, int n, double* low, double* middle, double* high);
/* For the report. */
void count_taken(enum form form, enum collective kind, int size_class, int64_t bytes);
void count_left(enum form form, enum collective kind, int size_class, int64_t bytes, const char* why);
void count_time(enum form form, enum collective kind, int size_class, enum turn_of who, float ns);
/* Of a communicator that may be reordered, at its first rank; `why` it was not, or NULL. */
void count_order(const char* kind, const char* why, const double hop_bytes[2]);
void counts_write(void);

/* Around a wait or a test of the program. */
static inline void exposed_begin(void) {
  if (UNLIKELY(samples_under_way > 0)) exposed.since = now_ns();
}
static inline void exposed_end(void) {
  if (LIKELY(exposed.since == 0)) return;
  exposed.ns += now_ns() - exposed.since;
  exposed.since = 0;
}

#endif
