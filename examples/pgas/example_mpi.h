/* What the MPI versions of examples share: see example.hpp. */
#ifndef EXAMPLE_MPI_H
#define EXAMPLE_MPI_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t number(int argc, char** argv, int which, uint64_t usual) {
  return argc > which ? strtoull(argv[which], NULL, 10) : usual;
}

static inline uint64_t mixed(uint64_t place, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits ^ (place * 0x9E3779B97F4A7C15U)) * 0xBF58476D1CE4E5B9U;
  return bits ^ (bits >> 29);
}

#endif
