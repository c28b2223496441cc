/* What the examples have in common: numbers from the command line and the last line that is printed. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char* name;
  long value; /* the default, until read_arguments has been called */
  long least;
} argument;

/* Reads whole numbers in their order. Ends the program after --help (status 0) and after nonsense (status 2); every
 * rank reads the same command line, so all of them agree. Call it after MPI_Init. */
static inline void read_arguments(int argc, char** argv, const char* what, argument* arguments, int count) {
  const char* program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
  int rank, help = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
  int bad = argc - 1 > count ? argc - 1 : 0;
  for (int i = 1; i < argc && !help && !bad; i++) {
    char* end;
    arguments[i - 1].value = strtol(argv[i], &end, 10);
    if (end == argv[i] || *end || arguments[i - 1].value < arguments[i - 1].least) bad = i;
  }
  if (!help && !bad) return;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && bad)
    fprintf(stderr, "%s: cannot use '%s'; %s --help says what is allowed\n", program, argv[bad], program);
  if (rank == 0 && help) {
    printf("%s: %s\nusage: %s", program, what, program);
    for (int i = 0; i < count; i++) printf(" [%s", arguments[i].name);
    for (int i = 0; i < count; i++) printf("]");
    printf("\n");
    for (int i = 0; i < count; i++)
      printf("  %-12s default %ld, at least %ld\n", arguments[i].name, arguments[i].value, arguments[i].least);
  }
  MPI_Finalize();
  exit(bad ? 2 : 0);
}

/* Ends the program for a reason that all ranks know. */
static inline void refuse(const char* reason) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fprintf(stderr, "%s\n", reason);
  MPI_Finalize();
  exit(2);
}

static inline void* allocate(size_t count, size_t size) {
  void* memory = calloc(count ? count : 1, size);
  if (!memory) {
    fprintf(stderr, "no memory for %zu values of %zu bytes\n", count, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

/* Block `which` of `blocks` of n things begins at this one; blocks differ by one at most. */
static inline long block_start(long n, int blocks, int which) {
  return n / blocks * which + (which < n % blocks ? which : n % blocks);
}

/* Prints what was found, calls MPI_Finalize and returns the exit status: 1 if the largest error of any rank is above
 * `allowed` (or is no number). `start` is MPI_Wtime() after MPI_Init. */
static inline int conclude(const char* found, double error, double allowed, double start) {
  int rank, wrong = !(error <= allowed), any;
  double worst, seconds = MPI_Wtime() - start, longest;
  MPI_Reduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && any) fprintf(stderr, "wrong: %s, error %g where %g is allowed\n", found, worst, allowed);
  if (rank == 0 && !any) printf("correct: %s, error %.2g, %.6f s\n", found, worst, longest);
  MPI_Finalize();
  return any;
}

#endif
