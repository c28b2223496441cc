/* Reductions of numbers whose sums depend on the order in which they are added: prints a line of hashes of all bytes of
 * the results, of all ranks, for every collective, type, operator, number of elements and root:  ordered [ITERATIONS]
 */
#include <complex.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20000, KINDS = 7 };

static uint64_t state;
static double next(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return ((double)(state >> 11) / 9007199254740992.0 - 0.5) * (double)(1 << (state >> 7 & 15));
}

static uint64_t hash(const void* data, size_t bytes) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < bytes; ++i) h = (h ^ ((const unsigned char*)data)[i]) * 1099511628211u;
  return h;
}

static int rank, ranks;

static void fill(void* to, MPI_Datatype type, int count) {
  for (int i = 0; i < count; ++i) {
    const double x = next();
    if (type == MPI_FLOAT) ((float*)to)[i] = (float)x;
    if (type == MPI_DOUBLE) ((double*)to)[i] = x;
    if (type == MPI_C_DOUBLE_COMPLEX) ((double complex*)to)[i] = x + next() * I;
    if (type == MPI_LONG_DOUBLE) ((long double*)to)[i] = x;
  }
}

static void show(const char* name, int count, const void* out, size_t bytes) {
  uint64_t mine = hash(out, bytes), all[64];
  MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  printf("%s %d:", name, count);
  for (int i = 0; i < ranks; ++i) printf(" %016llx", (unsigned long long)all[i]);
  printf("\n");
}

static void call(int kind, void* in, void* out, int count, MPI_Datatype type, MPI_Op op, size_t bytes) {
  static const char* const names[KINDS] = {"reduce", "reduce to the last",  "allreduce", "in place", "scan",
                                           "exscan", "reduce_scatter_block"};
  MPI_Comm world = MPI_COMM_WORLD;
  size_t got = (size_t)count * bytes;
  memset(out, 0, (size_t)(count * ranks) * bytes);
  switch (kind) {
    case 0: MPI_Reduce(in, out, count, type, op, 0, world); break;
    case 1: MPI_Reduce(in, out, count, type, op, ranks - 1, world); break;
    case 2: MPI_Allreduce(in, out, count, type, op, world); break;
    case 3:
      memcpy(out, in, got);
      MPI_Allreduce(MPI_IN_PLACE, out, count, type, op, world);
      break;
    case 4: MPI_Scan(in, out, count, type, op, world); break;
    case 5: MPI_Exscan(in, out, count, type, op, world); break;
    default: MPI_Reduce_scatter_block(in, out, count, type, op, world);
  }
  if ((kind == 0 && rank != 0) || (kind == 1 && rank != ranks - 1) || (kind == 5 && rank == 0)) got = 0;
  /* A long double has ten bytes, and six that mean nothing. */
  for (size_t i = 0; type == MPI_LONG_DOUBLE && i < got; i += bytes) memset((char*)out + i + 10, 0, bytes - 10);
  show(names[kind], count, out, got);
}

/* Blocks that differ, and a communicator whose ranks are in another order. */
static void others(double* in, double* out) {
  int blocks[64], sum = 0;
  for (int i = 0; i < ranks; ++i) sum += blocks[i] = 3 * i + 1;
  fill(in, MPI_DOUBLE, sum);
  MPI_Reduce_scatter(in, out, blocks, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  show("reduce_scatter", sum, out, (size_t)blocks[rank] * sizeof *out);
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &turned);
  fill(in, MPI_DOUBLE, 50);
  MPI_Allreduce(in, out, 50, MPI_DOUBLE, MPI_SUM, turned);
  show("turned", 50, out, 50 * sizeof *out);
  MPI_Comm_free(&turned);
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 17, 600, MOST};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const struct {
    MPI_Datatype type;
    MPI_Op op;
    size_t bytes;
  } forms[] = {{MPI_FLOAT, MPI_SUM, 4},
               {MPI_DOUBLE, MPI_PROD, 8},
               {MPI_DOUBLE, MPI_MAX, 8},
               {MPI_C_DOUBLE_COMPLEX, MPI_SUM, 16},
               {MPI_LONG_DOUBLE, MPI_SUM, 16}};
  void *in = calloc((size_t)(MOST * ranks), 16), *out = calloc((size_t)(MOST * ranks), 16);
  state = 88172645463325252u * (uint64_t)(rank + 1);
  for (int again = 0; again < (argc > 1 ? atoi(argv[1]) : 1); ++again)
    for (size_t f = 0; f < sizeof forms / sizeof *forms; ++f)
      for (size_t n = 0; n < sizeof counts / sizeof *counts; ++n)
        for (int kind = 0; kind < KINDS; ++kind) {
          fill(in, forms[f].type, counts[n] * ranks);
          call(kind, in, out, counts[n], forms[f].type, forms[f].op, forms[f].bytes);
        }
  others(in, out);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
