/* The litmus programs for as many ranks as there are, so many times each, or as often as there is time
 * for: litmus TIMES SECONDS [JOB RANK RANKS]. Without a job
 * the ranks are those of MPI, which has to be given when this is compiled (WITH_MPI). */
#include "litmus.h"

#ifdef WITH_MPI
#include <isthmus/isthmus_mpi.h>
#endif

static void must(int holds, const char* words) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", words, isthmus_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  const uint64_t times = strtoull(argv[1], NULL, 10);
  const double seconds = atof(argv[2]);
  isthmus_space_options options = {.size = sizeof options, .symmetric = 4 << 20, .local = 1 << 20};
  isthmus_team* team = NULL;
  isthmus_space* space;
  litmus* const l = malloc(sizeof *l);
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  must(isthmus_join_mpi(MPI_COMM_WORLD, &team) == ISTHMUS_DONE, "join");
#else
  isthmus_job job = {
      .size = sizeof job, .name = argv[3], .rank = (uint32_t)atoi(argv[4]), .ranks = (uint32_t)atoi(argv[5])};
  must(argc == 6 && isthmus_join(&job, &team) == ISTHMUS_DONE, "join");
#endif
  must(isthmus_space_make(team, &options, &space) == ISTHMUS_DONE && litmus_open(l, space), "open");
  for (int i = 0; i < LITMUS_TESTS; ++i) {
    uint64_t forbidden, weak;
    if (litmus_tests[i].ranks != l->ranks) continue;
    const int done = litmus_run(l, &litmus_tests[i], times, seconds, &forbidden, &weak);
    must(done, l->wrong ? l->wrong : litmus_tests[i].name);
    if (l->rank == 0)
      printf("%s %llu %llu\n", litmus_tests[i].name, (unsigned long long)forbidden, (unsigned long long)weak);
  }
  must(isthmus_space_leave(space) == ISTHMUS_DONE, "leave");
  must(isthmus_leave(team) == ISTHMUS_DONE, "leave");
  free(l);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
