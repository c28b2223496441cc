/* Memory of a space that grows while the program runs: pgas_growth grow BYTES | end. Without MPI the ranks are those of
 * `isthmus run`; WITH_MPI those of MPI. */
#include <inttypes.h>
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_MPI
#include <isthmus/isthmus_mpi.h>
#endif

static uint32_t rank, ranks;

static void must(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %" PRIu32 ": %s: %s\n", rank, what, isthmus_last_error());
  exit(1);
}

enum { SMALLER = 8 << 20 };

/* Blocks double, but for the last. */
static uint64_t next_size(uint64_t bytes, uint64_t last) { return bytes * 2 <= SMALLER ? bytes * 2 : last; }

/* Each block keeps what is in it when the next ones come; the last has so many bytes. */
static void grow(isthmus_space* space, uint64_t last) {
  enum { MOST = 48 };
  uint64_t places[MOST], count = 0, all;
  const uint32_t next = (rank + 1) % ranks;
  must(isthmus_allocate_all(space, MOST * sizeof *places, &all) == ISTHMUS_DONE, "places");
  for (uint64_t bytes = 4096; count < MOST; bytes = next_size(bytes, last)) {
    uint64_t* const place = &places[count++];
    /* The last is large: one rank has it. */
    const int mine = bytes < last || rank == 0;
    if (count % 2 == 0 && bytes < last) must(isthmus_allocate_all(space, bytes, place) == ISTHMUS_DONE, "symmetric");
    else if (mine) must(isthmus_allocate(space, bytes, place) == ISTHMUS_DONE, "local");
    if (bytes == last) break;
  }
  must(isthmus_put(space, rank, all, places, sizeof places) == ISTHMUS_DONE, "tell");
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  uint64_t its[MOST];
  must(isthmus_get(space, its, next, all, sizeof its) == ISTHMUS_DONE, "ask");
  uint64_t bytes = 4096;
  for (uint64_t i = 0; i < count; ++i, bytes = next_size(bytes, last)) {
    const uint64_t value = 1000 * rank + i;
    if (bytes == last && next != 0) continue;
    must(isthmus_put(space, next, its[i] + bytes - 8, &value, 8) == ISTHMUS_DONE, "put at the end");
    must(isthmus_put(space, next, its[i], &value, 8) == ISTHMUS_DONE, "put at the beginning");
  }
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  bytes = 4096;
  for (uint64_t i = 0; i < count; ++i, bytes = next_size(bytes, last)) {
    const uint64_t value = 1000 * ((rank + ranks - 1) % ranks) + i;
    uint64_t there[2] = {0, 0};
    if (bytes == last && rank != 0) continue;
    must(isthmus_get(space, &there[0], rank, places[i], 8) == ISTHMUS_DONE, "get");
    must(isthmus_get(space, &there[1], rank, places[i] + bytes - 8, 8) == ISTHMUS_DONE, "get");
    must(there[0] == value && there[1] == value, "a block has lost what was put there");
  }
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  /* What was given back serves again. */
  if (rank == 0) {
    uint64_t again;
    must(isthmus_release(space, 0, places[count - 1]) == ISTHMUS_DONE, "release");
    must(isthmus_allocate(space, last, &again) == ISTHMUS_DONE, "again");
    must(again == places[count - 1], "another place");
  }
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  if (rank == 0) printf("grown to %" PRIu64 " bytes\n", last);
}

/* Until there is no more: each kind says why, and the space goes on. */
static void end(isthmus_space* space) {
  uint64_t place, first, value = 7 + rank, found = 0;
  must(isthmus_allocate_all(space, 64, &first) == ISTHMUS_DONE, "first");
  int status = ISTHMUS_DONE;
  while (status == ISTHMUS_DONE) status = isthmus_allocate_all(space, 5 << 20, &place);
  if (rank == 0) printf("%d %s\n", status, isthmus_last_error());
  do status = rank == 0 ? isthmus_allocate(space, 5 << 20, &place) : ISTHMUS_MEMORY;
  while (status == ISTHMUS_DONE);
  if (rank == 0) printf("%d %s\n", status, isthmus_last_error());
  must(isthmus_put(space, (rank + 1) % ranks, first, &value, sizeof value) == ISTHMUS_DONE, "put");
  must(isthmus_barrier(space, NULL) == ISTHMUS_DONE, "barrier");
  must(isthmus_get(space, &found, rank, first, sizeof found) == ISTHMUS_DONE, "get");
  must(found == 7 + (rank + ranks - 1) % ranks, "what was put");
  if (rank == 0) printf("goes on\n");
}

int main(int argc, char** argv) {
  isthmus_team* team;
  isthmus_space* space;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  must(isthmus_join_mpi(MPI_COMM_WORLD, &team) == ISTHMUS_DONE, "join");
#else
  must(isthmus_join(NULL, &team) == ISTHMUS_DONE, "join");
#endif
  rank = isthmus_rank(team), ranks = isthmus_ranks(team);
  must(isthmus_space_make(team, NULL, &space) == ISTHMUS_DONE, "space");
  if (argc == 3 && strcmp(argv[1], "grow") == 0) grow(space, strtoull(argv[2], NULL, 10));
  else end(space);
  must(isthmus_space_leave(space) == ISTHMUS_DONE, "leave");
  must(isthmus_leave(team) == ISTHMUS_DONE, "leave");
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
