/* What generated wrappers of Fortran functions need; see fortran.c. Shared by all that is put between a program and its
 * MPI library. */
#ifndef ISTHMUS_FORTRAN_H
#define ISTHMUS_FORTRAN_H

#include <mpi.h>
#include <stdbool.h>

#define EXPORT __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The library's own function, looked up once. */
#define FORTRAN_FUNCTION(variable, name, suffix)                         \
  static void* variable##_found;                                         \
  void* variable = __atomic_load_n(&variable##_found, __ATOMIC_RELAXED); \
  if (UNLIKELY(!variable))                                               \
  __atomic_store_n(&variable##_found, variable = fortran_function(name, suffix), __ATOMIC_RELAXED)
#define STATUS_FINTS (sizeof(MPI_Status) / sizeof(int))
void* fortran_function(const char* name, const char* suffix);
bool fortran_in_place(const void* buffer);
bool fortran_bottom(const void* buffer);
bool fortran_status_ignored(const void* status);
bool fortran_statuses_ignored(const void* statuses);
bool fortran_unweighted(const void* weights);

#endif
