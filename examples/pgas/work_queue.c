/* Ranks take the next piece of work from a counter of rank 0, and put what they find into its table. */
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>

enum { PIECES = 1000 };

static int run(isthmus_space* space, uint32_t rank) {
  const uint64_t one = 1;
  uint64_t counter, table, piece, sum = 0;
  int status = isthmus_allocate_all(space, sizeof(uint64_t), &counter);
  if (status == ISTHMUS_DONE) status = isthmus_allocate_all(space, PIECES * sizeof(uint64_t), &table);
  if (status == ISTHMUS_DONE) status = isthmus_set(space, rank, counter, 0, sizeof(uint64_t));
  if (status == ISTHMUS_DONE) status = isthmus_barrier(space, NULL);
  while (status == ISTHMUS_DONE) {
    status = isthmus_atomic(space, 0, counter, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, &piece);
    if (status != ISTHMUS_DONE || piece >= PIECES) break;
    const uint64_t found = piece * piece;
    status = isthmus_put(space, 0, table + piece * sizeof found, &found, sizeof found);
  }
  if (status == ISTHMUS_DONE) status = isthmus_barrier(space, NULL);
  if (status != ISTHMUS_DONE || rank != 0) return status;
  const uint64_t* const results = isthmus_cast(space, 0, table);
  for (int i = 0; i < PIECES; ++i) sum += results[i];
  printf("sum of %d squares: %llu\n", PIECES, (unsigned long long)sum);
  return status;
}

int main(void) {
  isthmus_team* team;
  isthmus_space* space;
  int status = isthmus_join(NULL, &team);
  if (status == ISTHMUS_DONE) status = isthmus_space_make(team, NULL, &space);
  if (status == ISTHMUS_DONE) status = run(space, isthmus_rank(team));
  if (status == ISTHMUS_DONE) status = isthmus_space_leave(space);
  if (status != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
  return isthmus_leave(team);
}
