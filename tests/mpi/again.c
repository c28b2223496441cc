/* The same collectives again and again with other buffers, and with one argument after the other changed in between;
 * some by turns, with handles that are freed and come again with another meaning, and arrays that change where they
 * are: what MPI_ gives beside what PMPI_ gives. */
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

static void added(void* in, void* out, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((long*)out)[i] += ((long*)in)[i];
}
static void larger(void* in, void* out, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i)
    if (((long*)out)[i] < ((long*)in)[i]) ((long*)out)[i] = ((long*)in)[i];
}

/* Types of other sizes, with gaps or without, under the handles of those before, where the library gives them again. */
static MPI_Datatype made(void) {
  MPI_Datatype type;
  const int length = 1 + any(3);
  if (any(3) == 0) MPI_Type_vector(2, 1, 1 + any(2), MPI_LONG, &type);
  else MPI_Type_contiguous(length, any(2) ? MPI_LONG : MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static void by_turns(MPI_Comm world) {
  static long first[CELLS], second[CELLS];
  long *const in = first, *const out = second;
  int counts[16], places[16], send_counts[16], send_places[16], twice[16];
  MPI_Datatype types[2] = {made(), made()};
  MPI_Op op;
  MPI_Op_create(added, 1, &op);
  for (int turn = 0; turn < 500; ++turn) {
    const int fresh = turn == 0 || any(12) == 0, i = any(2), n = 1 + any(3), root = any(ranks);
    const void* const given = any(2) ? MPI_IN_PLACE : in;
    for (int k = 0; k < CELLS; ++k) in[k] = 7 * rank + k + turn, out[k] = 5 * rank + 3 * k + turn;
    if (any(10) == 0) {
      MPI_Type_free(&types[i]);
      types[i] = made();
    }
    if (any(10) == 0) {
      MPI_Op_free(&op);
      MPI_Op_create(any(2) ? added : larger, 1, &op);
    }
    const MPI_Op other = any(2) ? op : MPI_MIN;
    for (int r = 0; fresh && r < ranks; ++r) {
      counts[r] = any(4);
      twice[r] = any(3);
      places[r] = r > 0 ? places[r - 1] + counts[r - 1] + (r == 1 ? any(2) : 0) : any(2);
    }
    /* What each sends to all others: as many as it gets from each. */
    for (int r = 0; r < ranks; ++r) {
      send_counts[r] = counts[rank];
      send_places[r] = r * 4 + (turn % 7 == 0);
    }
    BOTH(MPI_Bcast(out, n, types[i], root, world), out);
    BOTH(MPI_Allreduce(in, out, n, MPI_LONG, op, world), out);
    BOTH(MPI_Allreduce(given, out, n, MPI_LONG, other, world), out);
    BOTH_BEGUN(MPI_Iallreduce(in, out, n, MPI_LONG, op, world, &request), out);
    BOTH(MPI_Allgather(in, n, types[i], out, n, types[i], world), out);
    BOTH(MPI_Allgatherv(in, counts[rank], MPI_LONG, out, counts, places, MPI_LONG, world), out);
    BOTH(MPI_Alltoallv(in, send_counts, send_places, MPI_LONG, out, counts, places, MPI_LONG, world), out);
    BOTH(MPI_Gatherv(in, counts[rank], MPI_LONG, out, counts, places, MPI_LONG, turn / 9 % ranks, world), out);
    BOTH(MPI_Scatterv(in, counts, places, MPI_LONG, out, counts[rank], MPI_LONG, turn / 9 % ranks, world), out);
    BOTH(MPI_Reduce_scatter(in, out, twice, MPI_LONG, MPI_SUM, world), out);
    BOTH_BEGUN(MPI_Iallgatherv(in, counts[rank], MPI_LONG, out, counts, places, MPI_LONG, world, &request), out);
  }
  MPI_Type_free(&types[0]);
  MPI_Type_free(&types[1]);
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  one_after_the_other(MPI_COMM_WORLD);
  by_turns(MPI_COMM_WORLD);
  long own[2] = {calls, wrong}, all[2];
  PMPI_Reduce(own, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld calls made again, %ld wrong\n", all[0], all[1]);
  MPI_Finalize();
  return wrong != 0;
}
