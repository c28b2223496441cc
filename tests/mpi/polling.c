/* A million tests that find nothing; calls that fail; MPI_Pcontrol; iterations. */
#include "known.h"

int main(int argc, char** argv) {
  int flag, other, code, value = 0, incoming;
  MPI_Request request, second;
  MPI_Init(&argc, &argv);
  begin_known();
  const int polls = argc > 1 ? atoi(argv[1]) : 1000;
  MPI_Irecv(&incoming, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  for (int i = 0; i < polls; i++) {
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Iprobe(rank, 2, MPI_COMM_WORLD, &other, MPI_STATUS_IGNORE);
    CHECK(!flag && !other);
  }
  MPI_Isend(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &second);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&second, MPI_STATUS_IGNORE);
  sent(rank, 4), received(rank, 4);
  /* Codes of calls that fail are passed on, and nothing was sent. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  code = MPI_Send(&value, 1, MPI_INT, ranks + 5, 1, MPI_COMM_WORLD);
  int class;
  MPI_Error_class(code, &class);
  CHECK(class == MPI_ERR_RANK);
  /* Off, on, a phase. */
  MPI_Pcontrol(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  MPI_Pcontrol(17);
  for (int i = 0; i < 10; i++) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* begins an iteration */
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    moved("allreduce", 4, 4);
    moved("bcast", rank == 0 ? 4 : 0, rank == 0 ? 0 : 4);
  }
  print_known();
  MPI_Finalize();
  return 0;
}
