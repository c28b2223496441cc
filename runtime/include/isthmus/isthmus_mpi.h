/* Isthmus beside MPI: a team of the ranks of a communicator, and types and operators by their names in MPI. Only this
 * header knows MPI, so that one library serves all of them. */
#ifndef ISTHMUS_MPI_H
#define ISTHMUS_MPI_H

#include <isthmus/isthmus.h>
#include <isthmus/isthmus_mpi_wire.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -- windows of MPI -------------------------------------------------------------------------------------------------
 */

typedef struct isthmus_mpi_window {
  MPI_Comm comm;
  MPI_Win window;
  isthmus_mpi_wire* wire; /* for its words */
} isthmus_mpi_window;

static inline void isthmus_mpi_close_window(void* data, int failed) {
  isthmus_mpi_window* const window = (isthmus_mpi_window*)data;
  /* They wait for all ranks. */
  if (!failed) {
    MPI_Win_unlock_all(window->window);
    MPI_Win_free(&window->window);
    MPI_Comm_free(&window->comm);
  }
  free(window);
}

static inline int isthmus_mpi_open_window(void* data, const uint32_t* members, uint32_t count, void* memory,
                                          uint64_t bytes, void** out) {
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  isthmus_mpi_window* const window = (isthmus_mpi_window*)calloc(1, sizeof *window);
  int* const ranks = (int*)malloc(count * sizeof *ranks);
  MPI_Group all, some;
  int *model, found = 0, error;
  uint32_t i;
#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION < 5
  /* 4.1.4 gives windows of communicators that have no rank in common the same file in /dev/shm. */
  int world;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (count != (uint32_t)world) return free(window), free(ranks), 1;
#endif
  if (window == NULL || ranks == NULL) return free(window), free(ranks), isthmus_mpi_lack(wire);
  for (i = 0; i < count; ++i) ranks[i] = (int)members[i];
  MPI_Comm_group(wire->comm, &all);
  MPI_Group_incl(all, (int)count, ranks, &some);
  free(ranks);
  error = MPI_Comm_create_group(wire->comm, some, 0, &window->comm);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  if (isthmus_mpi_status(wire, error)) return free(window), -1;
  window->wire = wire;
  MPI_Comm_set_errhandler(window->comm, MPI_ERRORS_RETURN);
  if (MPI_Win_create(memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, window->comm, &window->window) != MPI_SUCCESS) {
    MPI_Comm_free(&window->comm);
    free(window);
    return 1;
  }
  MPI_Win_set_errhandler(window->window, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window->window);
  /* Ranks read and write their own memory by themselves. */
  MPI_Win_get_attr(window->window, MPI_WIN_MODEL, &model, &found);
  if (!found || *model != MPI_WIN_UNIFIED) return isthmus_mpi_close_window(window, 0), 1;
  *out = window;
  return 0;
}

static inline int isthmus_mpi_put(void* data, uint32_t rank, uint64_t at, const void* from, uint64_t bytes) {
  isthmus_mpi_window* const window = (isthmus_mpi_window*)data;
  return isthmus_mpi_status(window->wire, MPI_Put((void*)(uintptr_t)from, (int)bytes, MPI_BYTE, (int)rank, (MPI_Aint)at,
                                                  (int)bytes, MPI_BYTE, window->window));
}

static inline int isthmus_mpi_get(void* data, uint32_t rank, uint64_t at, void* to, uint64_t bytes) {
  isthmus_mpi_window* const window = (isthmus_mpi_window*)data;
  return isthmus_mpi_status(
      window->wire, MPI_Get(to, (int)bytes, MPI_BYTE, (int)rank, (MPI_Aint)at, (int)bytes, MPI_BYTE, window->window));
}

static inline int isthmus_mpi_flush(void* data, uint32_t rank) {
  isthmus_mpi_window* const window = (isthmus_mpi_window*)data;
  return isthmus_mpi_status(window->wire, MPI_Win_flush((int)rank, window->window));
}

static inline int isthmus_mpi_flush_local(void* data, uint32_t rank) {
  isthmus_mpi_window* const window = (isthmus_mpi_window*)data;
  return isthmus_mpi_status(window->wire, MPI_Win_flush_local((int)rank, window->window));
}

static inline int isthmus_mpi_change(void* data, uint32_t rank, uint64_t at, uint32_t element, uint32_t operation,
                                     uint64_t operand, uint64_t expected, uint64_t* before) {
  const MPI_Op operators[] = {MPI_SUM,  MPI_MIN,     MPI_MAX,     MPI_BAND, MPI_BOR,
                              MPI_BXOR, MPI_REPLACE, MPI_OP_NULL, MPI_NO_OP};
  const int is_large = element == ISTHMUS_I64 || element == ISTHMUS_U64 || element == ISTHMUS_F64;
  const MPI_Datatype bits = is_large ? MPI_UINT64_T : MPI_UINT32_T;
  const MPI_Datatype type = element == ISTHMUS_I32   ? MPI_INT32_T
                            : element == ISTHMUS_I64 ? MPI_INT64_T
                            : element == ISTHMUS_F32 ? MPI_FLOAT
                            : element == ISTHMUS_F64 ? MPI_DOUBLE
                                                     : bits;
  isthmus_mpi_window* const window = (isthmus_mpi_window*)data;
  int error;
  *before = 0;
  if (operators[operation] == MPI_OP_NULL)
    error = MPI_Compare_and_swap(&operand, &expected, before, bits, (int)rank, (MPI_Aint)at, window->window);
  else error = MPI_Fetch_and_op(&operand, before, type, (int)rank, (MPI_Aint)at, operators[operation], window->window);
  if (isthmus_mpi_status(window->wire, error)) return -1;
  return isthmus_mpi_flush(window, rank);
}

/* One message to or from a rank, to its end. */
static inline void isthmus_mpi_pass(isthmus_mpi_wire* wire, int sends, int peer, void* bytes, uint64_t count) {
  const isthmus_wire_end* ended;
  if (sends ? isthmus_mpi_send(wire, (uint32_t)peer, 0, bytes, count, 0)
            : isthmus_mpi_receive(wire, (uint32_t)peer, 0, bytes, count, 0))
    return;
  while (isthmus_mpi_poll(wire, &ended) == 0) continue;
}

/* Whether the library sends so many bytes unasked: a message ends where it is sent, though nobody has begun to receive
 * it, within so many seconds. The two ranks call it together, and both are told. */
static inline int isthmus_mpi_sends_unasked(isthmus_mpi_wire* wire, int sends, int peer, void* bytes, uint64_t count,
                                            double seconds) {
  const double begin = MPI_Wtime();
  MPI_Request requests[2];
  MPI_Status statuses[2]; /* compilers warn of MPICH's MPI_STATUSES_IGNORE */
  int ended = 0, verdict = 0;
  if (sends) {
    MPI_Isend(bytes, (int)count, MPI_BYTE, peer, 1, wire->comm, &requests[0]);
    /* Once in any case: this process may not have run meanwhile. */
    do MPI_Testall(1, requests, &verdict, statuses);
    while (!verdict && MPI_Wtime() - begin < seconds);
    MPI_Isend(&verdict, 1, MPI_INT, peer, 2, wire->comm, &requests[1]);
  } else {
    MPI_Irecv(&verdict, 1, MPI_INT, peer, 2, wire->comm, &requests[1]);
    while (!ended) MPI_Testall(1, &requests[1], &ended, statuses);
    MPI_Irecv(bytes, (int)count, MPI_BYTE, peer, 1, wire->comm, &requests[0]);
  }
  for (ended = 0; !ended;) MPI_Testall(2, requests, &ended, statuses);
  return verdict;
}

/* isthmus_wire.piece: the most of these sizes that the library sends unasked between the first two nodes, where a
 * message takes so long there (1.2 GB/s) that it does not matter if it is several; on a faster network it would. What
 * is so slow has a name, too: it is known as a network. Collective. */
static inline void isthmus_mpi_find_piece(isthmus_mpi_wire* wire, const uint32_t* nodes, int rank, int ranks,
                                          isthmus_wire* out) {
  const uint64_t tried = 128 << 10, pieces[] = {60 << 10, 28 << 10, 12 << 10, 4 << 10};
  void* const bytes = calloc(1, (size_t)tried);
  uint64_t found[2] = {0, 0}; /* the piece, and whether it is slow */
  double took = 0;
  int other = 1, turn;
  while (nodes != NULL && other < ranks && nodes[other] == nodes[0]) ++other;
  if (other >= ranks) {
    free(bytes);
    return;
  }
  if (rank == 0 || rank == other) {
    const int peer = rank == 0 ? other : 0;
    /* The first time they connect. */
    for (turn = 0; turn < 2; ++turn) {
      const double begin = MPI_Wtime();
      isthmus_mpi_pass(wire, rank == 0, peer, bytes, tried);
      isthmus_mpi_pass(wire, rank != 0, peer, bytes, tried);
      took = MPI_Wtime() - begin;
    }
    found[1] = 2 * (double)tried < 1.2e9 * took;
    isthmus_mpi_pass(wire, rank == 0, peer, found, sizeof found);
    for (turn = 0; found[1] && found[0] == 0 && turn < (int)(sizeof pieces / sizeof *pieces); ++turn)
      if (isthmus_mpi_sends_unasked(wire, rank == 0, peer, bytes, pieces[turn], took + 1e-3)) found[0] = pieces[turn];
    /* So that both have read all before one goes on: MPI_Finalize of MPICH 4.0.2 on UCX never ends where a rank is
     * still looking for messages while another one is in it. */
    isthmus_mpi_pass(wire, rank != 0, peer, found, sizeof found);
  }
  free(bytes);
  MPI_Bcast(found, 2, MPI_UINT64_T, 0, wire->comm);
  out->piece = found[0];
  if (found[1]) out->name = "MPI";
}

/* A wire between the ranks of a communicator, over a copy of it. `nodes`: of each rank, see isthmus_wire. Collective.
 * Less than 0 where there is no memory. */
static inline int isthmus_wire_mpi(MPI_Comm comm, const uint32_t* nodes, isthmus_wire* out) {
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)calloc(1, sizeof *wire);
  int rank, ranks, level;
  if (wire == NULL) return -1;
  MPI_Comm_dup(comm, &wire->comm);
  MPI_Comm_set_errhandler(wire->comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Query_thread(&level);
  memset(out, 0, sizeof *out);
  out->size = sizeof *out;
  out->rank = (uint32_t)rank;
  out->ranks = (uint32_t)ranks;
  out->tags = 32768; /* what MPI promises; more would not be used */
  out->concurrent = level == MPI_THREAD_MULTIPLE;
  out->most = 1u << 30;
  out->nodes = nodes;
  out->data = wire;
  out->send = isthmus_mpi_send;
  out->receive = isthmus_mpi_receive;
  out->poll = isthmus_mpi_poll;
  out->error = isthmus_mpi_error;
  out->close = isthmus_mpi_close;
  isthmus_mpi_find_piece(wire, nodes, rank, ranks, out);
  out->open_window = isthmus_mpi_open_window;
  out->close_window = isthmus_mpi_close_window;
  out->put = isthmus_mpi_put;
  out->get = isthmus_mpi_get;
  out->flush = isthmus_mpi_flush;
  out->flush_local = isthmus_mpi_flush_local;
#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION < 5
  out->change =
      NULL; /* 4.1.4 crashes in MPI_Compare_and_swap on memory of the rank itself (osc/rdma over shared memory) */
#else
  out->change = isthmus_mpi_change;
#endif
  return 0;
}

/* Of each rank of a communicator the least rank with which it may share memory. `apart`: a rank that shares none with
 * the one in `from`, though it is on the same node; the number of ranks where there is none. Collective. */
static inline int isthmus_mpi_nodes(MPI_Comm comm, uint32_t* nodes, int* apart, uint32_t* from) {
  struct isthmus_mpi_place {
    uint64_t memory;
    uint32_t node;
  } own, *all;
  int rank, ranks, i, j;
  MPI_Comm node;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  all = (struct isthmus_mpi_place*)malloc((size_t)ranks * sizeof *all);
  if (all == NULL) return -1;
  memset(&own, 0, sizeof own);
  own.memory = isthmus_memory();
  own.node = (uint32_t)rank;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Bcast(&own.node, 1, MPI_UINT32_T, 0, node);
  MPI_Comm_free(&node);
  MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, comm);
  *apart = ranks;
  for (i = 0; i < ranks; ++i) {
    /* Ranks of a node in different containers have the same leader, but not the same memory. */
    for (j = (int)all[i].node; j < i; ++j)
      if (all[j].node == all[i].node && all[j].memory == all[i].memory) break;
    nodes[i] = (uint32_t)j;
    if (all[i].memory == all[all[i].node].memory || *apart < ranks) continue;
    *apart = i;
    *from = all[i].node;
  }
  free(all);
  return 0;
}

/* A team of all ranks of a communicator, in their order: shared memory inside nodes, MPI between them. Collective. All
 * ranks get the same status. `given`: members that are not 0 are taken, but for rank, ranks, name and wire; may be
 * NULL.
 *
 * MPI is called by the functions of the team, by whichever thread calls these, over a copy of the communicator. */
static inline int isthmus_join_mpi_with(MPI_Comm comm, const isthmus_job* given, isthmus_team** team) {
  int rank, ranks, worst, status, apart = 0;
  char name[64] = "", words[160];
  uint32_t *nodes, from = 0;
  isthmus_wire wire;
  isthmus_job job;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  memset(&job, 0, sizeof job);
  if (given != NULL) memcpy(&job, given, given->size < sizeof job ? given->size : sizeof job);
  nodes = (uint32_t*)malloc((size_t)ranks * sizeof *nodes);
  if (nodes == NULL || isthmus_mpi_nodes(comm, nodes, &apart, &from) || isthmus_wire_mpi(comm, nodes, &wire)) {
    fprintf(stderr, "isthmus_join_mpi: not enough memory\n");
    MPI_Abort(comm, 1);
  }
  if (apart < ranks && job.say != NULL) {
    snprintf(words, sizeof words, "ranks %u and %d of a node see different /dev/shm: messages between them go over MPI",
             from, apart);
    job.say(words);
  }
  if (rank == 0) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, "mpi-%ld-%lld-%ld", (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
  }
  MPI_Bcast(name, (int)sizeof name, MPI_CHAR, 0, comm);
  job.size = sizeof job;
  job.name = name;
  job.rank = (uint32_t)rank;
  job.ranks = (uint32_t)ranks;
  job.wire = &wire;
  status = isthmus_join(&job, team);
  free(nodes);
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm);
  if (worst != ISTHMUS_DONE && status == ISTHMUS_DONE) isthmus_leave(*team);
  return worst;
}

static inline int isthmus_join_mpi(MPI_Comm comm, isthmus_team** team) {
  return isthmus_join_mpi_with(comm, NULL, team);
}

/* -- names -----------------------------------------------------------------------------------------------------------
 */

/* The element that a predefined type is; ISTHMUS_UNSUPPORTED if none is. */
static inline int isthmus_element_of(MPI_Datatype type, isthmus_element* element) {
  const struct {
    MPI_Datatype type;
    isthmus_element element;
  } known[] = {
      {MPI_INT, sizeof(int) == 4 ? ISTHMUS_I32 : ISTHMUS_I64},
      {MPI_LONG, sizeof(long) == 8 ? ISTHMUS_I64 : ISTHMUS_I32},
      {MPI_LONG_LONG, ISTHMUS_I64},
      {MPI_SHORT, ISTHMUS_I16},
      {MPI_SIGNED_CHAR, ISTHMUS_I8},
      {MPI_UNSIGNED, sizeof(unsigned) == 4 ? ISTHMUS_U32 : ISTHMUS_U64},
      {MPI_UNSIGNED_LONG, sizeof(unsigned long) == 8 ? ISTHMUS_U64 : ISTHMUS_U32},
      {MPI_UNSIGNED_LONG_LONG, ISTHMUS_U64},
      {MPI_UNSIGNED_SHORT, ISTHMUS_U16},
      {MPI_UNSIGNED_CHAR, ISTHMUS_U8},
      {MPI_BYTE, ISTHMUS_U8},
      {MPI_CHAR, ISTHMUS_U8},
      {MPI_INT8_T, ISTHMUS_I8},
      {MPI_INT16_T, ISTHMUS_I16},
      {MPI_INT32_T, ISTHMUS_I32},
      {MPI_INT64_T, ISTHMUS_I64},
      {MPI_UINT8_T, ISTHMUS_U8},
      {MPI_UINT16_T, ISTHMUS_U16},
      {MPI_UINT32_T, ISTHMUS_U32},
      {MPI_UINT64_T, ISTHMUS_U64},
      {MPI_FLOAT, ISTHMUS_F32},
      {MPI_DOUBLE, ISTHMUS_F64},
      {MPI_C_FLOAT_COMPLEX, ISTHMUS_C32},
      {MPI_C_DOUBLE_COMPLEX, ISTHMUS_C64},
  };
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; ++i) {
    if (known[i].type != type) continue;
    *element = known[i].element;
    return ISTHMUS_DONE;
  }
  return ISTHMUS_UNSUPPORTED;
}

/* The same of a predefined operator. */
static inline int isthmus_operator_of(MPI_Op op, isthmus_operator* operation) {
  const struct {
    MPI_Op op;
    isthmus_operator operation;
  } known[] = {
      {MPI_SUM, ISTHMUS_SUM},   {MPI_PROD, ISTHMUS_PRODUCT}, {MPI_MIN, ISTHMUS_MIN},   {MPI_MAX, ISTHMUS_MAX},
      {MPI_LAND, ISTHMUS_LAND}, {MPI_LOR, ISTHMUS_LOR},      {MPI_LXOR, ISTHMUS_LXOR}, {MPI_BAND, ISTHMUS_BAND},
      {MPI_BOR, ISTHMUS_BOR},   {MPI_BXOR, ISTHMUS_BXOR},
  };
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; ++i) {
    if (known[i].op != op) continue;
    *operation = known[i].operation;
    return ISTHMUS_DONE;
  }
  return ISTHMUS_UNSUPPORTED;
}

#endif
