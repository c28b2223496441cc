/* What isthmus upcc writes calls of: accesses to shared memory and synchronisation of UPC programs. Included before all
 * else in every translated file, and in C files that deal with pointers to shared. */
#ifndef ISTHMUS_UPC_H
#define ISTHMUS_UPC_H

#include <isthmus/isthmus_access.h>
#include <isthmus/isthmus_shared.h>

#include "isthmus_upc_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

extern isthmus_space* isthmus_upc_space;
extern uint32_t isthmus_upc_threads, isthmus_upc_thread;
/* Whether a upc_forall around this place, perhaps in a function that called this one, deals out iterations. */
extern int isthmus_upc_control;
/* The memory of this thread: offset 0 of it. */
extern char* isthmus_upc_own;

/* A shared object of the program: where its offset is kept, how many elements times THREADS or not. */
typedef struct isthmus_upc_object {
  uint64_t* offset;
  const char* name;
  uint64_t count;
  uint64_t threads;
  uint64_t bytes;
  uint64_t block;
  uint64_t array;
  const void* values; /* of the first elements, or NULL */
  uint64_t given;
} isthmus_upc_object;

/* Of upc_atomic.h: programs for other compilers name it without including that. */
typedef struct upc_atomicdomain_t upc_atomicdomain_t;

/* Says why and ends the program. */
void isthmus_upc_fail(const char* doing);
void isthmus_upc_barrier(int given, int id);
void isthmus_upc_notify(int given, int id);
void isthmus_upc_wait(int given, int id);

static inline void isthmus_upc_fence(void) {
  if (__builtin_expect(isthmus_fence(isthmus_upc_space) < 0, 0)) isthmus_upc_fail("upc_fence");
}

/* -- pointers to shared; none points to offset 0 -- */

static inline int isthmus_upc_is(isthmus_shared p) { return p.offset != 0 || p.rank != 0; }
static inline isthmus_shared isthmus_upc_resetphase(isthmus_shared p) {
  p.phase = 0;
  return p;
}
static inline isthmus_shared isthmus_upc_member(isthmus_shared p, size_t offset) {
  p.offset += offset;
  p.phase = 0;
  return p;
}
static inline void* isthmus_upc_local(isthmus_shared p) {
  return isthmus_upc_is(p) ? isthmus_cast(isthmus_upc_space, p.rank, p.offset) : (void*)0;
}
/* 16 bits of thread and 48 of offset. */
static inline uint64_t isthmus_upc_integer(isthmus_shared p) { return (uint64_t)p.rank << 48 | p.offset; }
static inline isthmus_shared isthmus_upc_of_integer(uint64_t number) {
  const isthmus_shared p = {number & 0xffffffffffff, (uint32_t)(number >> 48), 0};
  return p;
}
static inline isthmus_shared isthmus_upc_move(isthmus_shared* p, int64_t elements, uint64_t bytes, uint32_t block,
                                              uint32_t ranks) {
  return *p = isthmus_shared_add(*p, elements, bytes, block, ranks);
}
static inline isthmus_shared isthmus_upc_move_after(isthmus_shared* p, int64_t elements, uint64_t bytes, uint32_t block,
                                                    uint32_t ranks) {
  const isthmus_shared before = *p;
  *p = isthmus_shared_add(before, elements, bytes, block, ranks);
  return before;
}
/* One element further, where only what changes is read and written: for pointers that are in memory. */
static inline isthmus_shared isthmus_upc_next(isthmus_shared* p, uint64_t bytes, uint32_t block, uint32_t ranks) {
  if (block == 1) {
    if (++p->rank == ranks) p->rank = 0, p->offset += bytes;
  } else {
    *p = isthmus_shared_add(*p, 1, bytes, block, ranks);
  }
  return *p;
}
static inline int isthmus_upc_is_mine(isthmus_shared p) { return p.rank == isthmus_upc_thread; }
static inline int isthmus_upc_is_turn(int64_t number, int64_t threads) {
  const int64_t turn = number % threads;
  return (turn < 0 ? turn + threads : turn) == (int64_t)isthmus_upc_thread;
}

/* -- iterations of a upc_forall that are this thread's; `step` is not 0 -- */

static inline int64_t isthmus_upc_floor(int64_t number, int64_t by) { /* `by` is more than 0 */
  const int64_t whole = number / by;
  return whole - (number % by < 0);
}
/* Iterations of a counter that goes from `from` to before `to`. */
static inline int64_t isthmus_upc_iterations(int64_t from, int64_t to, int64_t step) {
  const int64_t far = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
  return far > 0 ? (far - 1) / by + 1 : 0;
}
/* Element counter + shift is on thread counter + shift modulo threads. */
typedef struct isthmus_upc_turns {
  int64_t count, counter, step; /* how many there are, the first one, and from one to the next */
  int64_t local, local_step;    /* the same of the number of the element on its thread */
} isthmus_upc_turns;
static inline isthmus_upc_turns isthmus_upc_turns_of(int64_t from, int64_t iterations, int64_t step, int64_t shift,
                                                     int64_t threads) {
  isthmus_upc_turns turns = {0, from, step, 0, step};
  int64_t first = 0, by = 1, rest = step % threads;
  while (rest) rest = (rest + step) % threads, ++by; /* iterations until it is the same thread's turn */
  while (first < by && !isthmus_upc_is_turn(from + shift + first * step, threads)) ++first;
  if (first == by || first >= iterations) return turns;
  turns.count = (iterations - first - 1) / by + 1;
  turns.counter = from + first * step;
  turns.step = by * step;
  turns.local = isthmus_upc_floor(turns.counter + shift, threads);
  turns.local_step = turns.step / threads;
  return turns;
}
/* Where the own elements of a loop begin. What it was made of is kept from the compiler, which otherwise goes from one
 * element to the next by the distance of arrays: 9 instructions where a loop of C has 7. */
static inline void* isthmus_upc_start_of(void* start) {
#ifdef __GNUC__
  __asm__("" : "+r"(start));
#endif
  return start;
}
/* Of blocks: the first one from a block on that is this thread's. */
static inline int64_t isthmus_upc_next_block(int64_t block, int64_t threads) {
  const int64_t ahead = ((int64_t)isthmus_upc_thread - block) % threads;
  return block + (ahead < 0 ? ahead + threads : ahead);
}

/* -- accesses: of 1, 2, 4 and 8 bytes whole, of other sizes perhaps in parts -- */

#define ISTHMUS_UPC_READ(bits)                                                                              \
  if (bytes == bits / 8 && p.offset % (bits / 8) == 0) {                                                    \
    uint##bits##_t value = 0;                                                                               \
    if (__builtin_expect(isthmus_read_u##bits(isthmus_upc_space, &value, p.rank, p.offset, access) < 0, 0)) \
      isthmus_upc_fail("read of shared memory");                                                            \
    memcpy(to, &value, sizeof value);                                                                       \
    return to;                                                                                              \
  }
static inline void* isthmus_upc_read(void* to, isthmus_shared p, size_t bytes, int ordered) {
  const isthmus_access access = ordered ? ISTHMUS_STRICT : ISTHMUS_RELAXED;
  ISTHMUS_UPC_READ(8)
  ISTHMUS_UPC_READ(16)
  ISTHMUS_UPC_READ(32)
  ISTHMUS_UPC_READ(64)
  if (__builtin_expect(isthmus_read_block(isthmus_upc_space, to, p.rank, p.offset, bytes, access) < 0, 0))
    isthmus_upc_fail("read of shared memory");
  return to;
}
#define ISTHMUS_UPC_WRITE(bits)                                                                             \
  if (bytes == bits / 8 && p.offset % (bits / 8) == 0) {                                                    \
    uint##bits##_t value;                                                                                   \
    memcpy(&value, from, sizeof value);                                                                     \
    if (__builtin_expect(isthmus_write_u##bits(isthmus_upc_space, p.rank, p.offset, value, access) < 0, 0)) \
      isthmus_upc_fail("write to shared memory");                                                           \
    return from;                                                                                            \
  }
static inline const void* isthmus_upc_write(isthmus_shared p, const void* from, size_t bytes, int ordered) {
  const isthmus_access access = ordered ? ISTHMUS_STRICT : ISTHMUS_RELAXED;
  ISTHMUS_UPC_WRITE(8)
  ISTHMUS_UPC_WRITE(16)
  ISTHMUS_UPC_WRITE(32)
  ISTHMUS_UPC_WRITE(64)
  if (__builtin_expect(isthmus_write_block(isthmus_upc_space, p.rank, p.offset, from, bytes, access) < 0, 0))
    isthmus_upc_fail("write to shared memory");
  return from;
}
#undef ISTHMUS_UPC_READ
#undef ISTHMUS_UPC_WRITE

#ifdef __cplusplus
}
#endif
#endif
