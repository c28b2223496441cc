/* Reductions by operators that commute and by one that does not: the composition of maps x -> a x + b, kept as a, b. */
#include <mpi.h>

static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  int *first = in, *then = inout;
  for (int i = 0; i + 1 < *count; i += 2) {
    int a = first[i] * then[i], b = then[i] * first[i + 1] + then[i + 1];
    then[i] = a;
    then[i + 1] = b;
  }
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)inout)[i] += ((int*)in)[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm w = MPI_COMM_WORLD;
  int rank, ranks, counts[64];
  MPI_Comm_rank(w, &rank);
  MPI_Comm_size(w, &ranks);
  for (int i = 0; i < ranks; i++) counts[i] = 2;
  MPI_Op ordered, commuting;
  MPI_Op_create(compose, 0, &ordered);
  MPI_Op_create(add, 1, &commuting);
  int in[128] = {2, rank + 1}, out[128];
  MPI_Request request;
  MPI_Allreduce(in, out, 2, MPI_INT, ordered, w);
  MPI_Allreduce(in, out, 2, MPI_INT, commuting, w);
  MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, w);
  MPI_Reduce(in, out, 2, MPI_INT, ordered, 0, w);
  MPI_Reduce(in, out, 2, MPI_INT, MPI_MAX, 0, w);
  MPI_Reduce_scatter(in, out, counts, MPI_INT, ordered, w);
  MPI_Reduce_scatter_block(in, out, 2, MPI_INT, ordered, w);
  MPI_Scan(in, out, 2, MPI_INT, ordered, w);
  MPI_Exscan(in, out, 2, MPI_INT, commuting, w);
  MPI_Iallreduce(in, out, 2, MPI_INT, ordered, w, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* Another operator under a handle that was there before. */
  MPI_Op_free(&ordered);
  MPI_Op_free(&commuting);
  MPI_Op_create(add, 1, &ordered);
  MPI_Op_create(compose, 0, &commuting);
  MPI_Allreduce(in, out, 2, MPI_INT, ordered, w);
  MPI_Allreduce(in, out, 2, MPI_INT, commuting, w);
  MPI_Op_free(&ordered);
  MPI_Op_free(&commuting);
  MPI_Finalize();
  return 0;
}
