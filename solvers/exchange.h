/* Messages among a group of ranks that are the same every time: schedules of libisthmus, or of MPI. */
#ifndef ISTHMUS_EXCHANGE_H
#define ISTHMUS_EXCHANGE_H

#include <HYPRE_utilities.h>
#include <isthmus/isthmus.h>
#include <mpi.h>

/* Ranks that exchange, numbered from 0. */
struct group {
  MPI_Comm comm;
  isthmus_team* team; /* NULL: over MPI */
  int rank, ranks;
  int node, *node_of; /* a name of the node of this rank, and of all */
  int failed;         /* what went wrong is in isthmus_last_error() */
};

/* All ranks of a communicator; `runtime` not 0: by libisthmus. So many consecutive ranks are a node; 0: those that
 * share memory. NULL on all ranks where that cannot be. */
struct group* group_of(MPI_Comm comm, int runtime, int ranks_per_node);
/* Those that give the same colour, in their order; a rank whose colour is below 0 is in none and gets NULL. */
struct group* group_split(struct group* group, int colour);
void group_free(struct group* group);

struct steps;
/* What a rank sends to others and receives from them in one exchange. */
struct exchange {
  struct group* group;
  HYPRE_Real *out, *in;      /* filled before it begins; read after it has ended: one partner's after the other's */
  long long messages, bytes; /* that this rank sends each time */
  long long far;             /* of the messages, those to other nodes */
  long long times;           /* how often it has begun */
  struct steps* steps;       /* not NULL: in three steps */
  isthmus_operation* operation;
  /* Over MPI: receives first, then sends. */
  MPI_Request* requests;
  int partners, receives, pending, *partner, *count;
};

/* Partners in the order of their elements in `out` and `in`; `in_steps`: by way of one rank of each node. Collective.
 */
struct exchange* exchange_make(struct group* group, int sends, const int* to, const HYPRE_Int* sent, int receives,
                               const int* from, const HYPRE_Int* received, int in_steps);
void exchange_begin(struct exchange* exchange);
void exchange_end(struct exchange* exchange);
void exchange_free(struct exchange* exchange);

/* A vector of which every rank of a group holds a piece comes to rank 0 (gather), to all (allgather), or goes back from
 * rank 0 (scatter). */
struct assembly {
  struct group* group;
  isthmus_kind kind;
  HYPRE_Int own, all; /* elements */
  long long times;
  isthmus_operation* operation;
  int *counts, *first; /* of all ranks */
};

struct assembly* assembly_make(struct group* group, isthmus_kind kind, HYPRE_Int own);
void assembly_run(struct assembly* assembly, const HYPRE_Real* from, HYPRE_Real* to);
void assembly_free(struct assembly* assembly);

#endif
