/* What compilers of UPC for Berkeley's runtime call, among them upc2c: shared memory, pointers to shared, and
 * synchronisation by the names of that runtime, on libisthmus. Link with isthmus upcc, which finds what the files leave
 * to be done before main. */
#ifndef ISTHMUS_UPCR_H
#define ISTHMUS_UPCR_H

#include <inttypes.h>
#include <isthmus_upc.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pointer to shared without a phase has phase 0. */
typedef isthmus_shared upcr_shared_ptr_t, upcr_pshared_ptr_t;
typedef uintptr_t upcr_register_value_t;
#define UPCR_INITIALIZED_SHARED {0, 0, 0}
#define UPCR_INITIALIZED_PSHARED UPCR_INITIALIZED_SHARED
static const upcr_shared_ptr_t upcr_null_shared __attribute__((unused)) = UPCR_INITIALIZED_SHARED;
static const upcr_pshared_ptr_t upcr_null_pshared __attribute__((unused)) = UPCR_INITIALIZED_PSHARED;
#define UPCR_NULL_SHARED upcr_null_shared
#define UPCR_NULL_PSHARED upcr_null_pshared

/* -- threads are processes: their variables are those of C -- */

#define UPCR_BEGIN_FUNCTION() ((void)0)
#define UPCR_EXIT_FUNCTION() ((void)0)
#define UPCR_TLD_DEFINE(name, bytes, alignment) name
#define UPCR_TLD_DEFINE_TENTATIVE(name, bytes, alignment) name
#define UPCR_TLD_ADDR(name) ((void*)&(name))
/* Every file defines it: whether a upc_forall around this place deals out iterations. */
#define upcrt_forall_control isthmus_upc_control
extern int isthmus_upc_control __attribute__((weak));

static inline int upcr_mythread(void) { return (int)isthmus_upc_thread; }
static inline int upcr_threads(void) { return (int)isthmus_upc_threads; }

/* -- synchronisation -- */

#define UPCR_BARRIERFLAG_ANONYMOUS 1
static inline void upcr_notify(int id, int flags) { isthmus_upc_notify(!(flags & 1), id); }
static inline void upcr_wait(int id, int flags) { isthmus_upc_wait(!(flags & 1), id); }
static inline void upcr_barrier(int id, int flags) { isthmus_upc_barrier(!(flags & 1), id); }
void upc_poll(void);
/* What upc2c makes of upc_fence, too. */
static inline void upcr_poll(void) {
  upc_poll();
  isthmus_upc_fence();
}

/* -- static objects: allocated before main -- */

typedef struct upcr_startup_shalloc_t {
  upcr_shared_ptr_t* pointer;
  size_t block_bytes, blocks;
  int times_threads;
  size_t element_bytes;
  const char *name, *type;
} upcr_startup_shalloc_t, upcr_startup_pshalloc_t;
void upcr_startup_shalloc(const upcr_startup_shalloc_t* objects, size_t count);
static inline void upcr_startup_pshalloc(const upcr_startup_pshalloc_t* objects, size_t count) {
  upcr_startup_shalloc(objects, count);
}

/* -- pointers to shared -- */

static inline int upcr_hasMyAffinity_shared(upcr_shared_ptr_t p) { return isthmus_upc_is_mine(p); }
static inline int upcr_hasMyAffinity_pshared(upcr_pshared_ptr_t p) { return isthmus_upc_is_mine(p); }
static inline upcr_shared_ptr_t upcr_add_shared(upcr_shared_ptr_t p, size_t bytes, ptrdiff_t by, size_t block) {
  return isthmus_shared_add(p, by, bytes, (uint32_t)block, isthmus_upc_threads);
}
static inline upcr_pshared_ptr_t upcr_add_psharedI(upcr_pshared_ptr_t p, size_t bytes, ptrdiff_t by) {
  return isthmus_shared_add(p, by, bytes, 0, isthmus_upc_threads);
}
static inline upcr_pshared_ptr_t upcr_add_pshared1(upcr_pshared_ptr_t p, size_t bytes, ptrdiff_t by) {
  return isthmus_shared_add(p, by, bytes, 1, isthmus_upc_threads);
}
static inline void upcr_inc_shared(upcr_shared_ptr_t* p, size_t bytes, ptrdiff_t by, size_t block) {
  *p = upcr_add_shared(*p, bytes, by, block);
}
static inline void upcr_inc_psharedI(upcr_pshared_ptr_t* p, size_t bytes, ptrdiff_t by) {
  *p = upcr_add_psharedI(*p, bytes, by);
}
static inline void upcr_inc_pshared1(upcr_pshared_ptr_t* p, size_t bytes, ptrdiff_t by) {
  *p = upcr_add_pshared1(*p, bytes, by);
}
static inline ptrdiff_t upcr_sub_shared(upcr_shared_ptr_t p, upcr_shared_ptr_t q, size_t bytes, size_t block) {
  return isthmus_shared_difference(p, q, bytes, (uint32_t)block, isthmus_upc_threads);
}
static inline ptrdiff_t upcr_sub_psharedI(upcr_pshared_ptr_t p, upcr_pshared_ptr_t q, size_t bytes) {
  return isthmus_shared_difference(p, q, bytes, 0, isthmus_upc_threads);
}
static inline ptrdiff_t upcr_sub_pshared1(upcr_pshared_ptr_t p, upcr_pshared_ptr_t q, size_t bytes) {
  return isthmus_shared_difference(p, q, bytes, 1, isthmus_upc_threads);
}
static inline int upcr_isequal_shared_shared(upcr_shared_ptr_t p, upcr_shared_ptr_t q) {
  return isthmus_shared_equal(p, q);
}
#define upcr_isequal_shared_pshared upcr_isequal_shared_shared
#define upcr_isequal_pshared_shared upcr_isequal_shared_shared
#define upcr_isequal_pshared_pshared upcr_isequal_shared_shared
static inline int upcr_isnull_shared(upcr_shared_ptr_t p) { return !isthmus_upc_is(p); }
#define upcr_isnull_pshared upcr_isnull_shared
static inline void* upcr_shared_to_local(upcr_shared_ptr_t p) { return isthmus_upc_local(p); }
#define upcr_pshared_to_local upcr_shared_to_local
static inline upcr_shared_ptr_t upcr_shared_resetphase(upcr_shared_ptr_t p) { return isthmus_upc_resetphase(p); }
static inline upcr_pshared_ptr_t upcr_shared_to_pshared(upcr_shared_ptr_t p) { return isthmus_upc_resetphase(p); }
static inline upcr_shared_ptr_t upcr_pshared_to_shared(upcr_pshared_ptr_t p) { return isthmus_upc_resetphase(p); }
static inline uintptr_t upcr_addrfield_shared(upcr_shared_ptr_t p) { return (uintptr_t)p.offset; }
#define upcr_addrfield_pshared upcr_addrfield_shared
static inline size_t upcr_threadof_shared(upcr_shared_ptr_t p) { return p.rank; }
#define upcr_threadof_pshared upcr_threadof_shared
static inline size_t upcr_phaseof_shared(upcr_shared_ptr_t p) { return p.phase; }
#define upcr_phaseof_pshared(p) ((void)(p), (size_t)0)

/* -- accesses: at so many bytes behind the pointer -- */

static inline upcr_shared_ptr_t isthmus_upcr_at(upcr_shared_ptr_t p, ptrdiff_t bytes) {
  p.offset += (uint64_t)bytes;
  return p;
}
#define ISTHMUS_UPCR_ACCESSES(suffix, strict)                                                                        \
  static inline void upcr_get_shared##suffix(void* to, upcr_shared_ptr_t p, ptrdiff_t at, size_t bytes) {            \
    isthmus_upc_read(to, isthmus_upcr_at(p, at), bytes, strict);                                                     \
  }                                                                                                                  \
  static inline void upcr_put_shared##suffix(upcr_shared_ptr_t p, ptrdiff_t at, const void* from, size_t bytes) {    \
    isthmus_upc_write(isthmus_upcr_at(p, at), from, bytes, strict);                                                  \
  }                                                                                                                  \
  static inline upcr_register_value_t upcr_get_shared_val##suffix(upcr_shared_ptr_t p, ptrdiff_t at, size_t bytes) { \
    uint8_t one;                                                                                                     \
    uint16_t two;                                                                                                    \
    uint32_t four;                                                                                                   \
    upcr_register_value_t value = 0;                                                                                 \
    p = isthmus_upcr_at(p, at);                                                                                      \
    switch (bytes) {                                                                                                 \
      case 1: return isthmus_upc_read(&one, p, 1, strict), one;                                                      \
      case 2: return isthmus_upc_read(&two, p, 2, strict), two;                                                      \
      case 4: return isthmus_upc_read(&four, p, 4, strict), four;                                                    \
      default: return isthmus_upc_read(&value, p, bytes, strict), value;                                             \
    }                                                                                                                \
  }                                                                                                                  \
  static inline void upcr_put_shared_val##suffix(upcr_shared_ptr_t p, ptrdiff_t at, upcr_register_value_t value,     \
                                                 size_t bytes) {                                                     \
    const uint8_t one = (uint8_t)value;                                                                              \
    const uint16_t two = (uint16_t)value;                                                                            \
    const uint32_t four = (uint32_t)value;                                                                           \
    const void* const from = bytes == 1   ? (const void*)&one                                                        \
                             : bytes == 2 ? (const void*)&two                                                        \
                             : bytes == 4 ? (const void*)&four                                                       \
                                          : (const void*)&value;                                                     \
    isthmus_upc_write(isthmus_upcr_at(p, at), from, bytes, strict);                                                  \
  }                                                                                                                  \
  static inline float upcr_get_shared_floatval##suffix(upcr_shared_ptr_t p, ptrdiff_t at) {                          \
    float value;                                                                                                     \
    isthmus_upc_read(&value, isthmus_upcr_at(p, at), sizeof value, strict);                                          \
    return value;                                                                                                    \
  }                                                                                                                  \
  static inline double upcr_get_shared_doubleval##suffix(upcr_shared_ptr_t p, ptrdiff_t at) {                        \
    double value;                                                                                                    \
    isthmus_upc_read(&value, isthmus_upcr_at(p, at), sizeof value, strict);                                          \
    return value;                                                                                                    \
  }                                                                                                                  \
  static inline void upcr_put_shared_floatval##suffix(upcr_shared_ptr_t p, ptrdiff_t at, float value) {              \
    isthmus_upc_write(isthmus_upcr_at(p, at), &value, sizeof value, strict);                                         \
  }                                                                                                                  \
  static inline void upcr_put_shared_doubleval##suffix(upcr_shared_ptr_t p, ptrdiff_t at, double value) {            \
    isthmus_upc_write(isthmus_upcr_at(p, at), &value, sizeof value, strict);                                         \
  }
ISTHMUS_UPCR_ACCESSES(, 0)
ISTHMUS_UPCR_ACCESSES(_strict, 1)
#undef ISTHMUS_UPCR_ACCESSES
#define upcr_get_pshared upcr_get_shared
#define upcr_get_pshared_strict upcr_get_shared_strict
#define upcr_get_pshared_val upcr_get_shared_val
#define upcr_get_pshared_val_strict upcr_get_shared_val_strict
#define upcr_get_pshared_floatval upcr_get_shared_floatval
#define upcr_get_pshared_floatval_strict upcr_get_shared_floatval_strict
#define upcr_get_pshared_doubleval upcr_get_shared_doubleval
#define upcr_get_pshared_doubleval_strict upcr_get_shared_doubleval_strict
#define upcr_put_pshared upcr_put_shared
#define upcr_put_pshared_strict upcr_put_shared_strict
#define upcr_put_pshared_val upcr_put_shared_val
#define upcr_put_pshared_val_strict upcr_put_shared_val_strict
#define upcr_put_pshared_floatval upcr_put_shared_floatval
#define upcr_put_pshared_floatval_strict upcr_put_shared_floatval_strict
#define upcr_put_pshared_doubleval upcr_put_shared_doubleval
#define upcr_put_pshared_doubleval_strict upcr_put_shared_doubleval_strict

/* -- the same in the capital letters of Berkeley's own translator -- */

#define UPCR_GET_SHARED upcr_get_shared
#define UPCR_GET_SHARED_STRICT upcr_get_shared_strict
#define UPCR_GET_SHARED_VAL upcr_get_shared_val
#define UPCR_GET_SHARED_STRICT_VAL upcr_get_shared_val_strict
#define UPCR_GET_SHARED_VAL_STRICT upcr_get_shared_val_strict
#define UPCR_GET_SHARED_IVAL upcr_get_shared_val
#define UPCR_GET_SHARED_IVAL_STRICT upcr_get_shared_val_strict
#define UPCR_GET_SHARED_STRICT_IVAL upcr_get_shared_val_strict
#define UPCR_GET_SHARED_FVAL upcr_get_shared_floatval
#define UPCR_GET_SHARED_FVAL_STRICT upcr_get_shared_floatval_strict
#define UPCR_GET_SHARED_STRICT_FVAL upcr_get_shared_floatval_strict
#define UPCR_GET_SHARED_DVAL upcr_get_shared_doubleval
#define UPCR_GET_SHARED_DVAL_STRICT upcr_get_shared_doubleval_strict
#define UPCR_GET_SHARED_STRICT_DVAL upcr_get_shared_doubleval_strict
#define UPCR_GET_SHARED_FLOATVAL upcr_get_shared_floatval
#define UPCR_GET_SHARED_FLOATVAL_STRICT upcr_get_shared_floatval_strict
#define UPCR_GET_SHARED_DOUBLEVAL upcr_get_shared_doubleval
#define UPCR_GET_SHARED_DOUBLEVAL_STRICT upcr_get_shared_doubleval_strict
#define UPCR_GET_PSHARED upcr_get_pshared
#define UPCR_GET_PSHARED_STRICT upcr_get_pshared_strict
#define UPCR_GET_PSHARED_VAL upcr_get_pshared_val
#define UPCR_GET_PSHARED_STRICT_VAL upcr_get_pshared_val_strict
#define UPCR_GET_PSHARED_VAL_STRICT upcr_get_pshared_val_strict
#define UPCR_GET_PSHARED_IVAL upcr_get_pshared_val
#define UPCR_GET_PSHARED_IVAL_STRICT upcr_get_pshared_val_strict
#define UPCR_GET_PSHARED_STRICT_IVAL upcr_get_pshared_val_strict
#define UPCR_GET_PSHARED_FVAL upcr_get_pshared_floatval
#define UPCR_GET_PSHARED_FVAL_STRICT upcr_get_pshared_floatval_strict
#define UPCR_GET_PSHARED_STRICT_FVAL upcr_get_pshared_floatval_strict
#define UPCR_GET_PSHARED_DVAL upcr_get_pshared_doubleval
#define UPCR_GET_PSHARED_DVAL_STRICT upcr_get_pshared_doubleval_strict
#define UPCR_GET_PSHARED_STRICT_DVAL upcr_get_pshared_doubleval_strict
#define UPCR_GET_PSHARED_FLOATVAL upcr_get_pshared_floatval
#define UPCR_GET_PSHARED_FLOATVAL_STRICT upcr_get_pshared_floatval_strict
#define UPCR_GET_PSHARED_DOUBLEVAL upcr_get_pshared_doubleval
#define UPCR_GET_PSHARED_DOUBLEVAL_STRICT upcr_get_pshared_doubleval_strict
#define UPCR_PUT_SHARED upcr_put_shared
#define UPCR_PUT_SHARED_STRICT upcr_put_shared_strict
#define UPCR_PUT_SHARED_VAL upcr_put_shared_val
#define UPCR_PUT_SHARED_STRICT_VAL upcr_put_shared_val_strict
#define UPCR_PUT_SHARED_VAL_STRICT upcr_put_shared_val_strict
#define UPCR_PUT_SHARED_IVAL upcr_put_shared_val
#define UPCR_PUT_SHARED_IVAL_STRICT upcr_put_shared_val_strict
#define UPCR_PUT_SHARED_STRICT_IVAL upcr_put_shared_val_strict
#define UPCR_PUT_SHARED_FVAL upcr_put_shared_floatval
#define UPCR_PUT_SHARED_FVAL_STRICT upcr_put_shared_floatval_strict
#define UPCR_PUT_SHARED_STRICT_FVAL upcr_put_shared_floatval_strict
#define UPCR_PUT_SHARED_DVAL upcr_put_shared_doubleval
#define UPCR_PUT_SHARED_DVAL_STRICT upcr_put_shared_doubleval_strict
#define UPCR_PUT_SHARED_STRICT_DVAL upcr_put_shared_doubleval_strict
#define UPCR_PUT_SHARED_FLOATVAL upcr_put_shared_floatval
#define UPCR_PUT_SHARED_FLOATVAL_STRICT upcr_put_shared_floatval_strict
#define UPCR_PUT_SHARED_DOUBLEVAL upcr_put_shared_doubleval
#define UPCR_PUT_SHARED_DOUBLEVAL_STRICT upcr_put_shared_doubleval_strict
#define UPCR_PUT_PSHARED upcr_put_pshared
#define UPCR_PUT_PSHARED_STRICT upcr_put_pshared_strict
#define UPCR_PUT_PSHARED_VAL upcr_put_pshared_val
#define UPCR_PUT_PSHARED_STRICT_VAL upcr_put_pshared_val_strict
#define UPCR_PUT_PSHARED_VAL_STRICT upcr_put_pshared_val_strict
#define UPCR_PUT_PSHARED_IVAL upcr_put_pshared_val
#define UPCR_PUT_PSHARED_IVAL_STRICT upcr_put_pshared_val_strict
#define UPCR_PUT_PSHARED_STRICT_IVAL upcr_put_pshared_val_strict
#define UPCR_PUT_PSHARED_FVAL upcr_put_pshared_floatval
#define UPCR_PUT_PSHARED_FVAL_STRICT upcr_put_pshared_floatval_strict
#define UPCR_PUT_PSHARED_STRICT_FVAL upcr_put_pshared_floatval_strict
#define UPCR_PUT_PSHARED_DVAL upcr_put_pshared_doubleval
#define UPCR_PUT_PSHARED_DVAL_STRICT upcr_put_pshared_doubleval_strict
#define UPCR_PUT_PSHARED_STRICT_DVAL upcr_put_pshared_doubleval_strict
#define UPCR_PUT_PSHARED_FLOATVAL upcr_put_pshared_floatval
#define UPCR_PUT_PSHARED_FLOATVAL_STRICT upcr_put_pshared_floatval_strict
#define UPCR_PUT_PSHARED_DOUBLEVAL upcr_put_pshared_doubleval
#define UPCR_PUT_PSHARED_DOUBLEVAL_STRICT upcr_put_pshared_doubleval_strict
#define UPCR_ADD_SHARED upcr_add_shared
#define UPCR_ADD_PSHAREDI upcr_add_psharedI
#define UPCR_ADD_PSHARED1 upcr_add_pshared1
#define UPCR_INC_SHARED upcr_inc_shared
#define UPCR_INC_PSHAREDI upcr_inc_psharedI
#define UPCR_INC_PSHARED1 upcr_inc_pshared1
#define UPCR_SUB_SHARED upcr_sub_shared
#define UPCR_SUB_PSHAREDI upcr_sub_psharedI
#define UPCR_SUB_PSHARED1 upcr_sub_pshared1
#define UPCR_ISEQUAL_SHARED_SHARED upcr_isequal_shared_shared
#define UPCR_ISEQUAL_SHARED_PSHARED upcr_isequal_shared_pshared
#define UPCR_ISEQUAL_PSHARED_SHARED upcr_isequal_pshared_shared
#define UPCR_ISEQUAL_PSHARED_PSHARED upcr_isequal_pshared_pshared
#define UPCR_ISNULL_SHARED upcr_isnull_shared
#define UPCR_SHARED_TO_LOCAL upcr_shared_to_local
#define UPCR_ADDRFIELD_SHARED upcr_addrfield_shared
#define UPCR_THREADOF_SHARED upcr_threadof_shared
#define UPCR_PHASEOF_SHARED upcr_phaseof_shared
#define UPCR_ISNULL_PSHARED upcr_isnull_pshared
#define UPCR_PSHARED_TO_LOCAL upcr_pshared_to_local
#define UPCR_ADDRFIELD_PSHARED upcr_addrfield_pshared
#define UPCR_THREADOF_PSHARED upcr_threadof_pshared
#define UPCR_PHASEOF_PSHARED upcr_phaseof_pshared
#define UPCR_SHARED_TO_PSHARED upcr_shared_to_pshared
#define UPCR_PSHARED_TO_SHARED upcr_pshared_to_shared
#define UPCR_SHARED_RESETPHASE upcr_shared_resetphase

/* -- the library of UPC, which those compilers call by its own names -- */

upcr_shared_ptr_t upc_all_alloc(size_t blocks, size_t bytes);
upcr_shared_ptr_t upc_global_alloc(size_t blocks, size_t bytes);
upcr_shared_ptr_t upc_alloc(size_t bytes);
void upc_free(upcr_shared_ptr_t p);
void upc_all_free(upcr_shared_ptr_t p);
size_t upc_threadof(upcr_shared_ptr_t p);
size_t upc_phaseof(upcr_shared_ptr_t p);
size_t upc_addrfield(upcr_shared_ptr_t p);
upcr_shared_ptr_t upc_resetphase(upcr_shared_ptr_t p);
size_t upc_affinitysize(size_t total, size_t bytes, size_t thread);
upcr_shared_ptr_t upc_all_lock_alloc(void);
upcr_shared_ptr_t upc_global_lock_alloc(void);
void upc_lock_free(upcr_shared_ptr_t lock);
void upc_all_lock_free(upcr_shared_ptr_t lock);
void upc_lock(upcr_shared_ptr_t lock);
int upc_lock_attempt(upcr_shared_ptr_t lock);
void upc_unlock(upcr_shared_ptr_t lock);
void upc_memcpy(upcr_shared_ptr_t to, upcr_shared_ptr_t from, size_t bytes);
void upc_memget(void* to, upcr_shared_ptr_t from, size_t bytes);
void upc_memput(upcr_shared_ptr_t to, const void* from, size_t bytes);
void upc_memset(upcr_shared_ptr_t to, int value, size_t bytes);
void upc_global_exit(int status);

#ifdef __cplusplus
}
#endif
#endif
