/* The collectives of MPI, blocking and not, by name. */
#ifndef ISTHMUS_OPERATIONS_H
#define ISTHMUS_OPERATIONS_H

#include "team.h"

enum { OPERATIONS = 22 };
extern const char* const operation_name[OPERATIONS];

typedef struct {
  int which, bytes, size, me;
  MPI_Comm comm, cart;
  char* out;
  char* in;
  int *counts, *displacements, *ones;
  MPI_Datatype type, *types;
  MPI_Op op;
  int elements;
} Operation;

/* NULL, or why it cannot be done; by all members. Bytes are those of isthmus.collective: of the vector, or of each
 * rank's block. */
const char* operation_make(Operation* operation, const char* name, int bytes, const Team* team);

/* Blocking where there is no request. */
void operation_do(const Operation* o, MPI_Request* request);

#endif
