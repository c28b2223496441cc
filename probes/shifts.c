/* Contention: half round trips of listed pairs, all at once or one pair after another (Bhatele and Kale, "Quantifying
 * network contention on large parallel machines", 2009). Values are means over pairs. */
#include <stdlib.h>

#include "team.h"

static char* out;
static char* in;

static int shift(const Item* item, const Team* team, int count, double* values);

static const char* prepare_shift(Item* item, const Team* team) {
  const size_t bytes = (size_t)item_integer(item, "bytes");
  out = buffer_out(bytes);
  in = buffer_in(bytes);
  if (!out || !in) return "there is not enough memory";
  find_trips(item, team, shift);
  return NULL;
}

static double trips(const Item* item, int peer, bool first, int bytes) {
  const double begin = now();
  for (int k = 0; k < item->trips; k++) {
    if (first) MPI_Send(out, bytes, MPI_BYTE, peer, TIMED, tests);
    MPI_Recv(in, bytes, MPI_BYTE, peer, TIMED, tests, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(out, bytes, MPI_BYTE, peer, TIMED, tests);
  }
  return first ? elapsed(begin) / (2 * item->trips) : 0;
}

static int shift(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes");
  const bool alone = item_integer(item, "alone") != 0;
  const char* reason;
  int pairs;
  int* pair = pairs_of(item, &pairs, &reason);
  out = buffer_out((size_t)bytes);
  in = buffer_in((size_t)bytes);
  for (int i = 0; i < count; i++) {
    values[i] = 0;
    MPI_Barrier(team->comm);
    for (int p = 0; p < pairs; p++) {
      for (int k = 0; k < 2; k++) {
        if (pair[2 * p + k] == world_rank) values[i] += trips(item, pair[2 * p + 1 - k], k == 0, bytes) / pairs;
      }
      if (alone) MPI_Barrier(team->comm);
    }
  }
  free(pair);
  MPI_Reduce(team->me == 0 ? MPI_IN_PLACE : values, values, count, MPI_DOUBLE, MPI_SUM, 0, team->comm);
  return team->me ? 0 : count;
}

const Code code_shift = {prepare_shift, shift, true};
