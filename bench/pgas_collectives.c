/* Collectives on symmetric memory beside those of the MPI library, in turns in one program: pgas_collectives FILE
 * TURNS. A line of FILE is `collective bytes algorithm mode flight`: algorithm `-` is the library's choice, `MPI` that
 * of the MPI library; mode strict or loose; flight is how many are under way at once. Printed are these lines with the
 * least microseconds of one of them in a batch, of the slowest rank. */
#include <isthmus/isthmus_mpi.h>
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, ROOM = 8 << 20 };

struct row {
  char name[16], algorithm[64], mode[16];
  unsigned long bytes, flight;
  double best;
};

static isthmus_space* space;
static uint32_t rank, ranks;
static uint64_t from, to;
static char *own_from, *own_to;

static void must(int status) {
  if (status >= 0) return;
  fprintf(stderr, "rank %u: %s\n", rank, isthmus_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void ours(const struct row* r, uint64_t place, isthmus_event* event) {
  isthmus_manner manner;
  memset(&manner, 0, sizeof manner);
  manner.size = sizeof manner;
  manner.enter = manner.leave = strcmp(r->mode, "strict") == 0 ? ISTHMUS_SYNC_ALL : ISTHMUS_SYNC_MY;
  manner.algorithm = strcmp(r->algorithm, "-") == 0 ? NULL : r->algorithm;
  manner.event = event;
  if (strcmp(r->name, "bcast") == 0) must(isthmus_broadcast(space, &manner, to + place, 0, from, r->bytes));
  else if (strcmp(r->name, "scatter") == 0) must(isthmus_scatter(space, &manner, to + place, 0, from, r->bytes));
  else if (strcmp(r->name, "gather") == 0) must(isthmus_gather(space, &manner, 0, to + place, from, r->bytes));
  else if (strcmp(r->name, "allgather") == 0) must(isthmus_gather_all(space, &manner, to + place, from, r->bytes));
  else if (strcmp(r->name, "alltoall") == 0) must(isthmus_exchange_all(space, &manner, to + place, from, r->bytes));
  else if (strcmp(r->name, "barrier") == 0) must(isthmus_barrier_of(space, &manner));
  else if (strcmp(r->name, "reduce") == 0) {
    isthmus_reduction sum;
    memset(&sum, 0, sizeof sum);
    sum.size = sizeof sum;
    sum.element = ISTHMUS_F64;
    sum.operation = ISTHMUS_SUM;
    sum.commutes = 1;
    sum.count = r->bytes / 8 * ranks;
    sum.block = r->bytes / 8;
    must(isthmus_reduce(space, &manner, 0, to + place, from, &sum));
  } else {
    fprintf(stderr, "collective '%s' is unknown\n", r->name);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

static void theirs(const struct row* r, uint64_t place, MPI_Request* request) {
  const int n = (int)r->bytes;
  char *const in = own_from, *const out = own_to + place;
  const MPI_Comm all = MPI_COMM_WORLD;
  if (strcmp(r->name, "bcast") == 0) MPI_Ibcast(out, n, MPI_BYTE, 0, all, request);
  else if (strcmp(r->name, "scatter") == 0) MPI_Iscatter(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, all, request);
  else if (strcmp(r->name, "gather") == 0) MPI_Igather(in, n, MPI_BYTE, out, n, MPI_BYTE, 0, all, request);
  else if (strcmp(r->name, "allgather") == 0) MPI_Iallgather(in, n, MPI_BYTE, out, n, MPI_BYTE, all, request);
  else if (strcmp(r->name, "alltoall") == 0) MPI_Ialltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, all, request);
  else MPI_Ibarrier(all, request);
}

static void theirs_blocking(const struct row* r) {
  const int n = (int)r->bytes;
  const MPI_Comm all = MPI_COMM_WORLD;
  if (strcmp(r->name, "bcast") == 0) MPI_Bcast(own_to, n, MPI_BYTE, 0, all);
  else if (strcmp(r->name, "scatter") == 0) MPI_Scatter(own_from, n, MPI_BYTE, own_to, n, MPI_BYTE, 0, all);
  else if (strcmp(r->name, "gather") == 0) MPI_Gather(own_from, n, MPI_BYTE, own_to, n, MPI_BYTE, 0, all);
  else if (strcmp(r->name, "allgather") == 0) MPI_Allgather(own_from, n, MPI_BYTE, own_to, n, MPI_BYTE, all);
  else if (strcmp(r->name, "alltoall") == 0) MPI_Alltoall(own_from, n, MPI_BYTE, own_to, n, MPI_BYTE, all);
  else MPI_Barrier(all);
}

/* Those of one rank alone: the value of each block is combined first, as the shared array has it. */
static void their_reduction(const struct row* r) {
  double sum = 0, all = 0;
  const double* const values = (const double*)own_from;
  for (unsigned long i = 0; i < r->bytes / 8; ++i) sum += values[i];
  MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static double run(const struct row* r, int times) {
  const int mpi = strcmp(r->algorithm, "MPI") == 0;
  MPI_Barrier(MPI_COMM_WORLD);
  must(isthmus_barrier(space, NULL));
  const double begin = MPI_Wtime();
  for (int i = 0; i < times; i += (int)r->flight) {
    isthmus_event events[MOST];
    MPI_Request requests[MOST];
    if (r->flight == 1) {
      if (!mpi) ours(r, 0, NULL);
      else if (strcmp(r->name, "reduce") == 0) their_reduction(r);
      else theirs_blocking(r);
      continue;
    }
    for (unsigned long k = 0; k < r->flight; ++k) {
      if (mpi) theirs(r, k * r->bytes, &requests[k]);
      else ours(r, k * r->bytes, &events[k]);
    }
    if (mpi) MPI_Waitall((int)r->flight, requests, MPI_STATUSES_IGNORE);
    else
      for (unsigned long k = 0; k < r->flight; ++k) must(isthmus_wait_event(space, &events[k]));
  }
  const double mine = 1e6 * (MPI_Wtime() - begin) / times;
  double slowest;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char** argv) {
  isthmus_team* team;
  static struct row rows[4096];
  int count = 0;
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  must(isthmus_join_mpi(MPI_COMM_WORLD, &team));
  rank = isthmus_rank(team), ranks = isthmus_ranks(team);
  must(isthmus_space_make(team, NULL, &space));
  must(isthmus_allocate_all(space, ROOM, &from));
  must(isthmus_allocate_all(space, ROOM, &to));
  own_from = (char*)isthmus_cast(space, rank, from);
  own_to = (char*)isthmus_cast(space, rank, to);
  memset(own_from, 0, ROOM);
  memset(own_to, 0, ROOM);
  FILE* const file = fopen(argv[1], "r");
  if (!file) return 2;
  while (count < 4096 && fscanf(file, "%15s %lu %63s %15s %lu", rows[count].name, &rows[count].bytes,
                                rows[count].algorithm, rows[count].mode, &rows[count].flight) == 5)
    rows[count++].best = 1e30;
  fclose(file);
  for (int turn = 0; turn < atoi(argv[2]); ++turn)
    for (int i = 0; i < count; ++i) {
      const int times = rows[i].bytes >= 1 << 16 ? 64 : rows[i].bytes >= 4096 ? 256 : 1024;
      const double one = run(&rows[i], times);
      if (one < rows[i].best) rows[i].best = one;
    }
  for (int i = 0; i < count && rank == 0; ++i)
    printf("%s %lu %s %s %lu %.4f\n", rows[i].name, rows[i].bytes, rows[i].algorithm, rows[i].mode, rows[i].flight,
           rows[i].best);
  must(isthmus_space_leave(space));
  isthmus_leave(team);
  MPI_Finalize();
  return 0;
}
