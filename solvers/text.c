#include "text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>

void text_add(struct text* text, const char* format, ...) {
  for (;;) {
    va_list arguments;
    va_start(arguments, format);
    const size_t left = text->room - text->size;
    const int length = vsnprintf(left ? text->bytes + text->size : NULL, left, format, arguments);
    va_end(arguments);
    if (length < 0) abort();
    if ((size_t)length < left) {
      text->size += (size_t)length;
      return;
    }
    text->room = 2 * text->room + (size_t)length + 256;
    text->bytes = realloc(text->bytes, text->room);
    if (!text->bytes) abort();
  }
}

void text_gather(struct text* text, MPI_Comm comm, FILE* stream) {
  enum { TAG = 7321 };
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  if (text->size > INT_MAX) abort();
  const int size = (int)text->size;
  if (rank) {
    /* Rank 0 asks one after the other, so that it never holds more than one text. */
    MPI_Recv(NULL, 0, MPI_CHAR, 0, TAG, comm, MPI_STATUS_IGNORE);
    MPI_Send(size ? text->bytes : "", size, MPI_CHAR, 0, TAG, comm);
  } else {
    if (stream && size) fwrite(text->bytes, 1, (size_t)size, stream);
    char* other = NULL;
    int room = 0;
    for (int from = 1; from < ranks; ++from) {
      MPI_Send(NULL, 0, MPI_CHAR, from, TAG, comm);
      MPI_Status status;
      int length;
      MPI_Probe(from, TAG, comm, &status);
      MPI_Get_count(&status, MPI_CHAR, &length);
      if (length >= room) {
        room = 2 * length + 256;
        other = realloc(other, (size_t)room);
        if (!other) abort();
      }
      MPI_Recv(other, length, MPI_CHAR, from, TAG, comm, MPI_STATUS_IGNORE);
      if (stream && length) fwrite(other, 1, (size_t)length, stream);
    }
    free(other);
  }
  free(text->bytes);
  text->bytes = NULL;
  text->size = text->room = 0;
}
