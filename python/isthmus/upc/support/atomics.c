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
  isthmus_domain* domain; /* of the library; NULL: pointers */
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

/* That of libisthmus; what is counted up and down is added. */
static isthmus_atomic_operator operator_of(unsigned long op) {
  switch (op) {
    case MULT: return ISTHMUS_ATOMIC_MULTIPLY;
    case AND: return ISTHMUS_ATOMIC_AND;
    case OR: return ISTHMUS_ATOMIC_OR;
    case XOR: return ISTHMUS_ATOMIC_XOR;
    case MIN: return ISTHMUS_ATOMIC_MIN;
    case MAX: return ISTHMUS_ATOMIC_MAX;
    case GET: return ISTHMUS_ATOMIC_READ;
    case SET: return ISTHMUS_ATOMIC_SWAP;
    case CSWAP: return ISTHMUS_ATOMIC_SWAP_IF;
    case SUB:
    case DEC: return ISTHMUS_ATOMIC_SUBTRACT;
    default: return ISTHMUS_ATOMIC_ADD;
  }
}

/* A domain without any is one of reads. */
static uint32_t operations_of(unsigned long ops) {
  uint32_t all = ops ? 0 : ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_READ);
  for (unsigned long op = 1; op <= DEC; op *= 2)
    if (ops & op) all |= ISTHMUS_ATOMIC_SET(operator_of(op));
  return all;
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
  else
    check(isthmus_domain_make(isthmus_upc_space, domain->element, operations_of(ops), &domain->domain),
          "upc_all_atomicdomain_alloc");
  return domain;
}

void upc_all_atomicdomain_free(upc_atomicdomain_t* domain) {
  if (!domain) return;
  if (domain->domain) check(isthmus_domain_free(domain->domain), "upc_all_atomicdomain_free");
  else check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_atomicdomain_free");
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

/* 1 of its type. */
static const void* one_of(const upc_atomicdomain_t* domain) {
  static const uint32_t four = 1;
  static const uint64_t eight = 1;
  static const float single = 1;
  static const double twice = 1;
  switch (domain->element) {
    case ISTHMUS_F32: return &single;
    case ISTHMUS_F64: return &twice;
    default: return domain->bytes == 4 ? (const void*)&four : &eight;
  }
}

static void atomic(upc_atomicdomain_t* domain, void* fetch, unsigned long op, isthmus_shared target, const void* one,
                   const void* two) {
  if (!domain || !(domain->ops & op)) isthmus_upc_refuse("an atomic operation that its domain was not made for");
  if (domain->type == PTS) {
    pointer(domain, fetch, op, target, one, two);
    return;
  }
  const void* const operand = op == INC || op == DEC ? one_of(domain) : op == CSWAP ? two : one;
  check(isthmus_domain_change(domain->domain, target.rank, target.offset, operator_of(op), operand,
                              op == CSWAP ? one : NULL, fetch),
        "atomic operation");
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
