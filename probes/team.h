/* The program under MPI: who takes part in an item, and what its members need. */
#ifndef ISTHMUS_TEAM_H
#define ISTHMUS_TEAM_H

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "probe.h"

/* Tags of messages: those that are timed, those that say that something is ready, those that only lie in queues. */
enum { TIMED = 1, READY = 2, QUEUED = 3 };

typedef struct {
  int me, size;  /* this rank among the members */
  int* world;    /* their ranks; the first reports */
  MPI_Comm comm; /* of the members; MPI_COMM_NULL where two of them only exchange messages */
} Team;

typedef struct {
  /* NULL, or why it cannot be measured; called by all members. */
  const char* (*prepare)(Item* item, const Team* team);
  /* Takes `count` repetitions; values are those of the first member. Returns how many it has. */
  int (*batch)(const Item* item, const Team* team, int count, double* values);
  bool comm; /* members need a communicator */
} Code;

/* -- team.c */

extern MPI_Comm tests; /* all ranks; for messages that are measured */
extern int world_rank, world_size;
extern int* host_of; /* number of the host of every rank, in order of first appearance */
extern const char* plan_folder;
extern bool crowded; /* a host has more ranks than cores: ranks that wait must not keep theirs */

/* Members of an item, to be freed; NULL, and a reason, if there are no such ranks. */
int* team_members(const Item* item, int* size, const char** reason);
/* A communicator of members, the same for all items; collective over them. */
MPI_Comm team_comm(const int* members, int size);

/* Memory that has been written to; out and in do not overlap. NULL if there is none. */
char* buffer_out(size_t size);
char* buffer_in(size_t size);
MPI_Request* requests(int count);

/* Empty messages: both are there when both have returned. */
void meet(int other);
void tell(int other);
void hear(int other);

/* Finds how many trips one repetition is the mean of, from a few of them; by all members. */
void find_trips(Item* item, const Team* team, int (*batch)(const Item*, const Team*, int, double*));

/* The greatest of all members, at the first one. */
void greatest(const Team* team, double* values, int count);

/* Pairs of an item, "0-2,1-3", two ranks each, to be freed. */
int* pairs_of(const Item* item, int* count, const char** reason);

/* Half a round trip of a flag between the two members in memory that they share; 0 where they are not two of a node. */
double flag_exchange(const Team* team);

/* -- kinds */

extern const Code code_clock, code_noise, code_local, code_startup;
extern const Code code_pingpong, code_fresh, code_prtt, code_sendrecv, code_burst, code_window, code_bidirectional,
    code_ring;
extern const Code code_sendcall, code_receivecall, code_isendcall, code_waitcall, code_irecvcall, code_eager,
    code_threshold;
extern const Code code_rate, code_inject, code_queue, code_shift, code_behind;
extern const Code code_collective, code_flag, code_schedule;

/* -- startup.c */

/* At the head of main(): what is known before and after MPI_Init. */
void startup_begin(void);
void startup_initialised(void);
/* Ends MPI, and writes the lines of the item if there was one. */
void startup_finalize(void);

#endif
