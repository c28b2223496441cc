/* Arrays that are dealt out to the ranks of a space in blocks, by the layout rule of UPC 1.3 (sections 6.4.2
 * and 6.4.3): element i of an array with blocks of B elements lies on rank (i / B) modulo the number of ranks, at phase
 * i modulo B.
 *
 *     isthmus_shared p = isthmus_shared_first(offset);                       of memory of isthmus_allocate_all()
 *     p = isthmus_shared_add(p, i, sizeof(double), block, ranks);            &a[i]
 *     isthmus_get(space, &value, p.rank, p.offset, sizeof value);
 *
 * Everything is done here, without the library: for programs and for what compilers write. Blocks have fewer than 2^32
 * elements; 0 is a block without an end, which lies on one rank. */
#ifndef ISTHMUS_SHARED_H
#define ISTHMUS_SHARED_H

#include "isthmus_pgas.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A place in an array; the block and the size of an element belong to its type, and are given with it. */
typedef struct isthmus_shared {
  uint64_t offset; /* of the element in the memory of its rank */
  uint32_t rank;
  uint32_t phase; /* number of the element in its block */
} isthmus_shared;

/* Bytes that every rank allocates for an array of so many elements. */
static inline uint64_t isthmus_shared_bytes(uint64_t elements, uint64_t bytes, uint32_t block, uint32_t ranks) {
  if (block == 0) return elements * bytes;
  const uint64_t round = (uint64_t)block * ranks;
  return (elements / round + (elements % round != 0)) * block * bytes;
}

/* Element 0 of an array that begins at an offset, on rank 0. */
static inline isthmus_shared isthmus_shared_first(uint64_t offset) {
  const isthmus_shared p = {offset, 0, 0};
  return p;
}

/* So many elements further, or back. */
static inline isthmus_shared isthmus_shared_add(isthmus_shared p, int64_t elements, uint64_t bytes, uint32_t block,
                                                uint32_t ranks) {
  if (block == 0) {
    p.offset += (uint64_t)elements * bytes;
    return p;
  }
  /* The usual step stays in its block. */
  const int64_t to = (int64_t)p.phase + elements;
  if (to >= 0 && to < (int64_t)block) {
    p.phase = (uint32_t)to;
    p.offset += (uint64_t)elements * bytes;
    return p;
  }
  int64_t blocks = to / (int64_t)block, phase = to % (int64_t)block;
  if (phase < 0) phase += block, --blocks;
  int64_t rank = (int64_t)p.rank + blocks, rounds = 0;
  if (rank >= (int64_t)ranks && rank < 2 * (int64_t)ranks) { /* so does the next block of an array that is walked */
    rank -= ranks, rounds = 1;
  } else if (rank < 0 || rank >= (int64_t)ranks) {
    rounds = rank / (int64_t)ranks, rank %= (int64_t)ranks;
    if (rank < 0) rank += ranks, --rounds;
  }
  p.offset += (uint64_t)(rounds * (int64_t)block + phase - (int64_t)p.phase) * bytes;
  p.rank = (uint32_t)rank;
  p.phase = (uint32_t)phase;
  return p;
}

/* Elements from `from` to `to`, which are places of one array. */
static inline int64_t isthmus_shared_difference(isthmus_shared to, isthmus_shared from, uint64_t bytes, uint32_t block,
                                                uint32_t ranks) {
  const int64_t local = (int64_t)(to.offset - from.offset) / (int64_t)bytes;
  if (block == 0) return local;
  const int64_t phase = (int64_t)to.phase - (int64_t)from.phase;
  return ((local - phase) / (int64_t)block * (int64_t)ranks + (int64_t)to.rank - (int64_t)from.rank) * (int64_t)block +
         phase;
}

static inline int isthmus_shared_equal(isthmus_shared a, isthmus_shared b) {
  return a.offset == b.offset && a.rank == b.rank;
}

/* How many of an array's elements lie on a rank, one behind the other from the offset of the array on; and the index of
 * one of them. */
static inline uint64_t isthmus_shared_local(uint64_t elements, uint32_t block, uint32_t ranks, uint32_t rank) {
  if (block == 0) return rank == 0 ? elements : 0;
  const uint64_t round = (uint64_t)block * ranks, rest = elements % round, before = (uint64_t)block * rank;
  const uint64_t last = rest <= before ? 0 : rest - before < block ? rest - before : block;
  return elements / round * block + last;
}
static inline uint64_t isthmus_shared_index(uint64_t local, uint32_t block, uint32_t ranks, uint32_t rank) {
  if (block == 0) return local;
  return local / block * block * ranks + (uint64_t)block * rank + local % block;
}

#ifdef __cplusplus
}
#endif
#endif
