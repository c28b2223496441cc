/* Every rank contributes a vector; all get the sum: an allreduce by the ring algorithm, without MPI. */
#include <isthmus/isthmus.h>
#include <stdio.h>

int main(void) {
  static double mine[100000], all[100000];
  const isthmus_call sum = {.size = sizeof sum,
                            .kind = ISTHMUS_ALLREDUCE,
                            .element = ISTHMUS_F64,
                            .operation = ISTHMUS_SUM,
                            .count = 100000,
                            .algorithm = "ring"};
  isthmus_team* team;
  if (isthmus_join(NULL, &team) != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
  for (int i = 0; i < 100000; ++i) mine[i] = i + isthmus_rank(team);
  isthmus_operation* operation;
  int status = isthmus_begin(team, &sum, mine, all, &operation);
  if (status == ISTHMUS_IN_PROGRESS) status = isthmus_wait(operation); /* or compute, and isthmus_test() now and then */
  if (status != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
  if (isthmus_rank(team) == 0) printf("%u ranks, last element: %.0f\n", isthmus_ranks(team), all[99999]);
  return isthmus_leave(team);
}
