/* Text that grows, and texts of all ranks one after the other in a file. */
#ifndef ISTHMUS_TEXT_H
#define ISTHMUS_TEXT_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

struct text {
  char* bytes;
  size_t size, room;
};

void text_add(struct text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* Appends the texts of all ranks, in their order, to a stream that rank 0 has; empties them. Collective. */
void text_gather(struct text* text, MPI_Comm comm, FILE* stream);

#endif
