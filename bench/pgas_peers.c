/* Puts to several peers, and over several links, at once, beside messages of MPI: pgas_peers TURNS. Printed are lines
 * of `what,bytes,ours,theirs,answered`, microseconds of a put or message of the slowest rank with UNDER_WAY of them at
 * once, all ways in turns, the least of the turns. A put is done when its bytes are there; a message of MPI, when its
 * buffer may be used again, so MPI goes on with the next ones meanwhile. `answered` are messages of MPI whose receivers
 * say when all of a batch are there, which is what the puts wait for. */
#include <isthmus/isthmus_mpi.h>
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNDER_WAY = 24, LARGEST = 256 << 10 }; /* a number that 1, 2, 3 divide */
/* Of rank 0 to rank 1, of rank 0 to all others in turns, of every rank to the next one, of every rank to all others. */
enum what { ONE, PEERS, LINKS, ALL, KINDS };
enum way { THEIRS, ANSWERED, OURS, WAYS };
static const char* const names[] = {"one peer", "all peers", "all links", "all to all"};

static isthmus_space* space;
static uint64_t place;
static uint32_t rank, ranks;
static char mine[LARGEST];
static char* landing;

static void must(int status) {
  if (status >= 0) return;
  fprintf(stderr, "rank %u: %s\n", rank, isthmus_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Begins to put, or to send and receive, UNDER_WAY blocks. */
static void batch(enum what what, size_t bytes, enum way way) {
  const int ours = way == OURS;
  const uint32_t spread = what == PEERS || what == ALL ? ranks - 1 : 1;
  const int puts = what == LINKS || what == ALL || rank == 0;
  MPI_Request requests[2 * UNDER_WAY];
  int count = 0;
  for (uint32_t i = 0; i < UNDER_WAY; ++i) {
    const uint32_t distance = 1 + i % spread, to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
    /* Ranks that put at once write to memory of their own. */
    const uint64_t at = ((uint64_t)rank * UNDER_WAY + i) * bytes;
    if (ours && puts) must(isthmus_begin_put(space, to, place + at, mine, bytes, NULL));
    if (ours) continue;
    if (what == LINKS || what == ALL || from == 0)
      MPI_Irecv(landing + i * bytes, (int)bytes, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, &requests[count++]);
    if (puts) MPI_Isend(mine, (int)bytes, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD, &requests[count++]);
  }
  if (!ours) MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  else if (puts) must(isthmus_wait_all(space));
  if (way != ANSWERED) return;
  count = 0;
  for (uint32_t distance = 1; distance <= spread; ++distance) {
    const uint32_t to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
    if (puts) MPI_Irecv(NULL, 0, MPI_BYTE, (int)to, 1, MPI_COMM_WORLD, &requests[count++]);
    if (what == LINKS || what == ALL || from == 0)
      MPI_Isend(NULL, 0, MPI_BYTE, (int)from, 1, MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static double run(enum what what, size_t bytes, int batches, enum way way) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < batches; ++i) batch(what, bytes, way);
  must(isthmus_barrier(space, NULL)); /* who has ended goes on for the others */
  const double own = 1e6 * (MPI_Wtime() - begin) / (batches * UNDER_WAY);
  double slowest = 0;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char** argv) {
  static const size_t sizes[] = {8, 4096, 65536, LARGEST};
  isthmus_team* team;
  MPI_Init(&argc, &argv);
  if (argc != 2) return 2;
  must(isthmus_join_mpi(MPI_COMM_WORLD, &team));
  rank = isthmus_rank(team), ranks = isthmus_ranks(team);
  const isthmus_space_options options = {
      .size = sizeof options, .symmetric = ((uint64_t)ranks + 1) * UNDER_WAY * LARGEST, .local = 1 << 20};
  must(isthmus_space_make(team, &options, &space));
  must(isthmus_allocate_all(space, (uint64_t)ranks * UNDER_WAY * LARGEST, &place));
  landing = malloc((size_t)UNDER_WAY * LARGEST);
  if (!landing) return 2;
  memset(mine, 1, sizeof mine);
  for (int what = 0; what < KINDS; ++what)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      const int batches = sizes[i] >= 65536 ? 2 : 20;
      double best[WAYS] = {1e30, 1e30, 1e30};
      for (int turn = 0; turn <= atoi(argv[1]); ++turn)
        for (int way = 0; way < WAYS; ++way) {
          const double one = run((enum what)what, sizes[i], batches, (enum way)way);
          if (turn > 0 && one < best[way]) best[way] = one;
        }
      if (rank == 0) printf("%s,%zu,%.3f,%.3f,%.3f\n", names[what], sizes[i], best[OURS], best[THEIRS], best[ANSWERED]);
    }
  fflush(stdout);
  must(isthmus_space_leave(space));
  isthmus_leave(team);
  MPI_Finalize();
  return 0;
}
