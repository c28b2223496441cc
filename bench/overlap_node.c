/* How much of a nonblocking collective of two ranks on a node is hidden behind a computation that takes as long as the
 * collective alone, cut by 0, 4 and 16 tests. Lines: who, what, bytes, tests, and in microseconds the median of pure
 * times, that of exposed times (of both together less that of the computation) and its interval of 95 %; and what the
 * processor does itself: `work`, what, bytes, microseconds. Who takes part and how it is started: contest.h. */
#include <math.h>

#include "contest.h"

enum { CUTS = 3 };
static const int cuts[CUTS] = {0, 4, 16};
static volatile double sink;

static void compute(long turns) {
  double x = 1;
  for (long i = 0; i < turns; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

/* Microseconds of so many calls, one by one. */
static double timed(const Contestant* c, Item* item, int calls, long loop, int tests) {
  meet();
  const double begin = now();
  for (int i = 0; i < calls; ++i) {
    int done = c == NULL;
    if (c && c->run) done = c->run(item, i % buffers);
    else if (c) c->begin(item, i % buffers);
    for (int t = 0; t < tests; ++t) {
      compute(loop / (tests + 1));
      if (!done) done = c->test(item);
    }
    compute(loop / (tests + 1));
    if (!done) c->end(item);
  }
  meet();
  return (now() - begin) / calls;
}

typedef struct {
  double pure[most_batches], exposed[CUTS][most_batches];
} Times;

static void take_times(const Contestant* c, Item* item, Times* times, int batch) {
  real_time(1);
  timed(c, item, buffers, 0, 0);
  const double least = timed(c, item, buffers, 0, 0);
  const int calls = (int)agree(least > 1000 ? 1 : least < 3 ? 300 : (long)(1000 / least));
  const double pure = times->pure[batch] = timed(c, item, calls, 0, 0);
  if (c->begin) {
    const long many = 200000;
    const double turn = timed(NULL, item, 1, many, 0) / many;
    const long loop = agree((long)(pure / turn));
    for (int k = 0; k < CUTS; ++k) {
      const double alone = timed(NULL, item, calls, loop, cuts[k]);
      times->exposed[k][batch] = timed(c, item, calls, loop, cuts[k]) - alone;
    }
  }
  real_time(0);
  usleep(3000);
}

static void compare(What what, int doubles) {
  static Times times[most_contestants];
  int can[most_contestants];
  const int bytes = 8 * doubles;
  Item item;
  take_turn();
  make(&item, what, doubles);
  try_all(&item, can);
  end_turn();
  for (int batch = 0; batch < batches; ++batch) {
    take_turn();
    for (int k = 0; k < taking_part; ++k) {
      const int c = (k + batch) % taking_part;
      if (!can[c] || (parts[c]->run && parts[c]->run != work)) continue;
      MPI_Barrier(MPI_COMM_WORLD);
      take_times(parts[c], &item, &times[c], batch);
    }
    end_turn();
  }
  /* By order statistics. */
  const int reach = (int)ceil(0.98 * sqrt(batches)), middle = batches / 2;
  const int low = middle > reach ? middle - reach : 0, high = middle + reach < batches ? middle + reach : batches - 1;
  for (int c = 0; c < taking_part && rank == 0; ++c) {
    if (!can[c] || (parts[c]->run && parts[c]->run != work)) continue;
    qsort(times[c].pure, (size_t)batches, sizeof(double), by_value);
    if (parts[c]->run) printf("work %s %d %.3f\n", names[what], bytes, times[c].pure[middle]);
    for (int k = 0; k < CUTS && parts[c]->begin; ++k) {
      double* const e = times[c].exposed[k];
      qsort(e, (size_t)batches, sizeof *e, by_value);
      printf("%s %s %d %d %.3f %.3f %.3f %.3f\n", name_of(parts[c]), names[what], bytes, cuts[k], times[c].pure[middle],
             e[middle], e[low], e[high]);
    }
  }
  unmake(&item);
}

int main(int argc, char** argv) {
  begin_contest(argc, argv);
  const What whats[] = {BCAST, ALLREDUCE, ALLTOALL, NEIGHBORS};
  const int sizes[] = {128, 2048, 8192, 32768, 131072};
  for (size_t w = 0; w < sizeof whats / sizeof *whats; ++w)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) compare(whats[w], sizes[s]);
  end_contest();
  return 0;
}
