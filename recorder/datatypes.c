/* Real sizes of datatypes, and of what a status says. */
#include "recorder.h"

static atomic_ullong freed = 1;

void type_freed(void) { atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed); }

struct type type_of(MPI_Datatype datatype) {
  static _Thread_local struct type cache[16];
  uint64_t handle = HANDLE(datatype);
  uint64_t epoch = atomic_load_explicit(&freed, memory_order_relaxed);
  struct type* type = &cache[(handle ^ handle >> 4 ^ handle >> 9) % 16];
  if (LIKELY(type->handle == handle && type->epoch == epoch)) return *type;
  if (datatype == MPI_DATATYPE_NULL) return (struct type){0};
  MPI_Count bytes = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_size_x(datatype, &bytes);
#if MPI_VERSION >= 4
  /* The other form is an error for types with large counts. */
  MPI_Count integers, addresses, larges, types;
  PMPI_Type_get_envelope_c(datatype, &integers, &addresses, &larges, &types, &combiner);
#else
  int integers, addresses, types;
  PMPI_Type_get_envelope(datatype, &integers, &addresses, &types, &combiner);
#endif
  *type = (struct type){handle, epoch, bytes > 0 ? (uint64_t)bytes : 0, combiner != MPI_COMBINER_NAMED};
  return *type;
}

uint64_t type_bytes(int64_t count, MPI_Datatype datatype) {
  /* Types of nothing need not be types. */
  return count > 0 ? (uint64_t)count * type_of(datatype).bytes : 0;
}

MPI_Datatype type_at(struct handles types, int64_t i) {
  return types.fortran ? PMPI_Type_f2c(((const MPI_Fint*)types.at)[i]) : ((const MPI_Datatype*)types.at)[i];
}

uint64_t status_bytes(const MPI_Status* status) {
  int count = 0;
  if (PMPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count != MPI_UNDEFINED) return (uint64_t)count;
  MPI_Count large = 0;
  PMPI_Get_elements_x((MPI_Status*)status, MPI_BYTE, &large);
  return large > 0 ? (uint64_t)large : 0;
}

void status_at(struct handles statuses, int64_t i, MPI_Status* status) {
  if (statuses.fortran) PMPI_Status_f2c((const MPI_Fint*)statuses.at + i * (int64_t)STATUS_FINTS, status);
  else *status = ((const MPI_Status*)statuses.at)[i];
}
