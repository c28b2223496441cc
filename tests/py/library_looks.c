/* PROGRAM JOB RANK RANKS: says after how many looks in vain a rank that waits gives its processor to others, and
 * adds up a few times, as ranks that take turns have to end, too. */
#include <isthmus/isthmus.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const isthmus_job job = {
      .size = sizeof job, .name = argv[1], .rank = (uint32_t)atoi(argv[2]), .ranks = (uint32_t)atoi(argv[3])};
  isthmus_team* team;
  double one = 1, sum = 0;
  (void)argc;
  if (isthmus_join(&job, &team) < 0) return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
  for (int i = 0; i < 100; ++i) {
    const isthmus_call call = {.size = sizeof call, .kind = ISTHMUS_ALLREDUCE, .element = ISTHMUS_F64, .count = 1};
    if (isthmus_run(team, &call, &one, &sum) < 0) return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
    if (sum != job.ranks) return fprintf(stderr, "%g\n", sum), 1;
  }
  printf("%u\n", isthmus_looks(team));
  isthmus_leave(team);
  return 0;
}
