/* Isthmus beside MPI: a team of the ranks of a communicator, and types and operators by their names in MPI. Only this
 * header knows MPI, so that one library serves all of them. */
#ifndef ISTHMUS_MPI_H
#define ISTHMUS_MPI_H

#include <isthmus/isthmus.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A team of all ranks of a communicator, in their order. Collective. All ranks get the same status:
 * ISTHMUS_UNSUPPORTED, with no words, where they are not on one node; ISTHMUS_SYSTEM where one of them could not join.
 */
static inline int isthmus_join_mpi(MPI_Comm comm, isthmus_team** team) {
  int rank, ranks, on_node, same, worst, status = ISTHMUS_DONE;
  char name[64] = "";
  MPI_Comm node;
  isthmus_job job;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  on_node = on_node == ranks;
  MPI_Allreduce(&on_node, &same, 1, MPI_INT, MPI_MIN, comm);
  if (!same) return ISTHMUS_UNSUPPORTED;
  if (rank == 0) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, "mpi-%ld-%lld-%ld", (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
  }
  MPI_Bcast(name, (int)sizeof name, MPI_CHAR, 0, comm);
  memset(&job, 0, sizeof job);
  job.size = sizeof job;
  job.name = name;
  job.rank = (uint32_t)rank;
  job.ranks = (uint32_t)ranks;
  status = isthmus_join(&job, team);
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MIN, comm);
  if (worst != ISTHMUS_DONE && status == ISTHMUS_DONE) isthmus_leave(*team);
  return worst;
}

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
