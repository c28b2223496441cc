/* What arguments of Fortran programs mean. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

#if defined(__has_include)
#if __has_include(<ISO_Fortran_binding.h>)
#include <ISO_Fortran_binding.h>
#define DESCRIPTORS 1
#endif
#endif

#ifdef DESCRIPTORS
/* Whether an array that is passed has gaps, as a(::2) has. */
static bool has_gaps(const CFI_cdesc_t* d) {
  CFI_index_t next = (CFI_index_t)d->elem_len;
  for (int i = 0; i < d->rank; ++i) {
    if (d->dim[i].extent < 0) return false; /* of assumed size */
    if (d->dim[i].extent > 1 && d->dim[i].sm != next) return true;
    next *= d->dim[i].extent;
  }
  return false;
}

static size_t bytes_of(const CFI_cdesc_t* d) {
  size_t bytes = d->elem_len;
  for (int i = 0; i < d->rank; ++i) bytes *= (size_t)d->dim[i].extent;
  return bytes;
}

/* Between an array with gaps and its elements one after the other. */
static char* copy(const CFI_cdesc_t* d, int dimension, char* element, char* packed, bool out) {
  if (dimension < 0) {
    if (out) memcpy(element, packed, d->elem_len);
    else memcpy(packed, element, d->elem_len);
    return packed + d->elem_len;
  }
  for (CFI_index_t i = 0; i < d->dim[dimension].extent; ++i)
    packed = copy(d, dimension - 1, element + i * d->dim[dimension].sm, packed, out);
  return packed;
}

static void* described(CFI_cdesc_t* d, bool written, struct sections* s) {
  if (!has_gaps(d)) return d->base_addr;
  char* packed = malloc(bytes_of(d) + 1);
  if (!packed) abort();
  copy(d, d->rank - 1, d->base_addr, packed, false);
  s->of[s->count].descriptor = written ? d : NULL;
  s->of[s->count++].packed = packed;
  return packed;
}

void sections_end(struct sections* s, bool taken) {
  for (int i = 0; i < s->count; ++i) {
    const CFI_cdesc_t* d = s->of[i].descriptor;
    if (taken && d) copy(d, d->rank - 1, d->base_addr, s->of[i].packed, true);
    free(s->of[i].packed);
  }
}
#else
static void* described(void* descriptor, bool written, struct sections* s) {
  (void)s, (void)written;
  return *(void**)descriptor;
}

void sections_end(struct sections* s, bool taken) { (void)s, (void)taken; }
#endif

void* fortran_buffer(void* argument, bool descriptor, bool written, struct sections* s) {
  void* const at = descriptor ? *(void**)argument : argument;
  if (UNLIKELY(fortran_in_place(at))) return MPI_IN_PLACE;
  if (UNLIKELY(fortran_bottom(at))) return MPI_BOTTOM;
  return descriptor ? described(argument, written, s) : at;
}
