/* What arguments of Fortran programs mean, and arrays among the arguments, which the program may change or free. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

void* fortran_buffer(void* argument) {
  if (UNLIKELY(fortran_in_place(argument))) return MPI_IN_PLACE;
  if (UNLIKELY(fortran_bottom(argument))) return MPI_BOTTOM;
  return argument;
}

static const void* copied(const void* at, size_t bytes) {
  if (!at) return NULL;
  void* copy = malloc(bytes ? bytes : 1);
  if (!copy) abort();
  return memcpy(copy, at, bytes);
}

static void keep_ints(struct ints* a, int n) { a->at = copied(a->at, (size_t)n * a->width); }

static MPI_Datatype own(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL || type_of(type).named) return type;
  PMPI_Type_dup(type, &type);
  return type;
}

static void release_type(MPI_Datatype* type) {
  if (*type == MPI_DATATYPE_NULL || type_of(*type).named) return;
  handle_freed();
  PMPI_Type_free(type);
}

static void keep_types(struct types* a, int n) {
  if (!a->at) return;
  MPI_Datatype* types = malloc(((size_t)n + 1) * sizeof *types);
  if (!types) abort();
  for (int i = 0; i < n; ++i) types[i] = own(type_at(*a, i));
  *a = (struct types){.at = types};
}

static void release_types(struct types* a, int n) {
  MPI_Datatype* types = (MPI_Datatype*)a->at;
  for (int i = 0; types && i < n; ++i) release_type(&types[i]);
  free(types);
}

static int others(const struct arguments* a, const struct communicator* c, int neighbours) {
  return a->kind >= NEIGHBOR_ALLGATHER ? neighbours : c->size;
}

void arguments_keep(struct arguments* a, const struct communicator* c) {
  const struct ints none = {NULL, 0};
  const int outs = others(a, c, c->outs), ins = others(a, c, c->ins);
  const bool typed = !reduces(a->kind) && a->kind != ALLTOALLW && a->kind != NEIGHBOR_ALLTOALLW;
  /* What means nothing may be anything. */
  if (!call_gives(a, c)) a->scounts = a->sdispls = none, a->stypes.at = NULL;
  if (!call_gets(a, c)) a->rcounts = a->rdispls = none, a->rtypes.at = NULL;
  if (!reduces(a->kind)) {
    a->stype = typed && call_gives(a, c) ? own(a->stype) : MPI_DATATYPE_NULL;
    a->rtype = typed && call_gets(a, c) ? own(a->rtype) : MPI_DATATYPE_NULL;
  }
  keep_ints(&a->scounts, outs);
  keep_ints(&a->sdispls, outs);
  keep_types(&a->stypes, outs);
  keep_ints(&a->rcounts, ins);
  keep_ints(&a->rdispls, ins);
  keep_types(&a->rtypes, ins);
  a->kept = true;
}

void arguments_release(struct arguments* a, const struct communicator* c) {
  if (!a->kept) return;
  if (!reduces(a->kind)) {
    release_type(&a->stype);
    release_type(&a->rtype);
  }
  free((void*)a->scounts.at);
  free((void*)a->sdispls.at);
  release_types(&a->stypes, others(a, c, c->outs));
  free((void*)a->rcounts.at);
  free((void*)a->rdispls.at);
  release_types(&a->rtypes, others(a, c, c->ins));
}
