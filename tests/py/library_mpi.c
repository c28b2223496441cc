/* A team of the ranks of an MPI program: the sum of Isthmus beside that of MPI, for all types and operators of both. */
#include <isthmus/isthmus_mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0, compared = 0;
  isthmus_team* team;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (isthmus_join_mpi(MPI_COMM_WORLD, &team) != ISTHMUS_DONE) {
    fprintf(stderr, "%s\n", isthmus_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const MPI_Datatype types[] = {MPI_INT,   MPI_LONG,   MPI_SHORT,         MPI_SIGNED_CHAR, MPI_UNSIGNED, MPI_UINT64_T,
                                MPI_FLOAT, MPI_DOUBLE, MPI_UNSIGNED_CHAR, MPI_INT8_T,      MPI_UINT16_T};
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o) {
      unsigned char mine[80], theirs[80], ours[80];
      int bytes;
      isthmus_call call = {.size = sizeof call, .kind = ISTHMUS_ALLREDUCE};
      MPI_Type_size(types[t], &bytes);
      call.count = sizeof mine / (size_t)bytes;
      const int floating = types[t] == MPI_FLOAT || types[t] == MPI_DOUBLE;
      if (floating && o > 6) continue;
      /* Small numbers: what becomes of sums that do not fit is not the same in all MPI libraries. */
      memset(mine, 0, sizeof mine);
      for (size_t i = 0; i < call.count; ++i) {
        const int value = (rank + (int)i) % 5;
        if (types[t] == MPI_FLOAT) memcpy(mine + 4 * i, &(float){(float)value}, 4);
        else if (types[t] == MPI_DOUBLE) memcpy(mine + 8 * i, &(double){value}, 8);
        else mine[i * (size_t)bytes] = (unsigned char)value;
      }
      if (isthmus_element_of(types[t], &call.element) || isthmus_operator_of(ops[o], &call.operation)) ++wrong;
      if (floating && o > 3) continue; /* MPI does not define logical operators for them */
      if (isthmus_run(team, &call, mine, ours) != ISTHMUS_DONE) ++wrong;
      MPI_Allreduce(mine, theirs, (int)call.count, types[t], ops[o], MPI_COMM_WORLD);
      if (memcmp(ours, theirs, sizeof ours)) ++wrong, fprintf(stderr, "type %zu, operator %zu differ\n", t, o);
      ++compared;
    }
  }
  isthmus_leave(team);
  if (rank == 0) printf("%d compared, %d wrong\n", compared, wrong);
  MPI_Finalize();
  return wrong != 0;
}
