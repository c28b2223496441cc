/* What bench/pgas.c times, by windows of the MPI library: `name bytes microseconds` a line; and its messages of 64
 * bytes there and back, as `short`. `pgas_mpi TURNS [over]`: over memory of the program, and not of the window's own.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pgas_rows.h"

static char *memory, mine[4 << 20];
static MPI_Win window;
static int rank;

enum what { PUT, GET, BEGIN, ADD, BARRIER, SHORT, STRIDED, GET_STRIDED, INDEXED };
enum { PIECES = 64 << 10 }; /* as in pgas.c */
static MPI_Datatype shape;

static double run(enum what what, int bytes, int times) {
  long long one = 1, before;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < times; ++i) {
    if (what == BARRIER) {
      MPI_Barrier(MPI_COMM_WORLD);
      continue;
    }
    if (what == SHORT) {
      if (rank == 0) MPI_Send(mine, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(mine, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(mine, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      continue;
    }
    if (rank != 0) break;
    if (what == PUT) MPI_Put(mine, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    else if (what == GET) MPI_Get(mine, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    else if (what == STRIDED || what == INDEXED) MPI_Put(mine, PIECES, MPI_BYTE, 1, 0, 1, shape, window);
    else if (what == GET_STRIDED) MPI_Get(mine, PIECES, MPI_BYTE, 1, 0, 1, shape, window);
    else if (what == BEGIN) MPI_Put(mine, bytes, MPI_BYTE, 1, (i % 64) * bytes, bytes, MPI_BYTE, window);
    else MPI_Fetch_and_op(&one, &before, MPI_LONG_LONG, 1, 0, MPI_SUM, window);
    if (what != BEGIN || i % 64 == 63 || i == times - 1) MPI_Win_flush(1, window);
  }
  const double end = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  return 1e6 * (end - begin) / times;
}

/* Every other piece of so many bytes: at a stride, or as a list. */
static void shape_of(enum what what, int bytes) {
  static int places[PIECES / 8];
  for (int i = 0; i < PIECES / bytes; ++i) places[i] = 2 * i * bytes;
  if (what == INDEXED) MPI_Type_create_indexed_block(PIECES / bytes, bytes, places, MPI_BYTE, &shape);
  else MPI_Type_vector(PIECES / bytes, bytes, 2 * bytes, MPI_BYTE, &shape);
  MPI_Type_commit(&shape);
}

static void measure(const char* name, enum what what, int bytes, int turns) {
  if (!is_timed(name)) return;
  double best = 1e30;
  const int times = bytes >= 1 << 20 ? 50 : bytes > 4096 ? 500 : what >= STRIDED ? 300 : 5000;
  if (what >= STRIDED) shape_of(what, bytes);
  for (int turn = 0; turn < turns; ++turn) {
    const double one = run(what, bytes, times);
    if (one < best) best = one;
  }
  if (what >= STRIDED) MPI_Type_free(&shape);
  if (rank == 0) printf("%s %d %.4f\n", name, what == SHORT ? 0 : bytes, best);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int turns = argc > 1 ? atoi(argv[1]) : 20;
  if (argc > 2) {
    memory = mmap(NULL, sizeof mine, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MPI_Win_create(memory, sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  } else {
    MPI_Win_allocate(sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  }
  memset(memory, 0, sizeof mine);
  memset(mine, 1, sizeof mine);
  MPI_Win_lock_all(0, window);
  static const int sizes[] = {8, 64, 512, 1024, 4096, 65536, 1 << 20, 4 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) measure("put", PUT, sizes[i], turns);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) measure("get", GET, sizes[i], turns);
  for (size_t i = 0; i < 6; ++i) measure("begin-put", BEGIN, sizes[i], turns);
  measure("fetch-and-add", ADD, 8, turns);
  static const int of_pieces[] = {8, 64, 512, 4096, 8192, 16384, 32768};
  for (size_t i = 0; i < sizeof of_pieces / sizeof *of_pieces; ++i) measure("strided", STRIDED, of_pieces[i], turns);
  for (size_t i = 0; i < sizeof of_pieces / sizeof *of_pieces; ++i) measure("indexed", INDEXED, of_pieces[i], turns);
  for (size_t i = 0; i < sizeof of_pieces / sizeof *of_pieces; ++i)
    measure("get-strided", GET_STRIDED, of_pieces[i], turns);
  measure("short", SHORT, 64, turns);
  measure("barrier", BARRIER, 0, turns);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
