/* The same collectives again and again with other buffers, and with one argument after the other changed in between:
 * what MPI_ gives beside what PMPI_ gives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, CELLS = 16 * MOST };
static int rank, ranks, calls, wrong;
static long state = 1;

static int any(int n) { /* the same on all ranks */
  state = (state * 1103515245 + 12345) % 2147483648;
  return (int)(state / 65536 % n);
}

/* In place of a call of each side: the values of a buffer before and after it. */
#define BOTH(call, buffer)                               \
  do {                                                   \
    static long before[CELLS], theirs[CELLS];            \
    memcpy(before, buffer, sizeof before);               \
    P##call;                                             \
    memcpy(theirs, buffer, sizeof theirs);               \
    memcpy(buffer, before, sizeof before);               \
    call;                                                \
    ++calls;                                             \
    wrong += memcmp(buffer, theirs, sizeof theirs) != 0; \
  } while (0)
#define BOTH_BEGUN(call, buffer)                         \
  do {                                                   \
    static long before[CELLS], theirs[CELLS];            \
    MPI_Request request;                                 \
    memcpy(before, buffer, sizeof before);               \
    P##call;                                             \
    PMPI_Wait(&request, MPI_STATUS_IGNORE);              \
    memcpy(theirs, buffer, sizeof theirs);               \
    memcpy(buffer, before, sizeof before);               \
    call;                                                \
    MPI_Wait(&request, MPI_STATUS_IGNORE);               \
    ++calls;                                             \
    wrong += memcmp(buffer, theirs, sizeof theirs) != 0; \
  } while (0)

static void one_after_the_other(MPI_Comm world) {
  static long first[CELLS], second[CELLS], third[CELLS], fourth[CELLS];
  long* const buffers[] = {first, second, third, fourth};
  const MPI_Datatype types[] = {MPI_LONG, MPI_INT, MPI_UINT64_T};
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_BXOR};
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_LONG, &pair);
  MPI_Type_commit(&pair);
  int n = 1, root = 0, type = 0, op = 0, in_place = 0, derived = 0;
  for (int turn = 0; turn < 300; ++turn) {
    long *out = buffers[any(4)], *in = out;
    while (in == out) in = buffers[any(4)];
    for (int i = 0; i < CELLS; ++i) in[i] = 7 * rank + i + turn, out[i] = 5 * rank + 3 * i + turn;
    /* Two calls in three are as the one before. */
    switch (any(18)) {
      case 0: n = any(MOST); break;
      case 1: root = any(ranks); break;
      case 2: type = any(3); break;
      case 3: op = any(3); break;
      case 4: in_place = !in_place; break;
      case 5: derived = !derived; break;
      default: break;
    }
    const MPI_Datatype t = types[type], moved = derived ? pair : t;
    const int m = derived ? n / 2 : n;
    const void* const given = in_place ? MPI_IN_PLACE : in;
    const void* const root_gives = in_place && rank == root ? MPI_IN_PLACE : in;
    BOTH(MPI_Bcast(out, m, moved, root, world), out);
    BOTH(MPI_Allreduce(given, out, n, t, ops[op], world), out);
    BOTH_BEGUN(MPI_Iallreduce(given, out, n, t, ops[op], world, &request), out);
    BOTH(MPI_Reduce(root_gives, out, n, t, ops[op], root, world), out);
    BOTH(MPI_Scan(given, out, n, t, ops[op], world), out);
    BOTH(MPI_Gather(root_gives, m, moved, out, m, moved, root, world), out);
    BOTH(MPI_Scatter(in, m, moved, in_place && rank == root ? MPI_IN_PLACE : out, m, moved, root, world), out);
    BOTH(MPI_Allgather(given, m, moved, out, m, moved, world), out);
    BOTH_BEGUN(MPI_Ialltoall(given, m, moved, out, m, moved, world, &request), out);
    BOTH(MPI_Reduce_scatter_block(in, out, n, t, ops[op], world), out);
    BOTH_BEGUN(MPI_Ibcast(out, m, moved, root, world, &request), out);
  }
  MPI_Type_free(&pair);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  one_after_the_other(MPI_COMM_WORLD);
  long own[2] = {calls, wrong}, all[2];
  PMPI_Reduce(own, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld calls made again, %ld wrong\n", all[0], all[1]);
  MPI_Finalize();
  return wrong != 0;
}
