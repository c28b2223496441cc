/* Collectives of more ranks than processors, or of ranks beside other programs: microseconds a call, a line each.
 *
 *     PROGRAM mpi|isthmus MILLISECONDS
 *
 * `isthmus`: by its own interface. bench/turns.py starts it under several MPI libraries, one after the other. */
#include <isthmus/isthmus_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { BARRIER, ALLREDUCE, ALLTOALL } What;
static const char* const names[] = {"barrier", "allreduce", "alltoall"};
static const isthmus_kind kinds[] = {ISTHMUS_BARRIER, ISTHMUS_ALLREDUCE, ISTHMUS_ALLTOALL};

static int rank, ranks;
static isthmus_team* team;
static double *in, *out;

static void once(What what, int doubles) {
  if (team) {
    isthmus_call call = {.size = sizeof call, .kind = kinds[what], .element = ISTHMUS_F64, .count = (uint64_t)doubles};
    if (what == ALLREDUCE) call.operation = ISTHMUS_SUM;
    if (isthmus_run(team, &call, in, out) < 0) {
      fprintf(stderr, "%s\n", isthmus_last_error());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  } else if (what == BARRIER) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (what == ALLREDUCE) {
    MPI_Allreduce(in, out, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else {
    MPI_Alltoall(in, doubles, MPI_DOUBLE, out, doubles, MPI_DOUBLE, MPI_COMM_WORLD);
  }
}

/* Of so many calls, by the clock of rank 0. */
static double timed(What what, int doubles, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  once(what, doubles); /* a rank may wait in the barrier of a library that spins while others have left it */
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) once(what, doubles);
  return MPI_Wtime() - begin;
}

static void measure(What what, int doubles, double seconds) {
  int calls = 1;
  for (double took = 0; took < seconds / 8 && calls < 1 << 20;) {
    calls *= 2;
    took = timed(what, doubles, calls);
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  const double took = timed(what, doubles, 4 * calls);
  if (rank == 0) printf("%s %d %.3f\n", names[what], 8 * doubles, took * 1e6 / (4 * calls));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double seconds = argc > 2 ? atof(argv[2]) / 1e3 : 0.1;
  if (argc > 1 && strcmp(argv[1], "isthmus") == 0 && isthmus_join_mpi(MPI_COMM_WORLD, &team) < 0) {
    fprintf(stderr, "%s\n", isthmus_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  in = calloc((size_t)ranks * 8192, sizeof *in);
  out = calloc((size_t)ranks * 8192, sizeof *out);
  measure(BARRIER, 0, seconds);
  measure(ALLREDUCE, 1, seconds);
  measure(ALLREDUCE, 8192, seconds);
  measure(ALLTOALL, 1, seconds);
  measure(ALLTOALL, 8192, seconds);
  if (team) isthmus_leave(team);
  MPI_Finalize();
  return 0;
}
