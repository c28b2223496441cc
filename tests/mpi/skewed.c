/* Ranks that run ahead of each other, or fall behind, by up to TOGETHER calls: each takes the side of every call as
 * runtime/interpose/series.c says, and measures what it is told here. All of them must have taken the same sides.
 * `skewed SEED` */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose.h"

/* A rank that waits for a processor while the others do all calls would see no change. */
enum { CALLS = 40000, AHEAD = 300, PERIOD = 12000, TOGETHER = 2000 };
static unsigned state;

static unsigned any(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

void count_time(enum form form, enum collective kind, int size_class, enum turn_of who, float ns) {
  (void)form, (void)kind, (void)size_class, (void)who, (void)ns;
}

/* Times of the sides, by call: first theirs are shorter, then ours, and so on. */
static uint64_t takes(enum turn_of who, int call) {
  return 1000 + any(10) + ((who == OURS) == (call / PERIOD % 2 == 0) ? 500 : 0);
}

/* Calls of a class; `under_way` at most at once. Returns how often the side of those that are not timed changed. */
static int carry_out(struct communicator* c, int size_class, int under_way, char* sides) {
  struct series* s = series_of(c, ALLREDUCE, size_class);
  struct sample samples[AHEAD] = {{0}};
  enum turn_of before = OURS;
  int changes = 0;
  for (int call = 0; call < CALLS; ++call) {
    struct sample* sample = &samples[call % under_way];
    bool timed;
    sample_end(sample);
    const enum turn_of who = series_turn(s, &timed);
    sides[call] = (char)(who + 2 * timed);
    if (timed) sample_begin(sample, s, who, takes(who, call));
    else changes += who != before, before = who;
    if (call % TOGETHER == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (any(1000) == 0) usleep(any(400));
    else if (any(20) == 0) sched_yield();
  }
  for (int i = 0; i < under_way; ++i) sample_end(&samples[i]);
  return changes;
}

int main(int argc, char** argv) {
  static char sides[CALLS], least[CALLS], most[CALLS];
  int rank, ranks, changes[4], wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  state = (unsigned)atoi(argv[1]) + 1000u * (unsigned)rank;
  agreed_begin(MPI_COMM_WORLD);
  if (!agreed_can()) MPI_Abort(MPI_COMM_WORLD, 2);
  /* One at a time, some and many at once, more than are ever compared. */
  static const int under_way[4] = {1, 12, 40, AHEAD};
  for (int i = 0; i < 4; ++i) {
    struct communicator c = {.size = ranks, .key = 7};
    changes[i] = carry_out(&c, i, under_way[i], sides);
    MPI_Allreduce(sides, least, CALLS, MPI_CHAR, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(sides, most, CALLS, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    for (int call = 0; call < CALLS; ++call) wrong += least[call] != most[call];
  }
  if (rank == 0)
    printf("%d calls on different sides; changes: %d %d %d %d\n", wrong, changes[0], changes[1], changes[2],
           changes[3]);
  agreed_end();
  MPI_Finalize();
  return 0;
}
