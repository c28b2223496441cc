/* Reductions of UPC's collectives, for every type and operator. Arrays that do not begin on thread 0 are combined by
 * one thread, element by element. */
#include "internal.h"
#include "manner.h"

enum { ADD = 1, MULT = 2, AND = 4, OR = 8, XOR = 16, LOGAND = 32, LOGOR = 64, MIN = 128, MAX = 256, FUNC = 65536 };

typedef struct operation {
  unsigned long op;
  void (*function)(void);
} operation;

static int usual(isthmus_shared from) { return from.rank == 0 && from.phase == 0; }

static isthmus_reduction reduction_of(size_t bytes, isthmus_combine combine, operation* how, size_t count,
                                      size_t block) {
  const isthmus_reduction reduction = {.size = sizeof reduction,
                                       .element = ISTHMUS_BYTES,
                                       .element_bytes = (uint32_t)bytes,
                                       .combine = combine,
                                       .data = how,
                                       .commutes = how->op != 2 * FUNC,
                                       .count = count,
                                       .block = block};
  return reduction;
}

static void barrier(void) { check(isthmus_barrier(isthmus_upc_space, NULL), "reduction"); }

static void reduce(isthmus_shared to, isthmus_shared from, size_t bytes, isthmus_combine combine, operation* how,
                   size_t count, size_t block, int flags) {
  if (!count) return;
  if (usual(from)) {
    const isthmus_manner manner = manner_of(flags);
    const isthmus_reduction reduction = reduction_of(bytes, combine, how, count, block);
    check(isthmus_reduce(isthmus_upc_space, &manner, to.rank, to.offset, from.offset, &reduction), "upc_all_reduce");
    return;
  }
  _Alignas(16) char sum[16], next[16];
  barrier();
  if (isthmus_upc_thread == to.rank) {
    for (size_t i = 0; i < count; ++i) {
      check(isthmus_get(isthmus_upc_space, i ? next : sum, from.rank, from.offset, bytes), "upc_all_reduce");
      if (i) combine(sum, next, sum, 1, how);
      from = isthmus_shared_add(from, 1, bytes, (uint32_t)block, isthmus_upc_threads);
    }
    check(isthmus_put(isthmus_upc_space, to.rank, to.offset, sum, bytes), "upc_all_reduce");
  }
  barrier();
}

static void prefix(isthmus_shared to, isthmus_shared from, size_t bytes, isthmus_combine combine, operation* how,
                   size_t count, size_t block, int flags) {
  if (!count) return;
  if (usual(from) && usual(to)) {
    const isthmus_manner manner = manner_of(flags);
    const isthmus_reduction reduction = reduction_of(bytes, combine, how, count, block);
    check(isthmus_prefix_reduce(isthmus_upc_space, &manner, to.offset, from.offset, &reduction),
          "upc_all_prefix_reduce");
    return;
  }
  _Alignas(16) char sum[16], next[16];
  barrier();
  for (size_t i = 0; i < count && !isthmus_upc_thread; ++i) {
    check(isthmus_get(isthmus_upc_space, i ? next : sum, from.rank, from.offset, bytes), "upc_all_prefix_reduce");
    if (i) combine(sum, next, sum, 1, how);
    check(isthmus_put(isthmus_upc_space, to.rank, to.offset, sum, bytes), "upc_all_prefix_reduce");
    from = isthmus_shared_add(from, 1, bytes, (uint32_t)block, isthmus_upc_threads);
    to = isthmus_shared_add(to, 1, bytes, (uint32_t)block, isthmus_upc_threads);
  }
  barrier();
}

#define EACH(expression)                              \
  for (size_t i = 0; i < n; ++i) z[i] = (expression); \
  break
#define INTEGER(T)                  \
  case AND: EACH((T)(x[i] & y[i])); \
  case OR: EACH((T)(x[i] | y[i]));  \
  case XOR: EACH((T)(x[i] ^ y[i]));
#define NOTHING(T)
#define REDUCTION(letters, T, MORE)                                                                                  \
  static void combine##letters(const void* left, const void* right, void* out, size_t n, void* data) {               \
    const operation* const how = data;                                                                               \
    const T *const x = left, *const y = right;                                                                       \
    T* const z = out;                                                                                                \
    switch (how->op) {                                                                                               \
      case ADD: EACH((T)(x[i] + y[i]));                                                                              \
      case MULT: EACH((T)(x[i] * y[i]));                                                                             \
      case LOGAND: EACH((T)(x[i] && y[i]));                                                                          \
      case LOGOR: EACH((T)(x[i] || y[i]));                                                                           \
      case MIN: EACH(x[i] < y[i] ? x[i] : y[i]);                                                                     \
      case MAX: EACH(x[i] > y[i] ? x[i] : y[i]); MORE(T)                                                             \
      case FUNC:                                                                                                     \
      case 2 * FUNC: EACH(((T(*)(T, T))how->function)(x[i], y[i]));                                                  \
      default: isthmus_upc_refuse("a reduction with the operator %lu, which this type does not have", how->op);      \
    }                                                                                                                \
  }                                                                                                                  \
  void upc_all_reduce##letters(isthmus_shared to, isthmus_shared from, unsigned long op, size_t count, size_t block, \
                               T (*function)(T, T), int flags) {                                                     \
    operation how = {op, (void (*)(void))function};                                                                  \
    reduce(to, from, sizeof(T), combine##letters, &how, count, block, flags);                                        \
  }                                                                                                                  \
  void upc_all_prefix_reduce##letters(isthmus_shared to, isthmus_shared from, unsigned long op, size_t count,        \
                                      size_t block, T (*function)(T, T), int flags) {                                \
    operation how = {op, (void (*)(void))function};                                                                  \
    prefix(to, from, sizeof(T), combine##letters, &how, count, block, flags);                                        \
  }
REDUCTION(C, signed char, INTEGER)
REDUCTION(UC, unsigned char, INTEGER)
REDUCTION(S, short, INTEGER)
REDUCTION(US, unsigned short, INTEGER)
REDUCTION(I, int, INTEGER)
REDUCTION(UI, unsigned, INTEGER)
REDUCTION(L, long, INTEGER)
REDUCTION(UL, unsigned long, INTEGER)
REDUCTION(F, float, NOTHING)
REDUCTION(D, double, NOTHING)
REDUCTION(LD, long double, NOTHING)
