/* Accesses to memory of a space as UPC means them: relaxed, or strict; by a compiler that translates a language, or by
 * hand. What is promised is written down in the documentation, page "Memory model".
 *
 *     isthmus_write_u64(space, 1, data, 42, ISTHMUS_RELAXED);
 *     isthmus_write_u64(space, 1, flag, 1, ISTHMUS_STRICT);    whoever reads the flag strictly and finds 1 finds 42
 *
 * Where memory is shared they are done where they stand. All of them are done when they return. */
#ifndef ISTHMUS_ACCESS_H
#define ISTHMUS_ACCESS_H

#include "isthmus_pgas.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum isthmus_access {
  ISTHMUS_RELAXED = 0, /* in order with accesses of the same rank to the same element alone */
  ISTHMUS_STRICT = 1 /* all ranks see all strict accesses in one order, and what stands before and after one of them in
                        its program before and after it */
} isthmus_access;

/* What the functions below call for memory that is not shared, and for wrong places. */
int isthmus_fence_elsewhere(isthmus_space* space);
int isthmus_read_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes,
                           isthmus_access access);
int isthmus_write_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                            isthmus_access access);

/* That of the processor alone. (The thread sanitizer knows no fences, and says so.) */
#if defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
static inline void isthmus_fence_near(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#if defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic pop
#endif

/* All that this rank did before is seen by all before anything that it does afterwards; also what was begun without an
 * event outside of regions. Not in a handler where some rank is on another node. */
static inline int isthmus_fence(isthmus_space* space) {
  if (((const isthmus_space_head*)space)->far) return isthmus_fence_elsewhere(space);
  isthmus_fence_near();
  return ISTHMUS_DONE;
}

/* An access is strict if it stands between two fences. Some of them need no instruction on x86: an exchange is a fence
 * on both sides, and loads are not carried out before others. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define ISTHMUS_STRICT_STORE(at, value) ((void)__atomic_exchange_n(at, value, __ATOMIC_SEQ_CST))
#define ISTHMUS_STRICT_LOAD(at, value) (isthmus_fence_near(), (void)(*(value) = __atomic_load_n(at, __ATOMIC_ACQUIRE)))
#else
#define ISTHMUS_STRICT_STORE(at, value) \
  (isthmus_fence_near(), __atomic_store_n(at, value, __ATOMIC_RELEASE), isthmus_fence_near())
#define ISTHMUS_STRICT_LOAD(at, value) \
  (isthmus_fence_near(), (void)(*(value) = __atomic_load_n(at, __ATOMIC_ACQUIRE)), isthmus_fence_near())
#endif

/* isthmus_read_u8(), _u16, _u32, _u64, and isthmus_write_u8() and so on: of an element at a multiple of its size, which
 * is never seen half written. */
#define ISTHMUS_ACCESS(bits)                                                                                          \
  static inline int isthmus_read_u##bits(isthmus_space* space, uint##bits##_t* value, uint32_t rank, uint64_t offset, \
                                         isthmus_access access) {                                                     \
    const isthmus_space_head* const head = (const isthmus_space_head*)space;                                          \
    const char* const near = isthmus_near(space, rank, offset, sizeof *value);                                        \
    const uint##bits##_t* const at = (const uint##bits##_t*)(const void*)near;                                        \
    if (!at || offset % sizeof *value || (head->far && access == ISTHMUS_STRICT))                                     \
      return isthmus_read_elsewhere(space, value, rank, offset, sizeof *value, access);                               \
    if (access == ISTHMUS_STRICT) ISTHMUS_STRICT_LOAD(at, value);                                                     \
    else *value = __atomic_load_n(at, __ATOMIC_RELAXED);                                                              \
    return ISTHMUS_DONE;                                                                                              \
  }                                                                                                                   \
  static inline int isthmus_write_u##bits(isthmus_space* space, uint32_t rank, uint64_t offset, uint##bits##_t value, \
                                          isthmus_access access) {                                                    \
    const isthmus_space_head* const head = (const isthmus_space_head*)space;                                          \
    char* const near = isthmus_near(space, rank, offset, sizeof value);                                               \
    uint##bits##_t* const at = (uint##bits##_t*)(void*)near;                                                          \
    if (!at || offset % sizeof value || (head->far && access == ISTHMUS_STRICT))                                      \
      return isthmus_write_elsewhere(space, rank, offset, &value, sizeof value, access);                              \
    if (access == ISTHMUS_STRICT) ISTHMUS_STRICT_STORE(at, value);                                                    \
    else __atomic_store_n(at, value, __ATOMIC_RELAXED);                                                               \
    return ISTHMUS_DONE;                                                                                              \
  }
ISTHMUS_ACCESS(8)
ISTHMUS_ACCESS(16)
ISTHMUS_ACCESS(32)
ISTHMUS_ACCESS(64)
#undef ISTHMUS_ACCESS

/* Of bytes, which may be seen half written. */
static inline int isthmus_read_block(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes,
                                     isthmus_access access) {
  int status = access == ISTHMUS_STRICT ? isthmus_fence(space) : ISTHMUS_DONE;
  if (status >= 0) status = isthmus_get(space, to, rank, offset, bytes);
  return status < 0 || access != ISTHMUS_STRICT ? status : isthmus_fence(space);
}
static inline int isthmus_write_block(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from,
                                      size_t bytes, isthmus_access access) {
  int status = access == ISTHMUS_STRICT ? isthmus_fence(space) : ISTHMUS_DONE;
  if (status >= 0) status = isthmus_put(space, rank, offset, from, bytes);
  return status < 0 || access != ISTHMUS_STRICT ? status : isthmus_fence(space);
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
