/* Fortran: the library's own entry points, and the addresses that mean something else than a buffer or a status.
 * Calls are forwarded to the same Fortran symbol with the same arguments; only what is looked at is converted. */
#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran.h"

struct search {
  const char* name;
  void* found;
};

static int search_module(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* search = data;
  void* module = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!module) return 0;
  void* symbol = dlsym(module, search->name);
  dlclose(module);
  Dl_info theirs, ours;
  if (!symbol || !dladdr(symbol, &theirs) || !dladdr((void*)&fortran_function, &ours)) return 0;
  if (theirs.dli_fbase == ours.dli_fbase) return 0;
  search->found = symbol;
  return 1;
}

static void* symbol_after(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol) return symbol;
  /* A library loaded late and privately, as extension modules of Python are. */
  struct search search = {.name = name};
  dl_iterate_phdr(search_module, &search);
  return search.found;
}

void* fortran_function(const char* name, const char* suffix) {
  char symbol[128];
  snprintf(symbol, sizeof symbol, "%s%s", name, suffix);
  void* found = symbol_after(symbol);
  if (!found && !strcmp(suffix, "_")) {
    snprintf(symbol, sizeof symbol, "%s__", name);
    found = symbol_after(symbol);
    for (char* c = symbol; *c; c++) *c = (char)toupper((unsigned char)*c);
    symbol[strlen(name)] = '\0';
    if (!found) found = symbol_after(symbol);
  }
  if (!found) {
    fprintf(stderr, "isthmus: the program calls %s%s, which no library that it loads defines\n", name, suffix);
    abort();
  }
  return found;
}

/* Addresses of the sentinels under all names that libraries give them. */
struct sentinels {
  const char* const* names;    /* variables that are the sentinel */
  const char* const* pointers; /* variables that point to it */
  const void* address[8];
  void** pointer[4];
  atomic_bool known;
};

static void look_up(struct sentinels* s) {
  int n = 0, m = 0;
  for (int i = 0; s->names[i]; i++) {
    void* address = dlsym(RTLD_DEFAULT, s->names[i]);
    if (address) s->address[n++] = address;
  }
  for (int i = 0; s->pointers[i]; i++) {
    void** pointer = dlsym(RTLD_DEFAULT, s->pointers[i]);
    if (pointer) s->pointer[m++] = pointer;
  }
  atomic_store(&s->known, true);
}

static bool is_sentinel(struct sentinels* s, const void* address) {
  if (!atomic_load_explicit(&s->known, memory_order_acquire)) look_up(s);
  for (int i = 0; s->address[i]; i++)
    if (s->address[i] == address) return true;
  for (int i = 0; s->pointer[i]; i++)
    if (*s->pointer[i] == address) return address != NULL;
  return false;
}

bool fortran_in_place(const void* buffer) {
  static const char* const names[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",  "mpi_fortran_in_place__",
                                      "MPI_FORTRAN_IN_PLACE",  "MPIR_F08_MPI_IN_PLACE", NULL};
  static const char* const pointers[] = {"MPIR_F_MPI_IN_PLACE", NULL};
  static struct sentinels s = {.names = names, .pointers = pointers};
  return is_sentinel(&s, buffer);
}

bool fortran_bottom(const void* buffer) {
  static const char* const names[] = {"mpi_fortran_bottom_", "mpi_fortran_bottom",  "mpi_fortran_bottom__",
                                      "MPI_FORTRAN_BOTTOM",  "MPIR_F08_MPI_BOTTOM", NULL};
  static const char* const pointers[] = {"MPIR_F_MPI_BOTTOM", NULL};
  static struct sentinels s = {.names = names, .pointers = pointers};
  return is_sentinel(&s, buffer);
}

bool fortran_status_ignored(const void* status) {
  static const char* const names[] = {"mpi_fortran_status_ignore_",     "mpi_fortran_status_ignore",
                                      "mpi_fortran_status_ignore__",    "MPI_FORTRAN_STATUS_IGNORE",
                                      "MPIR_F08_MPI_STATUS_IGNORE_OBJ", NULL};
  static const char* const pointers[] = {"MPI_F_STATUS_IGNORE", "MPI_F08_STATUS_IGNORE", NULL};
  static struct sentinels s = {.names = names, .pointers = pointers};
  return is_sentinel(&s, status);
}

bool fortran_statuses_ignored(const void* statuses) {
  static const char* const names[] = {"mpi_fortran_statuses_ignore_",     "mpi_fortran_statuses_ignore",
                                      "mpi_fortran_statuses_ignore__",    "MPI_FORTRAN_STATUSES_IGNORE",
                                      "MPIR_F08_MPI_STATUSES_IGNORE_OBJ", NULL};
  static const char* const pointers[] = {"MPI_F_STATUSES_IGNORE", "MPI_F08_STATUSES_IGNORE", NULL};
  static struct sentinels s = {.names = names, .pointers = pointers};
  return is_sentinel(&s, statuses);
}

bool fortran_unweighted(const void* weights) {
  static const char* const names[] = {"mpi_fortran_unweighted_",
                                      "mpi_fortran_unweighted",
                                      "mpi_fortran_unweighted__",
                                      "MPI_FORTRAN_UNWEIGHTED",
                                      "__mpi_f08_link_constants_MOD_mpi_unweighted",
                                      NULL};
  static const char* const pointers[] = {"MPIR_F_MPI_UNWEIGHTED", NULL};
  static struct sentinels s = {.names = names, .pointers = pointers};
  return is_sentinel(&s, weights);
}
