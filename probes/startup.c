/* Starting and ending: how long the launcher takes until main() runs, MPI_Init and MPI_Finalize, and the memory of a
 * rank before and after, and once it has heard from all others. One launch gives one repetition. */
#include <stdlib.h>
#include <time.h>

#include "team.h"

static double entered, initialised, before, after;
static double found[6];
static const char* id;

static double date(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double resident(void) {
  Facts facts;
  facts_read(&facts);
  return facts.resident;
}

void startup_begin(void) {
  entered = date();
  before = resident();
}

void startup_initialised(void) {
  initialised = date();
  after = resident();
}

static const char* prepare(Item* item, const Team* team) {
  (void)item;
  (void)team;
  return getenv("ISTHMUS_LAUNCHED") ? NULL : "the time of the launch is not known (ISTHMUS_LAUNCHED)";
}

/* Times are those of the last rank, memory is the mean of all. */
static int startup(const Item* item, const Team* team, int count, double* values) {
  (void)count;
  (void)values;
  for (int k = 1; k < team->size; k++) {
    const int to = (team->me + k) % team->size, from = (team->me + team->size - k) % team->size;
    char byte = 0, other;
    MPI_Sendrecv(&byte, 1, MPI_BYTE, to, TIMED, &other, 1, MPI_BYTE, from, TIMED, team->comm, MPI_STATUS_IGNORE);
  }
  const double contacted = resident(), launched = atof(getenv("ISTHMUS_LAUNCHED"));
  double times[2] = {entered - launched, initialised - entered}, memory[3] = {before, after, contacted};
  MPI_Reduce(times, found, 2, MPI_DOUBLE, MPI_MAX, 0, team->comm);
  MPI_Reduce(memory, &found[3], 3, MPI_DOUBLE, MPI_SUM, 0, team->comm);
  for (int i = 3; i < 6; i++) found[i] /= team->size;
  id = item->id;
  return 0;
}

void startup_finalize(void) {
  const double begin = now();
  MPI_Finalize();
  found[2] = elapsed(begin);
  if (id == NULL || world_rank != 0) return;
  journal_add("sample %s 0", id);
  for (int i = 0; i < 6; i++) journal_add(" %.9g", found[i]);
  journal_end_line();
  journal_add("done %s most", id);
  journal_end_line();
}

const Code code_startup = {prepare, startup, true};
