/* upc_atomic.h. Pointers to shared, which are longer than a processor changes at once, are changed under a lock. */
#include <stdlib.h>

#include "internal.h"

enum {
  ADD = 1,
  MULT = 2,
  AND = 4,
  OR = 8,
  XOR = 16,
  MIN = 128,
  MAX = 256,
  GET = 512,
  SET = 1024,
  CSWAP = 2048,
  SUB = 4096,
  INC = 8192,
  DEC = 16384
};
enum { INT = 5, UINT, LONG, ULONG, INT32 = 15, UINT32, INT64, UINT64, FLOAT, DOUBLE, PTS = 22 };

typedef struct upc_atomicdomain_t {
  int type;
  unsigned long ops;
  isthmus_element element;
  uint32_t bytes;
  isthmus_mutex mutex;
} upc_atomicdomain_t;

static int kind_of(int type, isthmus_element* element, uint32_t* bytes) {
  switch (type) {
    case INT:
    case INT32: return *element = ISTHMUS_I32, *bytes = 4, 1;
    case UINT:
    case UINT32: return *element = ISTHMUS_U32, *bytes = 4, 1;
    case LONG:
    case INT64: return *element = ISTHMUS_I64, *bytes = 8, 1;
    case ULONG:
    case UINT64: return *element = ISTHMUS_U64, *bytes = 8, 1;
    case FLOAT: return *element = ISTHMUS_F32, *bytes = 4, 1;
    case DOUBLE: return *element = ISTHMUS_F64, *bytes = 8, 1;
    case PTS: return *element = ISTHMUS_BYTES, *bytes = 16, 1;
    default: return 0;
  }
}

upc_atomicdomain_t* upc_all_atomicdomain_alloc(int type, unsigned long ops, int hints) {
  upc_atomicdomain_t* const domain = calloc(1, sizeof *domain);
  (void)hints;
  if (!domain) isthmus_upc_refuse("upc_all_atomicdomain_alloc: there is not enough memory");
  if (!kind_of(type, &domain->element, &domain->bytes))
    isthmus_upc_refuse("upc_all_atomicdomain_alloc: this type has no atomic operations");
  const unsigned long bits = AND | OR | XOR;
  if ((type == FLOAT || type == DOUBLE) && ops & bits)
    isthmus_upc_refuse("upc_all_atomicdomain_alloc: AND, OR and XOR are for integers");
  if (type == PTS && ops & ~(unsigned long)(GET | SET | CSWAP))
    isthmus_upc_refuse("upc_all_atomicdomain_alloc: pointers to shared have GET, SET and CSWAP");
  domain->type = type, domain->ops = ops;
  if (type == PTS) check(isthmus_mutex_make_all(isthmus_upc_space, &domain->mutex), "upc_all_atomicdomain_alloc");
  else check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_atomicdomain_alloc");
  return domain;
}

void upc_all_atomicdomain_free(upc_atomicdomain_t* domain) {
  if (!domain) return;
  check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_atomicdomain_free");
  if (domain->type == PTS && !isthmus_upc_thread)
    check(isthmus_mutex_free(isthmus_upc_space, domain->mutex), "upc_all_atomicdomain_free");
  free(domain);
}

static void pointer(upc_atomicdomain_t* domain, isthmus_shared* fetch, unsigned long op, isthmus_shared target,
                    const isthmus_shared* one, const isthmus_shared* two) {
  isthmus_shared before;
  check(isthmus_lock(isthmus_upc_space, domain->mutex), "atomic operation");
  check(isthmus_get(isthmus_upc_space, &before, target.rank, target.offset, sizeof before), "atomic operation");
  if (op == SET || (op == CSWAP && isthmus_shared_equal(before, *one)))
    check(isthmus_put(isthmus_upc_space, target.rank, target.offset, op == SET ? one : two, sizeof before),
          "atomic operation");
  check(isthmus_unlock(isthmus_upc_space, domain->mutex), "atomic operation");
  if (fetch) *fetch = before;
}

#define WITH(T, expression)               \
  {                                       \
    T value, x;                           \
    memcpy(&value, before, sizeof value); \
    if (one) memcpy(&x, one, sizeof x);   \
    else x = 1;                           \
    value = (T)(expression);              \
    memcpy(after, &value, sizeof value);  \
    break;                                \
  }
#define FOR_ALL(expression)                      \
  switch (domain->element) {                     \
    case ISTHMUS_I32: WITH(uint32_t, expression) \
    case ISTHMUS_U32: WITH(uint32_t, expression) \
    case ISTHMUS_I64: WITH(uint64_t, expression) \
    case ISTHMUS_U64: WITH(uint64_t, expression) \
    case ISTHMUS_F32: WITH(float, expression)    \
    default: WITH(double, expression)            \
  }                                              \
  break

/* What libisthmus has no operator for: until nobody came between. */
static void by_swaps(upc_atomicdomain_t* domain, char* before, unsigned long op, isthmus_shared target,
                     const void* one) {
  char after[8], seen[8];
  check(isthmus_atomic(isthmus_upc_space, target.rank, target.offset, domain->element, ISTHMUS_ATOMIC_READ, NULL, NULL,
                       before),
        "atomic operation");
  for (;;) {
    switch (op) {
      case MULT: FOR_ALL(value * x);
      case SUB: FOR_ALL(value - x);
      case INC: FOR_ALL(value + 1 + 0 * x);
      default: FOR_ALL(value - 1 + 0 * x);
    }
    check(isthmus_atomic(isthmus_upc_space, target.rank, target.offset, domain->element, ISTHMUS_ATOMIC_SWAP_IF, after,
                         before, seen),
          "atomic operation");
    if (!memcmp(seen, before, domain->bytes)) return;
    memcpy(before, seen, sizeof seen);
  }
}

static void atomic(upc_atomicdomain_t* domain, void* fetch, unsigned long op, isthmus_shared target, const void* one,
                   const void* two) {
  char before[8] = {0};
  isthmus_atomic_operator operator;
  if (!domain || !(domain->ops & op)) isthmus_upc_refuse("an atomic operation that its domain was not made for");
  if (domain->type == PTS) {
    pointer(domain, fetch, op, target, one, two);
    return;
  }
  switch (op) {
    case ADD: operator= ISTHMUS_ATOMIC_ADD; break;
    case MIN: operator= ISTHMUS_ATOMIC_MIN; break;
    case MAX: operator= ISTHMUS_ATOMIC_MAX; break;
    case AND: operator= ISTHMUS_ATOMIC_AND; break;
    case OR: operator= ISTHMUS_ATOMIC_OR; break;
    case XOR: operator= ISTHMUS_ATOMIC_XOR; break;
    case SET: operator= ISTHMUS_ATOMIC_SWAP; break;
    case CSWAP: operator= ISTHMUS_ATOMIC_SWAP_IF; break;
    case GET: operator= ISTHMUS_ATOMIC_READ; break;
    default:
      by_swaps(domain, before, op, target, one);
      if (fetch) memcpy(fetch, before, domain->bytes);
      return;
  }
  check(isthmus_atomic(isthmus_upc_space, target.rank, target.offset, domain->element, operator,
                       op == CSWAP ? two : one, op == CSWAP ? one : NULL, before),
        "atomic operation");
  if (fetch) memcpy(fetch, before, domain->bytes);
}

void upc_atomic_relaxed(upc_atomicdomain_t* domain, void* fetch, unsigned long op, isthmus_shared target,
                        const void* one, const void* two) {
  atomic(domain, fetch, op, target, one, two);
}
void upc_atomic_strict(upc_atomicdomain_t* domain, void* fetch, unsigned long op, isthmus_shared target,
                       const void* one, const void* two) {
  isthmus_upc_fence();
  atomic(domain, fetch, op, target, one, two);
  isthmus_upc_fence();
}
int upc_atomic_isfast(int type, unsigned long ops, isthmus_shared target) {
  (void)ops, (void)target;
  return type == PTS ? 1 : 2;
}
