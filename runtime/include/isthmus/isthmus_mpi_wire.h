/* Messages over MPI: what an isthmus_wire of isthmus_mpi.h does. */
#ifndef ISTHMUS_MPI_WIRE_H
#define ISTHMUS_MPI_WIRE_H

#include <isthmus/isthmus.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Receives of any rank that have one tag. They are filled in the order in which they began, so only the first one is
 * tested. */
enum { ISTHMUS_MPI_QUEUES = 4 };
typedef struct isthmus_mpi_queue {
  int tag, first, count, room;
  int most; /* there have ever been */
  MPI_Request* requests;
  uint64_t* tokens;
} isthmus_mpi_queue;

/* Behind an isthmus_wire. Requests that are under way lie one after the other, in the order in which they began. */
typedef struct isthmus_mpi_wire {
  MPI_Comm comm;
  int under_way, room;
  MPI_Request* requests;
  uint64_t* tokens;
  int* indices;
  MPI_Status* statuses;
  isthmus_wire_end *ended, *gone; /* what a look has found; what has ended when it began */
  int ends, ended_room, goes, gone_room;
  unsigned looks;
  isthmus_mpi_queue queues[ISTHMUS_MPI_QUEUES];
  char words[MPI_MAX_ERROR_STRING + 1];
} isthmus_mpi_wire;

static inline int isthmus_mpi_status(isthmus_mpi_wire* wire, int error) {
  int length = 0;
  if (error == MPI_SUCCESS) return 0;
  if (MPI_Error_string(error, wire->words, &length) != MPI_SUCCESS)
    snprintf(wire->words, sizeof wire->words, "error %d", error);
  return -1;
}

static inline int isthmus_mpi_lack(isthmus_mpi_wire* wire) {
  snprintf(wire->words, sizeof wire->words, "not enough memory");
  return -1;
}

/* Room for one more; it is kept. */
static inline int isthmus_mpi_grow(isthmus_mpi_wire* wire) {
  const int room = wire->room == 0 ? 64 : 2 * wire->room;
  const size_t n = (size_t)room;
  void* const parts[] = {
      realloc(wire->requests, n * sizeof *wire->requests), realloc(wire->tokens, n * sizeof *wire->tokens),
      realloc(wire->indices, n * sizeof *wire->indices), realloc(wire->statuses, n * sizeof *wire->statuses)};
  if (parts[0]) wire->requests = (MPI_Request*)parts[0];
  if (parts[1]) wire->tokens = (uint64_t*)parts[1];
  if (parts[2]) wire->indices = (int*)parts[2];
  if (parts[3]) wire->statuses = (MPI_Status*)parts[3];
  if (parts[0] && parts[1] && parts[2] && parts[3]) return wire->room = room, 0;
  return isthmus_mpi_lack(wire);
}

/* One more at the end of a list of what has ended. */
static inline int isthmus_mpi_end(isthmus_mpi_wire* wire, isthmus_wire_end** list, int* count, int* room,
                                  uint64_t token, uint64_t bytes) {
  if (*count == *room) {
    const int more = *room == 0 ? 64 : 2 * *room;
    isthmus_wire_end* const grown = (isthmus_wire_end*)realloc(*list, (size_t)more * sizeof **list);
    if (grown == NULL) return isthmus_mpi_lack(wire);
    *list = grown;
    *room = more;
  }
  (*list)[*count].token = token;
  (*list)[(*count)++].bytes = bytes;
  return 0;
}

static inline int isthmus_mpi_send(void* data, uint32_t to, uint32_t tag, const void* bytes, uint64_t count,
                                   uint64_t token) {
  enum { small = 4096 }; /* what most MPI libraries have sent when MPI_Isend returns */
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  int done = 0;
  if (wire->under_way == wire->room && isthmus_mpi_grow(wire)) return -1;
  if (isthmus_mpi_status(wire, MPI_Isend((void*)(uintptr_t)bytes, (int)count, MPI_BYTE, (int)to, (int)tag, wire->comm,
                                         &wire->requests[wire->under_way])))
    return -1;
  if (count <= small) {
    if (isthmus_mpi_status(wire, MPI_Test(&wire->requests[wire->under_way], &done, MPI_STATUS_IGNORE))) return -1;
    if (done) return isthmus_mpi_end(wire, &wire->gone, &wire->goes, &wire->gone_room, token, count);
  }
  wire->tokens[wire->under_way] = token;
  return ++wire->under_way, 0;
}

/* The queue of a tag; NULL where there is none left for it. */
static inline isthmus_mpi_queue* isthmus_mpi_queue_of(isthmus_mpi_wire* wire, int tag) {
  int i;
  for (i = 0; i < ISTHMUS_MPI_QUEUES; ++i) {
    if (wire->queues[i].room == 0) wire->queues[i].tag = tag;
    if (wire->queues[i].tag == tag) return &wire->queues[i];
  }
  return NULL;
}

/* Where the next request of a queue belongs; -1: there is no memory. */
static inline int isthmus_mpi_next(isthmus_mpi_queue* queue) {
  if (queue->first + queue->count == queue->room) {
    const int room = queue->room == 0 ? 32 : queue->count > queue->room / 2 ? 2 * queue->room : queue->room;
    MPI_Request* const requests = (MPI_Request*)malloc((size_t)room * sizeof *requests);
    uint64_t* const tokens = (uint64_t*)malloc((size_t)room * sizeof *tokens);
    if (requests == NULL || tokens == NULL) return free(requests), free(tokens), -1;
    if (queue->count > 0) {
      memcpy(requests, queue->requests + queue->first, (size_t)queue->count * sizeof *requests);
      memcpy(tokens, queue->tokens + queue->first, (size_t)queue->count * sizeof *tokens);
    }
    free(queue->requests);
    free(queue->tokens);
    queue->requests = requests;
    queue->tokens = tokens;
    queue->first = 0;
    queue->room = room;
  }
  return queue->first + queue->count;
}

static inline int isthmus_mpi_receive(void* data, uint32_t from, uint32_t tag, void* bytes, uint64_t count,
                                      uint64_t token) {
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  const int any = from == ISTHMUS_WIRE_ANY;
  isthmus_mpi_queue* const queue = any ? isthmus_mpi_queue_of(wire, (int)tag) : NULL;
  const int place = queue == NULL ? wire->under_way : isthmus_mpi_next(queue);
  if (place < 0) return isthmus_mpi_lack(wire);
  if (queue == NULL && place == wire->room && isthmus_mpi_grow(wire)) return -1;
  if (isthmus_mpi_status(wire, MPI_Irecv(bytes, (int)count, MPI_BYTE, any ? MPI_ANY_SOURCE : (int)from, (int)tag,
                                         wire->comm, &(queue == NULL ? wire->requests : queue->requests)[place])))
    return -1;
  (queue == NULL ? wire->tokens : queue->tokens)[place] = token;
  if (queue == NULL) return ++wire->under_way, 0;
  if (++queue->count > queue->most) queue->most = queue->count;
  return 0;
}

/* What a request that has ended says; `error`: its own. */
static inline int isthmus_mpi_ended(isthmus_mpi_wire* wire, uint64_t token, const MPI_Status* status, int error) {
  int kind, bytes = 0;
  uint64_t count;
  if (error != MPI_SUCCESS) {
    MPI_Error_class(error, &kind);
    if (kind != MPI_ERR_TRUNCATE) return isthmus_mpi_status(wire, error);
    count = ISTHMUS_WIRE_MORE;
  } else {
    MPI_Get_count((MPI_Status*)status, MPI_BYTE, &bytes);
    count = bytes < 0 ? 0 : (uint64_t)bytes;
  }
  return isthmus_mpi_end(wire, &wire->ended, &wire->ends, &wire->ended_room, token, count);
}

static inline int isthmus_mpi_look_at(isthmus_mpi_wire* wire, isthmus_mpi_queue* queue) {
  while (queue->count > 0) {
    MPI_Status status;
    int done = 0;
    const int error = MPI_Test(&queue->requests[queue->first], &done, &status);
    if (error == MPI_SUCCESS && !done) return 0;
    ++queue->first;
    --queue->count;
    if (isthmus_mpi_ended(wire, queue->tokens[queue->first - 1], &status, error)) return -1;
  }
  queue->first = 0;
  return 0;
}

static inline int isthmus_mpi_look_at_others(isthmus_mpi_wire* wire) {
  int count = 0, i, kept = 0, kind;
  const int error = MPI_Testsome(wire->under_way, wire->requests, &count, wire->indices, wire->statuses);
  if (error != MPI_SUCCESS) {
    MPI_Error_class(error, &kind);
    if (kind != MPI_ERR_IN_STATUS) return isthmus_mpi_status(wire, error);
  }
  if (count == MPI_UNDEFINED || count == 0) return 0;
  for (i = 0; i < count; ++i)
    if (isthmus_mpi_ended(wire, wire->tokens[wire->indices[i]], &wire->statuses[i],
                          error == MPI_SUCCESS ? MPI_SUCCESS : wire->statuses[i].MPI_ERROR))
      return -1;
  for (i = 0; i < wire->under_way; ++i) {
    if (wire->requests[i] == MPI_REQUEST_NULL) continue;
    wire->requests[kept] = wire->requests[i];
    wire->tokens[kept++] = wire->tokens[i];
  }
  wire->under_way = kept;
  return 0;
}

static inline int64_t isthmus_mpi_poll(void* data, const isthmus_wire_end** ended) {
  enum { seldom = 16 }; /* a queue of one receive is that of alarms */
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  int i, any = 0;
  wire->ends = 0;
  for (i = 0; i < wire->goes; ++i)
    if (isthmus_mpi_end(wire, &wire->ended, &wire->ends, &wire->ended_room, wire->gone[i].token, wire->gone[i].bytes))
      return -1;
  wire->goes = 0;
  ++wire->looks;
  for (i = 0; i < ISTHMUS_MPI_QUEUES && wire->queues[i].room > 0; ++i) {
    if (wire->queues[i].most == 1 && wire->looks % seldom != 0) continue;
    if (isthmus_mpi_look_at(wire, &wire->queues[i])) return -1;
    any = 1;
  }
  if ((wire->under_way > 0 || !any) && isthmus_mpi_look_at_others(wire)) return -1;
  *ended = wire->ended;
  return wire->ends;
}

static inline const char* isthmus_mpi_error(void* data) { return ((isthmus_mpi_wire*)data)->words; }

static inline void isthmus_mpi_close(void* data, int failed) {
  isthmus_mpi_wire* const wire = (isthmus_mpi_wire*)data;
  const double begin = MPI_Wtime();
  int i, j, ended = 0;
  for (i = 0; i < ISTHMUS_MPI_QUEUES; ++i) {
    isthmus_mpi_queue* const queue = &wire->queues[i];
    for (j = 0; j < queue->count; ++j) {
      if (wire->under_way == wire->room && isthmus_mpi_grow(wire)) break;
      wire->requests[wire->under_way++] = queue->requests[queue->first + j];
    }
    free(queue->requests);
    free(queue->tokens);
  }
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
  free(wire->gone);
  free(wire);
}

#endif
