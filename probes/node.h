/* The program without MPI: what a node does by itself. */
#ifndef ISTHMUS_NODE_H
#define ISTHMUS_NODE_H

#include "probe.h"

typedef struct {
  /* NULL, or why it cannot be measured. */
  const char* (*prepare)(Item* item);
  int (*batch)(const Item* item, int count, double* values);
} NodeCode;

extern const NodeCode code_stream, code_memcpy, code_spmv, code_fma;

/* Runs on the core of the item, or on the first that this process may use; NULL, or why not. */
const char* pin_item(const Item* item);

/* A sum that the compiler cannot leave out. */
void keep(double value);

#endif
