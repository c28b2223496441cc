/* The raw trace that the recorder leaves behind: one file per thread of each process, "RANK.THREAD.PID.trace" in the
 * directory of the recording (RANK is "x" until the process knows it). python/isthmus/recording/raw.py reads it; both
 * change together, with the version.
 *
 * A file is a header of TRACE_HEADER bytes and a sequence of records. It is written through a shared mapping: what a
 * process wrote before it was killed is in the file, and trace_header.used says how much of it is whole. All numbers
 * are in the byte order of the machine; a reader sees a foreign one by `order`.
 *
 * A record is whole 8-byte words: a trace_head, then words that depend on its kind. All times are nanoseconds of
 * CLOCK_MONOTONIC of the process's host; offsets between hosts are in trace_header.sync. */
#ifndef ISTHMUS_TRACE_H
#define ISTHMUS_TRACE_H

#include <stdint.h>

#define TRACE_MAGIC "ISTHMTRC"
#define TRACE_VERSION 3
#define TRACE_ORDER 0x01020304u
#define TRACE_HEADER 8192

/* Ranks and tags that are no numbers; every MPI library has its own for them. */
enum { TRACE_ANY = -1, TRACE_NULL = -2, TRACE_ROOT = -3, TRACE_OUTSIDE = -4, TRACE_MANY = -5, TRACE_NONE = -6 };

enum trace_flags {
  TRACE_FINALIZED = 1, /* MPI_Finalize (or the last MPI_Session_finalize) was reached */
  TRACE_ABORTED = 2,   /* MPI_Abort was called */
  TRACE_SIGNALLED = 4, /* a signal that ends the process was seen: trace_header.signal */
  TRACE_EXITED = 8,    /* exit() without finalising */
  TRACE_FULL = 16,     /* no room on the disk, or the limit reached: later records are only counted, in lost */
  TRACE_LOST_CALLS = 32,
  TRACE_LIMITED = 64 /* with TRACE_FULL: it was the limit, not the disk */
};

/* Time of the recorder itself for a call, outside the times of its record, by trace_form, then: */
enum {
  COST_POLL = 8,     /* a folded call */
  COST_CLOCK = 9,    /* more, where processor time is read */
  COST_OPENING = 10, /* a message that opens a request */
  COST_ALL = 17
};
#define TRACE_LONG_NS 10000 /* calls and gaps longer than this have it read */
#define TRACE_COUNTERS 4    /* of the processor, at most */

enum trace_paths {
  TRACE_PATHS_FOLLOWED = 1,
  TRACE_PATHS_PLACES = 2 /* only the places of calls, and lines of Python: nobody knows the stack of this processor */
};

/* The clock of rank 0's host when this host's showed local_ns: local_ns + offset_ns, give or take. */
struct trace_sync {
  int64_t local_ns, offset_ns, error_ns;
};

struct trace_header {
  char magic[8];
  uint32_t version, order;
  uint64_t used;          /* bytes of whole records behind the header */
  uint64_t lost;          /* records that were not written */
  uint32_t flags, signal; /* trace_flags */
  int32_t rank, ranks;    /* in MPI_COMM_WORLD (or of mpi://WORLD); -1 while unknown */
  uint32_t thread;        /* 0: the first that called MPI */
  uint32_t pid;
  uint32_t cpus;          /* this process may run on (affinity) */
  uint32_t cpus_online;   /* of the host */
  uint32_t threads_given; /* level of thread support provided by MPI, as the standard orders them 0 to 3 */
  uint32_t world_local;   /* ranks of the world on this host */
  int64_t started_ns;     /* when recording of this thread began */
  int64_t started_realtime_ns;
  /* 0: did not happen (yet). MPI_Init is moved by what the recorder did behind it: init_end is where the program goes
   * on. */
  int64_t init_begin, init_end, finalize_begin, finalize_end;
  int64_t last_ns;        /* time of the last record, or of the end of the process if that was seen */
  int64_t cpu_ns;         /* processor time of the process from init_end up to there */
  int64_t recorder_ns;    /* time the recorder itself spent in Init and Finalize */
  int64_t recorder_bytes; /* memory the recorder took */
  struct trace_sync sync[2];
  uint32_t mpi_version, mpi_subversion;
  uint32_t affinity[16]; /* the first 512 processors this process may run on, as bits */
  char host[256];
  char library[512];  /* MPI_Get_library_version, first line */
  char command[2048]; /* arguments separated by NUL, two at the end; cut off where too long */
  char directory[512];
  int64_t ended_ns;      /* when the end of the process was seen: a signal, exit, MPI_Abort; 0: it was not */
  int64_t tail_cpu_ns;   /* processor time of this thread from last_ns up to there, if it was outside MPI; from version
                            3 on also up to finalize_begin, -1: not known */
  int32_t signal_sender; /* process that sent the signal; 0: this one, or the kernel for what it did */
  int32_t costs[COST_ALL]; /* nanoseconds, as measured in MPI_Init; 0: not known */
  /* From version 3 on. */
  char counters[TRACE_COUNTERS][24]; /* names of counters that were asked for */
  int32_t counter_error;             /* why there are none: errno; 0: there are, or none was asked for */
  int32_t counter_paranoid;          /* kernel.perf_event_paranoid; INT32_MAX: not known */
  int32_t counter_ns;                /* what a reading of all of them takes */
  int32_t paths;                     /* trace_paths */
};

enum trace_kind {
  TRACE_CALL = 1,  /* struct trace_call, then its data */
  TRACE_POLLS = 2, /* struct trace_polls: polling calls that found nothing, folded */
  TRACE_COMM = 3,  /* struct trace_comm, then members (int32) */
  TRACE_SITE = 4,  /* struct trace_site, then names */
  TRACE_COUNT =
      5, /* struct trace_count: untimed calls (MPI_Comm_rank and the like), written at the end and every 2^20 */
  TRACE_MARK = 6, /* struct trace_mark */
  TRACE_NAME =
      7, /* function id and its name, before its first use in this file: u64 id, then the name padded with NUL */
  TRACE_PATH = 8,   /* struct trace_path, before its first use and after its parent's */
  TRACE_COUNTED = 9 /* struct trace_counted */
};

struct trace_head {
  uint16_t kind;
  uint16_t unused;
  uint32_t words; /* of 8 bytes, this head included */
};

/* How the data behind a trace_call is to be read. */
enum trace_form {
  FORM_PLAIN = 0,      /* nothing */
  FORM_MESSAGE = 1,    /* trace_message: one; two for sendrecv (send, receive) */
  FORM_DONE = 2,       /* trace_done of every request that completed, n of them; FORM_DONE of a wait that named more
                          requests (waitany, waitsome) has no more: what matters is what completed */
  FORM_COLLECTIVE = 3, /* trace_collective, then counts */
  FORM_RMA = 4,        /* trace_rma */
  FORM_START = 5,      /* trace_message of every request started (persistent, partitioned), n of them */
  FORM_COMM = 6,       /* trace_created: communicator or window made (or freed) */
  FORM_IO = 7          /* int64 bytes, int64 write (1) or read (0) or neither (2), int64 comm */
};

struct trace_call {
  struct trace_head head;
  uint16_t function; /* id; its name is in a TRACE_NAME record */
  uint16_t form;     /* trace_form */
  uint32_t path;     /* id of a TRACE_PATH record, 0: unknown; version 1: id of a TRACE_SITE record */
  int64_t begin, end;
  int64_t
      cpu_gap; /* processor time of the thread since the end of the record before, or -1: as long as the wall clock's */
  uint32_t n;  /* of the items behind; calls that ended in an error have form FORM_PLAIN */
  int32_t error; /* 0: MPI_SUCCESS */
};

/* A message of the calling process. Messages to and from MPI_PROC_NULL stay in, with peer TRACE_NULL. */
struct trace_message {
  uint32_t request;   /* its serial number, from 1, unique in the process; 0: a blocking call */
  uint16_t direction; /* 0: send, 1: receive */
  uint16_t mode;      /* 0 standard, 1 synchronous, 2 buffered, 3 ready, 4 partitioned */
  int32_t peer;       /* rank in the communicator (remote group if it is an intercommunicator); receives: what really
                         matched when the call was blocking, else what was asked for (trace_done tells the rest) */
  int32_t tag;
  int32_t asked_peer, asked_tag; /* receives: as in the call, TRACE_ANY if so */
  uint64_t comm;                 /* its id, see trace_comm */
  uint64_t bytes;                /* sends: the message; receives: what came if known, else room for it */
  int32_t world;                 /* peer as rank of the world; TRACE_OUTSIDE if it is in another */
  uint32_t derived;              /* 1: the datatype is not a basic one; TRACE_BEGUN */
};

/* A call of libisthmus in the middle of which handlers ran has several records: that it was begun, which has this flag
 * (collectives: TRACE_ONE_MORE) and counts as no call, those of the handlers, and FORM_DONE where it ended. */
enum { TRACE_BEGUN = 4 };

/* A request that completed. */
struct trace_done {
  uint32_t request;
  uint32_t flags; /* 1: cancelled, 2: it was a receive and the fields below are of its status, TRACE_FREED */
  int32_t peer, tag;
  uint64_t bytes;
};
enum { TRACE_FREED = 4 }; /* not waited for */

/* Kinds are those of isthmus::CollectiveKind (core/schedule/program.hpp) where one fits; further ones from 32. */
enum trace_collective_kind {
  COLLECTIVE_BARRIER = 1,
  COLLECTIVE_BCAST,
  COLLECTIVE_REDUCE,
  COLLECTIVE_ALLREDUCE,
  COLLECTIVE_GATHER,
  COLLECTIVE_ALLGATHER,
  COLLECTIVE_SCATTER,
  COLLECTIVE_ALLTOALL,
  COLLECTIVE_REDUCE_SCATTER,
  COLLECTIVE_SCAN,
  COLLECTIVE_EXSCAN,
  COLLECTIVE_NEIGHBOR,  /* allgather and alltoall of neighbours, all forms */
  COLLECTIVE_OTHER = 32 /* synchronises like a barrier: MPI_Comm_split, MPI_Win_create, MPI_File_open and the like */
};

/* Counts behind it (int64 bytes each, `counts` of them), as details of a Program: gatherv and scatterv (root only),
 * allgatherv, reduce_scatter: bytes of every rank's block; alltoallv, alltoallw: bytes to each, then from each;
 * neighbours: triples of rank in the communicator, bytes to it, bytes from it. */
struct trace_collective {
  uint32_t request; /* 0: blocking */
  uint16_t kind;    /* trace_collective_kind */
  uint16_t flags;   /* 1: MPI_IN_PLACE, 2: on an intercommunicator, 4: persistent (this is its start), 8: created only,
                       16: a reduction whose operator does not commute, TRACE_ONE_MORE */
  int32_t root;     /* rank in the communicator, TRACE_ROOT or TRACE_NULL on an intercommunicator, else TRACE_NONE */
  uint32_t counts;
  uint64_t comm;
  uint64_t bytes;          /* vector, or this rank's block (receiver's side where MPI_IN_PLACE hides the sender's) */
  uint64_t sent, received; /* bytes this call puts into and gets out of the library at this rank */
};
enum { TRACE_ONE_MORE = 32 }; /* of a call that has several records: counts as none */

enum trace_rma_kind {
  RMA_PUT = 1,
  RMA_GET,
  RMA_ACCUMULATE,
  RMA_GET_ACCUMULATE, /* fetch_and_op, compare_and_swap too */
  RMA_FENCE,
  RMA_POST,
  RMA_START,
  RMA_COMPLETE,
  RMA_WAIT,
  RMA_LOCK,
  RMA_LOCK_ALL,
  RMA_UNLOCK,
  RMA_UNLOCK_ALL,
  RMA_FLUSH,
  RMA_FLUSH_ALL,
  RMA_FLUSH_LOCAL,
  RMA_FLUSH_LOCAL_ALL,
  RMA_SYNC,
  RMA_TEST
};

/* n is the number of int32 ranks (of the window's communicator) behind it: the group of post, start. */
struct trace_rma {
  uint32_t request; /* of MPI_Rput and the like, else 0 */
  uint16_t kind;
  uint16_t derived; /* 1: not all bytes lie together; TRACE_DONE_AT_ONCE, TRACE_BEGUN */
  int32_t peer;     /* rank in the window's communicator, TRACE_NULL, TRACE_NONE */
  int32_t world;
  uint64_t comm;    /* of the window */
  uint64_t window;  /* number of the window in this process */
  uint64_t bytes;   /* to the target (put, accumulate, get_accumulate) */
  uint64_t fetched; /* from the target */
};
enum { TRACE_DONE_AT_ONCE = 2 }; /* when the call ends, at the target too (libisthmus) */

struct trace_created {
  uint64_t id;      /* 0: this rank is not in it */
  uint64_t parent;  /* id of the communicator the call was collective over, 0: none */
  uint64_t window;  /* number of the window, 0: a communicator */
  uint32_t request; /* MPI_Comm_idup */
  uint32_t freed;   /* 1: freed, not made */
};

/* A communicator. Ids are the same on all its members (a hash of the parent's id, of how many were made from the parent
 * before, and of the members), so that traces can be put together; 1 is the world, 2 + world rank is MPI_COMM_SELF. */
struct trace_comm {
  struct trace_head head;
  uint64_t id;
  uint64_t parent;
  uint32_t ranks;    /* of the (local) group, 0: members are not given here because rank 0 of the group gives them */
  uint32_t remote;   /* of the remote group of an intercommunicator */
  int32_t rank;      /* of this process */
  uint32_t topology; /* 0 none, 1 Cartesian, 2 graph, 3 distributed graph */
  /* int32 world ranks follow: local group, remote group; then for Cartesian ones: dimensions, extents, periods */
};

struct trace_site {
  struct trace_head head;
  uint64_t id;
  uint64_t address; /* return address in the process; 0: a line of a Python program */
  uint64_t offset;  /* in its module; Python: the line */
  /* module's path (Python: the file's) NUL symbol's name NUL, padded with NUL */
};

/* A call path: the path of its caller, and the place in it. Frames of the C library that start the program are left
 * out; of frames more than 64 deep, the innermost are here. */
struct trace_path {
  struct trace_head head;
  uint32_t id;
  uint32_t parent; /* 0: none */
  uint32_t site;   /* id of a TRACE_SITE record */
  uint32_t unused;
};

/* Calls in a row by one path that did nothing, as one record. Loops that do so at several places in turn, sixteen at
 * most, leave one record for each, which overlap in time. What such calls are: */
enum trace_polled {
  POLLED_WAITING = 0, /* test, iprobe and the like that found nothing: the program waits */
  POLLED_IDLE = 1 /* those, and waits, that had nothing to do: no request is under way, or what is asked for is known
                     to be there. The program goes on: what passes between them is its own */
};
struct trace_polls {
  struct trace_head head;
  uint16_t function;
  uint16_t what; /* trace_polled */
  uint32_t path;
  uint64_t count;
  int64_t begin, end; /* of the first, of the last */
  int64_t inside;     /* time inside MPI */
  int64_t cpu_gap;    /* before the first, as in trace_call */
  /* int64_t, time between them that is known to be off the processor; up to version 2 of POLLED_IDLE only */
};

struct trace_count {
  struct trace_head head;
  uint64_t function;
  uint64_t count; /* since the last such record */
};

/* Counts of the processor's counters in computations between two calls, or between what is folded there. Not all
 * computations are counted: short ones are not. */
struct trace_counted {
  struct trace_head head;
  uint32_t before, after; /* paths of the calls; 0: the begin, or the end, of the rank */
  uint64_t intervals;
  int64_t ns;                    /* processor time of these computations */
  int64_t value[TRACE_COUNTERS]; /* in the order of their names in the header */
};

enum { MARK_ITERATION = 1, MARK_OFF = 2, MARK_ON = 3, MARK_PHASE = 4 /* of MPI_Pcontrol: value is its level */ };
struct trace_mark {
  struct trace_head head;
  uint32_t what;
  uint32_t unused;
  int64_t value;
  int64_t at;
  int64_t cpu_gap;
};

#endif
