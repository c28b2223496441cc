/* Isthmus beside MPI: a team of the ranks of a communicator, and types and operators by their names in MPI. Only this
 * header knows MPI, so that one library serves all of them. */
#ifndef ISTHMUS_MPI_H
#define ISTHMUS_MPI_H

#include <isthmus/isthmus.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -- messages over MPI ----------------------------------------------------------------------------------------------
 */

/* Behind an isthmus_wire. Requests that are under way lie one after the other, in the order in which they began. */
typedef struct isthmus_mpi_wire {
  MPI_Comm comm;
  int under_way, room;
  MPI_Request* requests;
  uint64_t* tokens;
  int* indices;
  MPI_Status* statuses;
  isthmus_wire_end* ended;
  char words[MPI_MAX_ERROR_STRING + 1];
} isthmus_mpi_wire;

static inline int isthmus_mpi_status(isthmus_mpi_wire* wire, int error) {
  int length = 0;
  if (error == MPI_SUCCESS) return 0;
  if (MPI_Error_string(error, wire->words, &length) != MPI_SUCCESS)
    snprintf(wire->words, sizeof wire->words, "error %d", error);
  return -1;
}

/* Room for one more; it is kept. */
static inline int isthmus_mpi_grow(isthmus_mpi_wire* wire) {
  const int room = wire->room == 0 ? 64 : 2 * wire->room;
  const size_t n = (size_t)room;
  void* const parts[] = {
      realloc(wire->requests, n * sizeof *wire->requests), realloc(wire->tokens, n * sizeof *wire->tokens),
      realloc(wire->indices, n * sizeof *wire->indices), realloc(wire->statuses, n * sizeof *wire->statuses),
      realloc(wire->ended, n * sizeof *wire->ended)};
  if (parts[0]) wire->requests = (MPI_Request*)parts[0];
  if (parts[1]) wire->tokens = (uint64_t*)parts[1];
  if (parts[2]) wire->indices = (int*)parts[2];
  if (parts[3]) wire->statuses = (MPI_Status*)parts[3];
  if (parts[4]) wire->ended = (isthmus_wire_end*)parts[4];
  if (parts[0] && parts[1] && parts[2] && parts[3] && parts[4]) return wire->room = room, 0;
  snprintf(wire->words, sizeof wire->words, "not enough memory");
  return -1;
}

static inline int isthmus_mpi_send(void* data, uint32_t to, uint32_t tag, const void* bytes, uint64_t count,
                                   uint64_t token) {
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  if (wire->under_way == wire->room && isthmus_mpi_grow(wire)) return -1;
  wire->tokens[wire->under_way] = token;
  if (isthmus_mpi_status(wire, MPI_Isend((void*)(uintptr_t)bytes, (int)count, MPI_BYTE, (int)to, (int)tag, wire->comm,
                                         &wire->requests[wire->under_way])))
    return -1;
  return ++wire->under_way, 0;
}

static inline int isthmus_mpi_receive(void* data, uint32_t from, uint32_t tag, void* bytes, uint64_t count,
                                      uint64_t token) {
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  const int source = from == ISTHMUS_WIRE_ANY ? MPI_ANY_SOURCE : (int)from;
  if (wire->under_way == wire->room && isthmus_mpi_grow(wire)) return -1;
  wire->tokens[wire->under_way] = token;
  if (isthmus_mpi_status(
          wire, MPI_Irecv(bytes, (int)count, MPI_BYTE, source, (int)tag, wire->comm, &wire->requests[wire->under_way])))
    return -1;
  return ++wire->under_way, 0;
}

static inline int64_t isthmus_mpi_poll(void* data, const isthmus_wire_end** ended) {
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  int count = 0, i, kept = 0, error, kind, bytes;
  error = MPI_Testsome(wire->under_way, wire->requests, &count, wire->indices, wire->statuses);
  if (error != MPI_SUCCESS) {
    MPI_Error_class(error, &kind);
    if (kind != MPI_ERR_IN_STATUS) return isthmus_mpi_status(wire, error);
  }
  if (count == MPI_UNDEFINED || count == 0) return 0;
  for (i = 0; i < count; ++i) {
    wire->ended[i].token = wire->tokens[wire->indices[i]];
    if (error != MPI_SUCCESS && wire->statuses[i].MPI_ERROR != MPI_SUCCESS) {
      MPI_Error_class(wire->statuses[i].MPI_ERROR, &kind);
      if (kind != MPI_ERR_TRUNCATE) return isthmus_mpi_status(wire, wire->statuses[i].MPI_ERROR);
      wire->ended[i].bytes = ISTHMUS_WIRE_MORE;
      continue;
    }
    bytes = 0;
    MPI_Get_count(&wire->statuses[i], MPI_BYTE, &bytes);
    wire->ended[i].bytes = bytes < 0 ? 0 : (uint64_t)bytes;
  }
  for (i = 0; i < wire->under_way; ++i) {
    if (wire->requests[i] == MPI_REQUEST_NULL) continue;
    wire->requests[kept] = wire->requests[i];
    wire->tokens[kept++] = wire->tokens[i];
  }
  wire->under_way = kept;
  *ended = wire->ended;
  return count;
}

static inline const char* isthmus_mpi_error(void* data) { return ((isthmus_mpi_wire*)data)->words; }

static inline void isthmus_mpi_close(void* data, int failed) {
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  const double begin = MPI_Wtime();
  int i, ended = 0;
  for (i = 0; i < wire->under_way; ++i) MPI_Cancel(&wire->requests[i]);
  /* What a rank that died was to take, or to send the rest of, does not end. */
  while (!ended && (!failed || MPI_Wtime() - begin < 0.1))
    MPI_Testall(wire->under_way, wire->requests, &ended, wire->statuses);
  for (i = 0; i < wire->under_way; ++i)
    if (wire->requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&wire->requests[i]);
  /* To free it may wait for all ranks. */
  if (!failed) MPI_Comm_free(&wire->comm);
  free(wire->requests);
  free(wire->tokens);
  free(wire->indices);
  free(wire->statuses);
  free(wire->ended);
  free(wire);
}

/* One message to or from a rank, to its end. */
static inline void isthmus_mpi_pass(isthmus_mpi_wire* wire, int sends, int peer, void* bytes, uint64_t count) {
  const isthmus_wire_end* ended;
  if (sends ? isthmus_mpi_send(wire, (uint32_t)peer, 0, bytes, count, 0)
            : isthmus_mpi_receive(wire, (uint32_t)peer, 0, bytes, count, 0))
    return;
  while (isthmus_mpi_poll(wire, &ended) == 0) continue;
}

/* isthmus_wire.piece: what Open MPI and UCX send over TCP unasked, where a message between the first two nodes takes so
 * long (1.2 GB/s) that it does not matter if it is several; on a faster network it would. Collective. */
static inline uint64_t isthmus_mpi_piece(isthmus_mpi_wire* wire, const uint32_t* nodes, int rank, int ranks) {
  const uint64_t tried = 128 << 10;
  void* const bytes = calloc(1, (size_t)tried);
  uint64_t piece = 0;
  double took = 0;
  int other = 1, turn;
  while (nodes != NULL && other < ranks && nodes[other] == nodes[0]) ++other;
  if (other >= ranks) return free(bytes), 0;
  /* The first time they connect. */
  for (turn = 0; turn < 2 && (rank == 0 || rank == other); ++turn) {
    const double begin = MPI_Wtime();
    isthmus_mpi_pass(wire, rank == 0, rank == 0 ? other : 0, bytes, tried);
    isthmus_mpi_pass(wire, rank != 0, rank == 0 ? other : 0, bytes, tried);
    took = MPI_Wtime() - begin;
  }
  if (2 * (double)tried < 1.2e9 * took) piece = 60 << 10;
  free(bytes);
  MPI_Bcast(&piece, 1, MPI_UINT64_T, 0, wire->comm);
  return piece;
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
  out->piece = isthmus_mpi_piece(wire, nodes, rank, ranks);
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
