#include "counting.h"

#include <mpi.h>

int counting;
struct counted counted;

static void sent(int count, MPI_Datatype type, int to) {
  int size = 0;
  if (!counting || to == MPI_PROC_NULL) return;
  PMPI_Type_size(type, &size);
  ++counted.messages;
  counted.bytes += (long long)count * size;
}

/* A communicator of one rank sends nothing. */
static void joined(MPI_Comm comm) {
  int ranks = 1;
  if (!counting) return;
  PMPI_Comm_size(comm, &ranks);
  counted.collectives += ranks > 1;
}

int MPI_Isend(const void* bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  sent(count, type, to);
  return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

int MPI_Send(const void* bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  sent(count, type, to);
  return PMPI_Send(bytes, count, type, to, tag, comm);
}

int MPI_Gatherv(const void* from, int count, MPI_Datatype type, void* to, const int* counts, const int* first,
                MPI_Datatype other, int root, MPI_Comm comm) {
  joined(comm);
  return PMPI_Gatherv(from, count, type, to, counts, first, other, root, comm);
}

int MPI_Scatterv(const void* from, const int* counts, const int* first, MPI_Datatype type, void* to, int count,
                 MPI_Datatype other, int root, MPI_Comm comm) {
  joined(comm);
  return PMPI_Scatterv(from, counts, first, type, to, count, other, root, comm);
}

int MPI_Allgatherv(const void* from, int count, MPI_Datatype type, void* to, const int* counts, const int* first,
                   MPI_Datatype other, MPI_Comm comm) {
  joined(comm);
  return PMPI_Allgatherv(from, count, type, to, counts, first, other, comm);
}

int MPI_Bcast(void* bytes, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  joined(comm);
  return PMPI_Bcast(bytes, count, type, root, comm);
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  joined(comm);
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
