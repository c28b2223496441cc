/* The bytes of the pieces in which long messages go between two hosts. */
#include <isthmus/isthmus_mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const uint32_t nodes[2] = {0, 1};
  isthmus_wire wire;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (isthmus_wire_mpi(MPI_COMM_WORLD, nodes, &wire) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  printf("rank %d: %d bytes\n", rank, (int)wire.piece);
  wire.close(wire.data, 0);
  /* MPICH 4.0.2 over TCP does not end where a rank still looks for messages while another one is in MPI_Finalize. */
  usleep(300000);
  return MPI_Finalize();
}
