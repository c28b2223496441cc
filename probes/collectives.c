/* Times of collectives: all ranks begin at agreed times of one clock, as a barrier lets its ranks go at different times
 * and favours some algorithms. Starts that were late are left out. Where no start is in time, or ranks share cores,
 * ranks begin behind a barrier, and the time is that of the slowest rank.
 *
 * Nonblocking ones are done twice: alone ("pure"), and while each rank computes for as long as that took, in pieces
 * with MPI_Test between. Exposed is what the whole takes longer than computing alone. */
#include "operations.h"
#include "starts.h"

static int blocking(const Item* item, const Team* team, int count, double* values) {
  Operation operation;
  (void)operation_make(&operation, item_text(item, "name"), (int)item_integer(item, "bytes"), team);
  const Offset offset = global_clock(team);
  const Start start = agree(item, team, &offset);
  double *end = columns(count), *begin = end + count, *early = begin + count;
  for (int i = 0; i < count; i++) {
    double begun;
    const double target = wait_for(&start, i, &offset, team, &begun);
    operation_do(&operation, NULL);
    end[i] = now() - clock_cost() - target;
    /* Behind a barrier nobody knows the agreed time: starts are compared by the clock of all. */
    begin[i] = early[i] = start.window > 0 ? begun - target : begun + ahead(&offset, begun) - start.first;
  }
  gather(team, end, begin, early, count);
  if (team->me != 0) return 0;
  int taken = 0;
  for (int i = 0; i < count; i++) {
    if (!in_time(&start, begin[i])) continue;
    values[2 * taken] = end[i] > 0 ? end[i] : 0;
    values[2 * taken++ + 1] = begin[i] - early[i];
  }
  learn(item, &start, taken, count);
  return taken;
}

/* Repetitions behind barriers before the first that counts. */
enum { WARM = 20 };

/* As OSU's and Intel's benchmarks have it: behind a barrier, by MPI_Wtime, whose reading is part of it; the mean of the
 * ranks, and how far they are apart. */
static int behind_barriers(const Item* item, const Team* team, int count, double* values) {
  Operation operation;
  (void)operation_make(&operation, item_text(item, "name"), (int)item_integer(item, "bytes"), team);
  double *sum = columns(count), *longest = sum + count, *shortest = longest + count;
  for (int i = -WARM; i < count; i++) {
    MPI_Barrier(team->comm);
    const double begin = MPI_Wtime();
    operation_do(&operation, NULL);
    const double took = MPI_Wtime() - begin;
    if (i >= 0) sum[i] = longest[i] = shortest[i] = took;
  }
  MPI_Reduce(team->me == 0 ? MPI_IN_PLACE : sum, sum, count, MPI_DOUBLE, MPI_SUM, 0, team->comm);
  greatest(team, longest, count);
  MPI_Reduce(team->me == 0 ? MPI_IN_PLACE : shortest, shortest, count, MPI_DOUBLE, MPI_MIN, 0, team->comm);
  for (int i = 0; i < count && team->me == 0; i++) {
    values[2 * i] = sum[i] / team->size;
    values[2 * i + 1] = longest[i] - shortest[i];
  }
  return team->me ? 0 : count;
}

/* Computes in tests + 1 pieces; between them looks after the request until it is done, as calls beyond that are no part
 * of the operation. Returns the seconds within MPI_Test. */
static double compute(double seconds, int tests, MPI_Request* request) {
  const long units = (long)(seconds / work_unit() / (tests + 1)) + 1;
  double within = 0;
  int done = request == NULL;
  for (int k = 0; k <= tests; k++) {
    (void)work(units);
    if (k == tests || done) continue;
    const double begin = now();
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    within += elapsed(begin);
  }
  return within;
}

static int nonblocking(const Item* item, const Team* team, int count, double* values) {
  Operation operation;
  (void)operation_make(&operation, item_text(item, "name"), (int)item_integer(item, "bytes"), team);
  const int calls = (int)item_integer(item, "tests");
  const Offset offset = global_clock(team);
  const Start start = agree(item, team, &offset);
  double *total = columns(count), *pure = total + count, *cpu = pure + count, *begin = cpu + count;
  double *early = begin + count, *alone = early + count;
  for (int i = 0; i < count; i++) {
    MPI_Request request;
    double begun, target = wait_for(&start, 2 * i, &offset, team, &begun);
    double lateness = begun - target;
    operation_do(&operation, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pure[i] = elapsed(start.window > 0 ? target : begun);
    /* Beside the pure one, so that both see the processor in the same state. */
    const double computing = now();
    (void)compute(start.compute, calls, NULL);
    alone[i] = elapsed(computing);
    target = wait_for(&start, 2 * i + 1, &offset, team, &begun);
    lateness = begun - target > lateness ? begun - target : lateness;
    operation_do(&operation, &request);
    cpu[i] = elapsed(begun);
    cpu[i] += compute(start.compute, calls, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    total[i] = elapsed(start.window > 0 ? target : begun);
    begin[i] = early[i] = lateness;
  }
  greatest(team, pure, count);
  greatest(team, alone, count);
  gather(team, total, begin, early, count);
  MPI_Reduce(team->me == 0 ? MPI_IN_PLACE : cpu, cpu, count, MPI_DOUBLE, MPI_SUM, 0, team->comm);
  if (team->me != 0) return 0;
  int taken = 0;
  for (int i = 0; i < count; i++) {
    if (!in_time(&start, begin[i])) continue;
    double* row = &values[4 * taken++];
    row[0] = total[i];
    row[1] = cpu[i] / team->size;
    row[2] = pure[i];
    row[3] = total[i] > alone[i] ? total[i] - alone[i] : 0;
  }
  learn(item, &start, taken, count);
  return taken;
}

/* The window is found from runs behind barriers, what is computed beside a nonblocking one from the time that it takes.
 */
static const char* prepare(Item* item, const Team* team) {
  Operation operation;
  const char* reason = operation_make(&operation, item_text(item, "name"), (int)item_integer(item, "bytes"), team);
  if (reason) return reason;
  const bool blocks = item_integer(item, "blocking") != 0;
  enum { TRIES = 5 };
  double took[TRIES];
  for (int i = 0; i < TRIES; i++) {
    MPI_Request request;
    MPI_Barrier(team->comm);
    const double begin = now();
    operation_do(&operation, blocks ? NULL : &request);
    if (!blocks) MPI_Wait(&request, MPI_STATUS_IGNORE);
    took[i] = elapsed(begin);
  }
  greatest(team, took, TRIES);
  if (team->me != 0) return NULL;
  double least = took[1], most = took[1];
  for (int i = 2; i < TRIES; i++) {
    least = took[i] < least ? took[i] : least;
    most = took[i] > most ? took[i] : most;
  }
  /* One that was held up must not make all wait. */
  if (most > 10 * least) most = 10 * least;
  Known* known = known_of(item);
  known->compute = item_real(item, "compute") > 0 ? item_real(item, "compute") : least;
  known->window = 1.5 * most + 2e-5 + (blocks ? 0 : 2.5 * known->compute);
  return NULL;
}

static int collective(const Item* item, const Team* team, int count, double* values) {
  const bool blocks = item_integer(item, "blocking") != 0;
  if (blocks && item_is(item, "start", "barrier")) return behind_barriers(item, team, count, values);
  return blocks ? blocking(item, team, count, values) : nonblocking(item, team, count, values);
}

const Code code_collective = {prepare, collective, true};
