/* Operators: those that Isthmus has itself, and all others by MPI_Reduce_local, which calls operators of the user as
 * their language wants it, with the very datatype. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

static bool is_one_of(MPI_Datatype type, const MPI_Datatype* known, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (known[i] == type) return true;
  return false;
}
#define IS_ONE_OF(type, ...) \
  is_one_of(type, (const MPI_Datatype[]){__VA_ARGS__}, sizeof((MPI_Datatype[]){__VA_ARGS__}) / sizeof(MPI_Datatype))

static bool is_pair(MPI_Datatype type) {
  return IS_ONE_OF(type, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT,
                   MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION);
}
static bool is_logical(MPI_Datatype type) { return IS_ONE_OF(type, MPI_LOGICAL, MPI_C_BOOL); }
static bool is_long_double(MPI_Datatype type) { return IS_ONE_OF(type, MPI_LONG_DOUBLE); }

/* What MPI defines of the predefined operators, on predefined types. */
static bool defined(isthmus_operator operation, const struct type* type) {
  const bool whole = type->element >= ISTHMUS_I8 && type->element <= ISTHMUS_U64;
  const bool real = type->element == ISTHMUS_F32 || type->element == ISTHMUS_F64;
  switch (operation) {
    case ISTHMUS_SUM:
    case ISTHMUS_PRODUCT: return type->element >= 0;
    case ISTHMUS_MIN:
    case ISTHMUS_MAX: return whole || real;
    default: return whole;
  }
}

const char* reduction_of(MPI_Op op, MPI_Datatype type, struct reduction* r) {
  static const char* const undefined = "an operator and a type that do not fit";
  *r = (struct reduction){.op = op, .commutes = true};
  if (op == MPI_OP_NULL || type == MPI_DATATYPE_NULL) return "a wrong argument";
  r->type = type_of(type);
  r->element_bytes = r->type.size;
  if (isthmus_operator_of(op, &r->operation) == ISTHMUS_DONE) {
    const bool rounds = (r->type.element >= ISTHMUS_F32 && r->type.element <= ISTHMUS_C64) || is_long_double(type);
    r->exact = !rounds || (r->operation != ISTHMUS_SUM && r->operation != ISTHMUS_PRODUCT);
    if (r->type.element >= 0) return defined(r->operation, &r->type) ? NULL : undefined;
    r->by_mpi = true;
    if (!r->type.named) return undefined;
    if (type == MPI_BYTE) return r->operation >= ISTHMUS_BAND && r->operation <= ISTHMUS_BXOR ? NULL : undefined;
    if (is_logical(type)) return r->operation >= ISTHMUS_LAND && r->operation <= ISTHMUS_LXOR ? NULL : undefined;
    if (is_long_double(type)) return r->operation <= ISTHMUS_MAX ? NULL : undefined;
    return undefined;
  }
  r->by_mpi = true;
  if (op == MPI_MINLOC || op == MPI_MAXLOC) {
    /* Gaps within a pair are nobody's. */
    r->element_bytes = r->type.extent;
    r->exact = true;
    return is_pair(type) ? NULL : undefined;
  }
  if (op == MPI_REPLACE || op == MPI_NO_OP) return undefined;
  int commutes = 0;
  r->of_program = true;
  PMPI_Op_commutative(op, &commutes);
  r->commutes = commutes;
  if (r->type.size == 0) return "elements without bytes";
  if (r->type.named) r->element_bytes = r->type.extent;
  return NULL;
}

/* Elements as the operator wants them; those with gaps are packed where they come from. */
static void combine_in(const struct reduction* r, const void* left, void* right, int64_t elements) {
  if (r->type.dense || r->type.named) {
    while (elements > 0) {
      const int now = elements < 1 << 30 ? (int)elements : 1 << 30;
      PMPI_Reduce_local(left, right, now, r->type.handle, r->op);
      left = (const char*)left + now * r->element_bytes;
      right = (char*)right + now * r->element_bytes;
      elements -= now;
    }
    return;
  }
  /* A piece of memory for one element after the other: where a type begins before its address or goes on behind its
   * extent, so does the memory. */
  MPI_Count lower, span;
  PMPI_Type_get_true_extent_x(r->type.handle, &lower, &span);
  char* memory = calloc(2, (size_t)span + 64);
  if (!memory) {
    say("not enough memory");
    PMPI_Abort(MPI_COMM_WORLD, 1);
    return;
  }
  char *one = memory - lower, *other = memory + span + 64 - lower;
  for (int64_t i = 0; i < elements; ++i) {
    type_unpack(&r->type, (const char*)left + i * r->type.size, one, 1);
    type_unpack(&r->type, (const char*)right + i * r->type.size, other, 1);
    PMPI_Reduce_local(one, other, 1, r->type.handle, r->op);
    type_pack(&r->type, other, 1, (char*)right + i * r->type.size);
  }
  free(memory);
}

void reduction_combine(const void* left, const void* right, void* out, size_t elements, void* data) {
  const struct reduction* r = data;
  if (out == right) return combine_in(r, left, out, (int64_t)elements);
  if (r->commutes) return combine_in(r, right, out, (int64_t)elements);
  const size_t bytes = elements * (size_t)r->element_bytes;
  void* copy = malloc(bytes);
  if (!copy) {
    say("not enough memory");
    PMPI_Abort(MPI_COMM_WORLD, 1);
    return;
  }
  memcpy(copy, right, bytes);
  combine_in(r, left, copy, (int64_t)elements);
  memcpy(out, copy, bytes);
  free(copy);
}
