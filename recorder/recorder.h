/* Interfaces between the parts of the recorder, and functions that generated wrappers call.
 *
 * A wrapper of a recorded call is
 *   if (!recording()) return PMPI_X(...);
 *   struct call call CLEANUP;            // leaves again, C++ exceptions and cancelled threads included
 *   call_begin(&call, ID_X, address, frame);
 *   int error = PMPI_X(...);
 *   call_end(&call, error);
 *   if (error) record_plain(&call); else record_...(&call, ...);
 * Everything inside runs at depth 1: MPI calls that the library, its callbacks or the recorder make there are not
 * recorded. Tables (requests, communicators) are kept also where records are not written (see regions.c). */
#ifndef ISTHMUS_RECORDER_H
#define ISTHMUS_RECORDER_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fortran.h"
#include "trace.h"

/* Code for the instructions or conventions of one processor. ISTHMUS_PORTABLE leaves it out, as on all others. */
#if defined(__x86_64__) && !defined(ISTHMUS_PORTABLE)
#define ON_X86_64 1
#else
#define ON_X86_64 0
#endif

/* A handle as a number, pointer or int as it may be; the bits above are free for KEY_MESSAGE and KEY_FILE. */
#define HANDLE(handle) (sizeof(handle) == 4 ? (uint64_t)(uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))

/* ---- state.c: the process ---- */
struct process {
  char directory[4096]; /* of the raw traces; empty: nothing is recorded */
  int rank, ranks;      /* of the world */
  MPI_Group world;
  bool threads;      /* several threads may call MPI at once */
  uint32_t level;    /* of thread support: 0 to 3 */
  bool has_world;    /* MPI_COMM_WORLD exists: not with sessions alone */
  bool synchronised; /* clocks were compared in MPI_Init: so they are in MPI_Finalize */
  int sessions;      /* open ones, MPI_Init counts as one */
  int64_t init_begin, init_end;
  int64_t cpu_before;         /* processor time up to the end of MPI_Init */
  bool costs_settled;         /* costs were measured by a clock as fast as it will be */
  struct trace_header header; /* every file begins as this */
};
extern struct process process;
extern atomic_bool recorder_on;
extern atomic_llong recorder_memory;

/* As malloc and free, counted; where there is no memory the process is recorded no further. */
void* recorder_allocate(size_t bytes);
void* recorder_grow(void* old, size_t old_bytes, size_t bytes);
void recorder_release(void* block, size_t bytes);
void recorder_lock(void);
void recorder_unlock(void);

/* ---- buffers.c: the file of each thread ---- */
#define FUNCTIONS_MAX 1024
struct thread {
  struct trace_header* header;
  /* In the file: what is mapped, the place of the next record, the end of what was touched, the end of the window. */
  char *window, *next, *end, *window_end;
  size_t window_bytes;
  int64_t last_end;            /* of the record before */
  int64_t wall_base, cpu_base; /* when the thread's processor time was read, and what it was */
  int64_t own_ns, own_cpu;     /* since last_end: what making room for records took, by either clock */
  bool gap_unknown;            /* the next gap begins where no record ended */
  bool full;
  unsigned polls; /* records at the end of the file that are polls, most recent first */
  struct trace_polls* poll[16];
  struct site* sites; /* table of sites.c */
  uint32_t site_slots, site_count;
  struct paths* paths;       /* of paths.c */
  struct counters* counters; /* of counters.c; NULL: nothing is counted */
  uint64_t counted;
  uint64_t counts[FUNCTIONS_MAX];
  uint8_t named[FUNCTIONS_MAX / 8];
  char path[4352];
  struct thread *all, *free; /* lists of all threads, of those whose thread ended */
};
extern _Thread_local struct thread* here __attribute__((tls_model("initial-exec")));
extern _Thread_local int depth __attribute__((tls_model("initial-exec")));
extern _Atomic(struct thread*) all_threads;
extern atomic_bool writing; /* inside the region that is recorded */

bool thread_attach(void);                          /* a file for this thread; false: there is none */
void* record_reserve(unsigned kind, size_t bytes); /* NULL: not recorded. Then fill, then commit. */
void record_commit(int64_t at);
void record_name(unsigned function);
/* In the header of every file; safe in a signal handler. */
void threads_mark(uint32_t flags, uint32_t signal, int32_t sender);
void threads_close(void);
void counts_write(struct thread* thread);

/* ---- costs.c ---- */
void costs_measure(void);

/* ---- clock.c ---- */
int64_t clock_now(void);
int64_t clock_thread(void);
int64_t clock_process(void);
bool clock_settled(void); /* as fast as it will be */
/* ---- synchronise.c ---- */
void synchronise(struct trace_sync* sync, int* world_local);

/* ---- sites.c ---- */
uint32_t site_of(const void* address);

/* ---- paths.c ---- */
/* Number of the path of a call: its return address, and the frame (__builtin_frame_address(0)) of the wrapper. */
uint32_t path_of(const void* address, const void* frame);
void paths_attach(struct thread* thread);

/* ---- counters.c ---- */
void counters_attach(struct thread* thread); /* opens them for this thread, where they are asked for and allowed */
void counters_detach(struct thread* thread);
void counters_start(void);                                /* where the program goes on */
void counters_stop(struct counters* c);                   /* where it calls again; then how long it computed: */
void counters_mark(struct counters* c, int64_t computed); /* the same up to a mark */
void counters_passed(struct thread* thread, int64_t computed);
bool counters_pay(struct counters* c, uint32_t path);      /* whether to count behind this call */
void counters_write(struct thread* thread, uint32_t path); /* before the record of a call */
void counters_forget(struct thread* thread);               /* what was counted since the last one */
void counters_finish(int64_t computed);                    /* at the end of the rank */

/* ---- regions.c ---- */
void regions_begin(void);
void regions_call(unsigned function, const void* address);
void regions_control(int level);
extern bool regions_watched;

/* ---- calls.c ---- */
struct call {
  unsigned function;
  uint32_t path;
  int64_t begin, end, cpu_gap;
  int64_t asleep; /* since the call before: known to be off the processor */
  int error;
  bool counting; /* counters are started where it is left */
};
#define CLEANUP __attribute__((cleanup(call_leave)))
static inline bool recording(void) {
  return LIKELY(atomic_load_explicit(&recorder_on, memory_order_relaxed)) && depth == 0;
}
void call_begin(struct call* call, unsigned function, const void* address, const void* frame);
/* In the middle of a call, after a part of the program that it ran; the path stays. */
void call_again(struct call* call);
void call_end(struct call* call, int error);
static inline void call_leave(struct call* call) {
  if (UNLIKELY(call->counting)) counters_start();
  depth = 0;
}
void count_call(unsigned function);
/* Processor time of the program in a gap since the record before, at whose end the thread has had `cpu`. */
int64_t thread_computed(struct thread* thread, int64_t gap, int64_t cpu);
/* The record of a call with `bytes` behind it, filled but for these; NULL: not recorded. */
void* record_call(const struct call* call, unsigned form, uint32_t n, size_t bytes);
void record_plain(const struct call* call);
void record_poll(const struct call* call); /* found nothing */
void record_idle(const struct call* call); /* had nothing to do */
void record_mark(uint32_t what, int64_t value);
extern const char* const function_names[]; /* generated */
extern const unsigned function_count;

/* ---- arguments, whatever the language ---- */
struct ints {
  const void* at;
  size_t width;
};
struct handles {
  const void* at;
  bool fortran;
};
static inline int64_t int_at(struct ints a, int64_t i) {
  return a.width == 4 ? ((const int32_t*)a.at)[i] : ((const int64_t*)a.at)[i];
}
MPI_Datatype type_at(struct handles types, int64_t i);
uint64_t request_at(struct handles requests, int64_t i);
void status_at(struct handles statuses, int64_t i, MPI_Status* status);

/* ---- datatypes.c ---- */
struct type {
  uint64_t handle, epoch;
  uint64_t bytes;
  uint32_t derived;
};
struct type type_of(MPI_Datatype type);
uint64_t type_bytes(int64_t count, MPI_Datatype type);
void type_freed(void);
uint64_t status_bytes(const MPI_Status* status);

/* ---- communicators.c ---- */
struct communicator {
  uint64_t id, parent;
  int rank, size, remote; /* remote: size of the remote group, 0: no intercommunicator */
  int* world;             /* of the (remote) group's ranks; NULL: the same numbers */
  int references;
  int topology;
  bool neighbours_known;
  int ins, outs, *in, *out; /* neighbours, PROC_NULL is TRACE_NULL */
};
void communicators_begin(void);
void communicators_end(void);
struct communicator* communicator_of(MPI_Comm comm); /* NULL for MPI_COMM_NULL */
struct communicator* communicator_made(MPI_Comm comm, uint64_t parent, uint64_t salt);
struct communicator* communicator_promised(MPI_Comm parent); /* of MPI_Comm_idup */
void communicator_attach(MPI_Comm comm, struct communicator* c);
void communicator_keep(struct communicator* c);
void communicator_drop(struct communicator* c);
void communicator_neighbours(struct communicator* c, MPI_Comm comm);
int communicator_world(const struct communicator* c, int peer);
static inline int peer_number(int peer) {
  if (LIKELY(peer >= 0)) return peer;
  return peer == MPI_PROC_NULL ? TRACE_NULL : peer == MPI_ANY_SOURCE ? TRACE_ANY : peer == MPI_ROOT ? TRACE_ROOT : peer;
}
static inline int tag_number(int tag) { return tag == MPI_ANY_TAG ? TRACE_ANY : tag; }
void record_comm_made(const struct call* call, MPI_Comm parent, MPI_Comm comm, uint64_t salt);
void record_comm_idup(const struct call* call, MPI_Comm parent, struct handles comm, uint64_t request);
void record_comm_freed(const struct call* call, uint64_t id);
uint64_t communicator_id(MPI_Comm comm);

/* ---- requests.c ---- */
enum { REQUEST_SEND, REQUEST_RECEIVE, REQUEST_OTHER };
struct persistent; /* what a start records */
struct request {
  uint64_t key;
  struct request* next;        /* in the bucket */
  struct request *same, *last; /* further ones with the same handle, the last of them */
  const char* thread;          /* that added it */
  struct persistent* again;    /* persistent and partitioned requests */
  struct communicator* comm;   /* matched messages; the promised one of MPI_Comm_idup */
  struct handles place;        /* MPI_Comm_idup: where the communicator will be */
  uint32_t serial;
  uint8_t kind, active, cancelled, promised;
};
struct persistent {
  int messages;
  struct trace_message message[2];
  struct trace_collective collective;
  uint16_t kind; /* of request */
  bool is_collective;
  int64_t* counts;
};
#define KEY_MESSAGE ((uint64_t)1 << 63) /* MPI_Message in the same table */
#define KEY_FILE ((uint64_t)1 << 62)    /* MPI_File */
struct request* request_add(uint64_t key, int kind);
struct request* request_add_as(uint64_t key, int kind, uint32_t serial); /* of request_serial() */
struct request* request_find(uint64_t key);
struct request* request_take(uint64_t key); /* out of the table; then request_drop */
void request_drop(struct request* request);
uint32_t request_serial(void);

/* ---- messages.c ---- */
enum { SEND, RECEIVE };
enum { STANDARD, SYNCHRONOUS, BUFFERED, READY, PARTITIONED };
void record_send(const struct call* call, int mode, int64_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
void record_recv(const struct call* call, int source, int tag, MPI_Datatype type, MPI_Comm comm, struct handles status);
void record_sendrecv(const struct call* call, int64_t scount, MPI_Datatype stype, int dest, int stag, int source,
                     int rtag, MPI_Datatype rtype, MPI_Comm comm, struct handles status);
void record_start(const struct call* call, int direction, int mode, int64_t count, MPI_Datatype type, int peer, int tag,
                  MPI_Comm comm, uint64_t request);
void record_isendrecv(const struct call* call, int64_t scount, MPI_Datatype stype, int dest, int stag, int64_t rcount,
                      MPI_Datatype rtype, int source, int rtag, MPI_Comm comm, uint64_t request);
void record_init(const struct call* call, int direction, int mode, int64_t partitions, int64_t count, MPI_Datatype type,
                 int peer, int tag, MPI_Comm comm, uint64_t request);
void record_startall(const struct call* call, struct handles requests, int64_t n);
void record_matched(const struct call* call, MPI_Comm comm, uint64_t message);
void record_mrecv(const struct call* call, uint64_t message, MPI_Datatype type, struct handles status);
void record_imrecv(const struct call* call, uint64_t message, int64_t count, MPI_Datatype type, uint64_t request);

/* ---- completions.c ---- */
struct waiting {
  uint64_t one, *keys;
  int64_t n;
};
MPI_Status* own_statuses(int64_t n);
void waiting_one(struct waiting* w, uint64_t request);
void waiting_all(struct waiting* w, struct handles requests, int64_t n);
void record_done(const struct call* call, const struct waiting* w, struct handles statuses);
void record_done_one(const struct call* call, const struct waiting* w, int64_t index, int base, struct handles requests,
                     struct handles status);
void record_done_some(const struct call* call, const struct waiting* w, int64_t n, struct ints indices, int base,
                      struct handles requests, struct handles statuses);
void record_freed(const struct call* call, const struct waiting* w);
void record_cancel(const struct call* call, uint64_t request);

/* ---- collectives.c ---- */
struct collective {
  struct trace_collective record;
  struct communicator* comm;
  int64_t* counts;
};
/* The call that makes the request (0 none) or the persistent request. */
void record_collective(const struct call* call, struct collective* k);
void record_icollective(const struct call* call, struct collective* k, uint64_t request);
void record_collective_init(const struct call* call, struct collective* k, uint64_t request);
void write_collective(const struct call* call, const struct trace_collective* record, const int64_t* counts);
/* The collective of a persistent request; `first`: of all that the call has started. The others count as no call. */
void record_started(const struct call* call, const struct persistent* again, bool first);
int64_t* scratch_counts(int64_t n);
/* Whether the operator of a reduction commutes. */
void set_op(struct collective* k, MPI_Op op);
void op_freed(void);
void set_barrier(struct collective* k, MPI_Comm comm);
void set_other(struct collective* k, MPI_Comm comm);
void set_bcast(struct collective* k, int64_t count, MPI_Datatype type, int root, MPI_Comm comm);
void set_reduce(struct collective* k, bool in_place, int64_t count, MPI_Datatype type, int root, MPI_Comm comm);
void set_vector(struct collective* k, int kind, bool in_place, int64_t count, MPI_Datatype type, MPI_Comm comm);
void set_gather(struct collective* k, bool in_place, int64_t scount, MPI_Datatype stype, int64_t rcount,
                MPI_Datatype rtype, int root, MPI_Comm comm);
void set_scatter(struct collective* k, bool in_place, int64_t scount, MPI_Datatype stype, int64_t rcount,
                 MPI_Datatype rtype, int root, MPI_Comm comm);
void set_gatherv(struct collective* k, bool in_place, int64_t scount, MPI_Datatype stype, struct ints rcounts,
                 MPI_Datatype rtype, int root, MPI_Comm comm);
void set_scatterv(struct collective* k, bool in_place, struct ints scounts, MPI_Datatype stype, int64_t rcount,
                  MPI_Datatype rtype, int root, MPI_Comm comm);
void set_blocks(struct collective* k, int kind, bool in_place, int64_t scount, MPI_Datatype stype, int64_t rcount,
                MPI_Datatype rtype, MPI_Comm comm); /* allgather, alltoall */
void set_allgatherv(struct collective* k, bool in_place, int64_t scount, MPI_Datatype stype, struct ints rcounts,
                    MPI_Datatype rtype, MPI_Comm comm);
void set_alltoallv(struct collective* k, bool in_place, struct ints scounts, MPI_Datatype stype, struct ints rcounts,
                   MPI_Datatype rtype, MPI_Comm comm);
void set_alltoallw(struct collective* k, bool in_place, struct ints scounts, struct handles stypes, struct ints rcounts,
                   struct handles rtypes, MPI_Comm comm);
void set_reduce_scatter(struct collective* k, bool in_place, struct ints counts, MPI_Datatype type, MPI_Comm comm);
void set_reduce_scatter_block(struct collective* k, bool in_place, int64_t count, MPI_Datatype type, MPI_Comm comm);

/* ---- neighbours.c ---- */
void set_neighbor(struct collective* k, int64_t scount, MPI_Datatype stype, int64_t rcount, MPI_Datatype rtype,
                  MPI_Comm comm); /* allgather, alltoall */
void set_neighbor_gatherv(struct collective* k, int64_t scount, MPI_Datatype stype, struct ints rcounts,
                          MPI_Datatype rtype, MPI_Comm comm);
void set_neighbor_alltoallv(struct collective* k, struct ints scounts, MPI_Datatype stype, struct ints rcounts,
                            MPI_Datatype rtype, MPI_Comm comm);
void set_neighbor_alltoallw(struct collective* k, struct ints scounts, struct handles stypes, struct ints rcounts,
                            struct handles rtypes, MPI_Comm comm);

/* ---- windows.c ---- */
void windows_begin(void);
void windows_end(void);
void record_win_made(const struct call* call, MPI_Comm comm, MPI_Win win);
uint64_t window_number(MPI_Win win);
void record_win_freed(const struct call* call, uint64_t number);
/* target == TRACE_NONE: none. request: of MPI_Rput and the like, 0 otherwise. */
void record_rma(const struct call* call, int kind, int64_t count, MPI_Datatype type, int64_t fetched,
                MPI_Datatype fetched_type, int target, MPI_Win win, uint64_t request);
void record_sync(const struct call* call, int kind, int target, MPI_Win win);
void record_group_sync(const struct call* call, int kind, MPI_Group group, MPI_Win win);

/* ---- files.c ---- */
void file_opened(const struct call* call, MPI_Comm comm, MPI_File file);
void record_file_closed(const struct call* call, uint64_t id);
uint64_t file_id(MPI_File file);
uint64_t file_close(MPI_File file);
void record_io(const struct call* call, int write, bool collective, int64_t count, MPI_Datatype type, MPI_File file);

/* ---- lifetime.c ---- */
extern bool lifetime_seen; /* a call that begins MPI came here */
int64_t lifetime_enter(void);
void lifetime_init(int64_t begin, unsigned function, int error);
#if MPI_VERSION >= 4
void lifetime_session(int64_t begin, unsigned function, int error, MPI_Session session);
#endif
void lifetime_finalize_begin(void);
void lifetime_finalize_end(int error);
void lifetime_abort(void);
/* ---- ending.c ---- */
void ending_watch(void);

#endif
