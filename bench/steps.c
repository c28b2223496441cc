/* What a collective of two ranks consists of, done by hand: MPI_Sendrecv, copies of blocks that stay, reductions. Rank
 * 0 prints lines of way, bytes and seconds (medians of the rank that takes longer):
 *
 *     call       the collective, which Open MPI is told to do by this algorithm
 *     by-hand    its steps on the same buffers, so that messages carry what a processor has just written
 *     message, copy, reduce
 *                each step by itself in a loop, so that messages carry what nobody has written since
 *
 * Arguments: the collective and the algorithm. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 201, LARGEST = 1 << 20, WAYS = 5 };

static const char* const way_name[WAYS] = {"call", "by-hand", "message", "copy", "reduce"};
static char *out, *in, *aside;
static const char *kind, *algorithm;
static int rank;

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void exchange(const char* from, char* to, int bytes) {
  MPI_Sendrecv(from, bytes, MPI_BYTE, 1 - rank, 0, to, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* In pieces, as the library copies: the C library writes large blocks past the caches. */
static void copy(char* to, const char* from, int bytes) {
  enum { PIECE = 128 << 10 };
  for (int at = 0; at < bytes; at += PIECE)
    memcpy(to + at, from + at, (size_t)(bytes - at < PIECE ? bytes - at : PIECE));
  __asm__ volatile("" : : "r"(to) : "memory");
}

static void add(const char* from, char* to, int bytes) {
  MPI_Reduce_local(from, to, bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM);
}

static void call(int bytes) {
  if (strcmp(kind, "allreduce") == 0)
    MPI_Allreduce(out, in, bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (strcmp(kind, "allgather") == 0) MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  else MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* As the algorithm does it; in a ring of two ranks every block goes once in each of its two phases. */
static void by_hand(int bytes) {
  char* const mine = in + rank * bytes;
  char* const other = in + (1 - rank) * bytes;
  if (strcmp(kind, "alltoall") == 0) {
    copy(mine, out + rank * bytes, bytes);
    exchange(out + (1 - rank) * bytes, other, bytes);
  } else if (strcmp(kind, "allgather") == 0) {
    copy(mine, out, bytes);
    exchange(mine, other, bytes);
  } else if (strcmp(algorithm, "ring") == 0) {
    const int half = bytes / 2;
    copy(in, out, bytes);
    exchange(in + (1 - rank) * half, aside, half);
    add(aside, in + rank * half, half);
    exchange(in + rank * half, in + (1 - rank) * half, half);
  } else {  // the sum is in one of two buffers, which is the user's on one of the two ranks alone
    copy(aside, out, bytes);
    exchange(aside, in, bytes);
    if (rank == 0) add(aside, in, bytes);
    else add(in, aside, bytes), copy(in, aside, bytes);
  }
}

static void once(int way, int bytes) {
  switch (way) {
    case 0: call(bytes); break;
    case 1: by_hand(bytes); break;
    case 2: exchange(out, in, bytes); break;
    case 3: copy(in, out, bytes); break;
    default: add(in, aside, bytes);
  }
}

/* Seconds of a way, of the rank that takes longer. */
static double timed(int way, int bytes) {
  double mine, most;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  once(way, bytes);
  mine = MPI_Wtime() - begin;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

int main(int argc, char** argv) {
  static const int sizes[] = {8, 512, 4096, 32768, 262144, LARGEST};
  static double took[WAYS][SAMPLES];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 3) return fprintf(stderr, "usage: steps COLLECTIVE ALGORITHM\n"), 2;
  kind = argv[1], algorithm = argv[2];
  char** const buffers[] = {&out, &in, &aside};
  for (int i = 0; i < 3; i++) {
    *buffers[i] = aligned_alloc(4096, 2 * LARGEST);
    memset(*buffers[i], 0, 2 * LARGEST);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int way = 0; way < WAYS; way++) {
      // A way runs some times in a row: what the one before left in the caches is not its doing.
      for (int k = -5; k < SAMPLES; k++) {
        const double seconds = timed(way, sizes[i]);
        if (k >= 0) took[way][k] = seconds;
      }
      qsort(took[way], SAMPLES, sizeof(double), ascending);
      if (rank == 0) printf("%s %d %.9e\n", way_name[way], sizes[i], took[way][SAMPLES / 2]);
    }
  }
  for (int i = 0; i < 3; i++) free(*buffers[i]);
  MPI_Finalize();
  return 0;
}
