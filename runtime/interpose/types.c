/* Datatypes: which are numbers, which lie in memory without gaps, and copies of the others by MPI_Pack. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

/* How numbers are stored, by the bytes that the MPI library says they have. */
enum family { SIGNED, UNSIGNED, REAL, COMPLEX, OTHER };

struct known {
  MPI_Datatype handle;
  enum family family;
};

static int element_of(enum family family, int64_t size) {
  switch (family) {
    case SIGNED:
      return size == 1 ? ISTHMUS_I8 : size == 2 ? ISTHMUS_I16 : size == 4 ? ISTHMUS_I32 : size == 8 ? ISTHMUS_I64 : -1;
    case UNSIGNED:
      return size == 1 ? ISTHMUS_U8 : size == 2 ? ISTHMUS_U16 : size == 4 ? ISTHMUS_U32 : size == 8 ? ISTHMUS_U64 : -1;
    case REAL: return size == 4 ? ISTHMUS_F32 : size == 8 ? ISTHMUS_F64 : -1;
    case COMPLEX: return size == 8 ? ISTHMUS_C32 : size == 16 ? ISTHMUS_C64 : -1;
    default: return -1;
  }
}

static enum family family_of(MPI_Datatype type) {
  const struct known known[] = {
      {MPI_INT, SIGNED},
      {MPI_LONG, SIGNED},
      {MPI_LONG_LONG, SIGNED},
      {MPI_SHORT, SIGNED},
      {MPI_SIGNED_CHAR, SIGNED},
      {MPI_INT8_T, SIGNED},
      {MPI_INT16_T, SIGNED},
      {MPI_INT32_T, SIGNED},
      {MPI_INT64_T, SIGNED},
      {MPI_AINT, SIGNED},
      {MPI_OFFSET, SIGNED},
      {MPI_COUNT, SIGNED},
      {MPI_UNSIGNED, UNSIGNED},
      {MPI_UNSIGNED_LONG, UNSIGNED},
      {MPI_UNSIGNED_LONG_LONG, UNSIGNED},
      {MPI_UNSIGNED_SHORT, UNSIGNED},
      {MPI_UNSIGNED_CHAR, UNSIGNED},
      {MPI_UINT8_T, UNSIGNED},
      {MPI_UINT16_T, UNSIGNED},
      {MPI_UINT32_T, UNSIGNED},
      {MPI_UINT64_T, UNSIGNED},
      {MPI_FLOAT, REAL},
      {MPI_DOUBLE, REAL},
      {MPI_C_FLOAT_COMPLEX, COMPLEX},
      {MPI_C_DOUBLE_COMPLEX, COMPLEX},
      {MPI_INTEGER, SIGNED},
      {MPI_REAL, REAL},
      {MPI_DOUBLE_PRECISION, REAL},
      {MPI_COMPLEX, COMPLEX},
      {MPI_DOUBLE_COMPLEX, COMPLEX},
#ifdef MPI_INTEGER1
      {MPI_INTEGER1, SIGNED},
      {MPI_INTEGER2, SIGNED},
      {MPI_INTEGER4, SIGNED},
      {MPI_INTEGER8, SIGNED},
      {MPI_REAL4, REAL},
      {MPI_REAL8, REAL},
      {MPI_COMPLEX8, COMPLEX},
      {MPI_COMPLEX16, COMPLEX},
#endif
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i].handle == type) return known[i].family;
  return OTHER;
}

/* Types that were asked for: predefined ones mean the same for ever, others until a type is freed. */
enum { SLOTS = 64 };
static struct {
  struct type type;
  uint32_t freed;
} seen[SLOTS];

static size_t slot_of(MPI_Datatype type) { return ((uint64_t)(uintptr_t)type * 0x9E3779B97F4A7C15u) >> 58; }

static struct type derived(MPI_Datatype type, int combiner, int integers, int addresses, int types) {
  struct type out = {.handle = type, .element = -1};
  MPI_Count size, lower, extent;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent_x(type, &lower, &extent);
  out.size = size;
  out.extent = extent;
  if (combiner == MPI_COMBINER_NAMED) {
    out.named = true;
    out.dense = size == extent && lower == 0;
    out.element = element_of(family_of(type), size);
  } else if (combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_INTEGER ||
             combiner == MPI_COMBINER_F90_COMPLEX) {
    out.named = out.dense = true;
    out.element = element_of(combiner == MPI_COMBINER_F90_REAL      ? REAL
                             : combiner == MPI_COMBINER_F90_INTEGER ? SIGNED
                                                                    : COMPLEX,
                             size);
  } else if ((combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_CONTIGUOUS) && size == extent && lower == 0) {
    int number[1];
    MPI_Aint address[1];
    MPI_Datatype of[1];
    int i, a, t, inner;
    if (integers > 1 || addresses > 0 || types != 1) return out;
    PMPI_Type_get_contents(type, integers, addresses, types, number, address, of);
    out.dense = type_of(of[0]).dense;
    PMPI_Type_get_envelope(of[0], &i, &a, &t, &inner);
    if (inner != MPI_COMBINER_NAMED && inner != MPI_COMBINER_F90_REAL && inner != MPI_COMBINER_F90_INTEGER &&
        inner != MPI_COMBINER_F90_COMPLEX) {
      /* A copy, of which the program knows nothing. */
      seen[slot_of(of[0])].type.size = 0;
      PMPI_Type_free(&of[0]);
    }
  }
  return out;
}

struct type type_of(MPI_Datatype type) {
  const size_t slot = slot_of(type);
  const bool there = seen[slot].type.handle == type && seen[slot].type.size > 0;
  if (LIKELY(there && (seen[slot].type.named || seen[slot].freed == handles_freed))) return seen[slot].type;
  int integers, addresses, types, combiner;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  const struct type found = derived(type, combiner, integers, addresses, types);
  seen[slot].type = found;
  seen[slot].freed = handles_freed;
  return found;
}

/* MPI_Pack counts bytes by int. */
static int64_t portion(const struct type* type) {
  const int64_t most = (1 << 30) / (type->size > 0 ? type->size : 1);
  return most > 0 ? most : 1;
}

void type_pack(const struct type* type, const void* from, int64_t count, void* to) {
  if (type->dense) {
    if (count > 0 && type->size > 0 && from != to) memcpy(to, from, (size_t)(count * type->size));
    return;
  }
  for (int64_t done = 0; done < count;) {
    const int64_t now = count - done < portion(type) ? count - done : portion(type);
    int at = 0;
    PMPI_Pack((const char*)from + done * type->extent, (int)now, type->handle, (char*)to + done * type->size,
              (int)(now * type->size), &at, MPI_COMM_SELF);
    done += now;
  }
}

void type_unpack(const struct type* type, const void* from, void* to, int64_t count) {
  if (type->dense) {
    if (count > 0 && type->size > 0 && from != to) memcpy(to, from, (size_t)(count * type->size));
    return;
  }
  for (int64_t done = 0; done < count;) {
    const int64_t now = count - done < portion(type) ? count - done : portion(type);
    int at = 0;
    PMPI_Unpack((const char*)from + done * type->size, (int)(now * type->size), &at, (char*)to + done * type->extent,
                (int)now, type->handle, MPI_COMM_SELF);
    done += now;
  }
}
