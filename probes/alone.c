/* What ranks measure without messages: the clock, the noise of a core; copies, and sums of floats by MPI. */
#include <string.h>

#include "team.h"

static const char* nothing(Item* item, const Team* team) {
  (void)item;
  (void)team;
  return NULL;
}

static int clock_readings(const Item* item, const Team* team, int count, double* values) {
  (void)item;
  (void)team;
  double begin = now();
  for (int i = 0; i < count; i++) {
    const double end = now();
    values[i] = end - begin;
    begin = end;
  }
  return count;
}

static int noise(const Item* item, const Team* team, int count, double* values) {
  (void)team;
  (void)count;
  return noise_batch(item, values);
}

static char *from, *to;

static const char* room(const Item* item) {
  const size_t bytes = (size_t)item_integer(item, "bytes");
  from = buffer_out(bytes);
  to = buffer_in(bytes);
  return from && to ? NULL : "there is not enough memory";
}

/* In pieces, as libraries copy: the C library writes large blocks past the caches. */
static void copy(size_t bytes) {
  enum { PIECE = 128 << 10 };
  for (size_t at = 0; at < bytes; at += PIECE) memcpy(to + at, from + at, bytes - at < PIECE ? bytes - at : PIECE);
  __asm__ volatile("" : : "r"(to) : "memory");
}

/* Both members at once, the time of the first. As in a collective, what is read has just come from the other one, which
 * has just read what is written: lines of the cache have to move. */
static int local(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), other = team->world[1 - team->me];
  const bool sums = item_is(item, "what", "reduce");
  (void)room(item);
  for (int i = 0; i < count; i++) {
    MPI_Sendrecv(to, bytes, MPI_BYTE, other, TIMED, from, bytes, MPI_BYTE, other, TIMED, tests, MPI_STATUS_IGNORE);
    meet(other);
    const double begin = now();
    if (sums) MPI_Reduce_local(from, to, bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM);
    else copy((size_t)bytes);
    values[i] = elapsed(begin);
  }
  return team->me ? 0 : count;
}

static const char* prepare_local(Item* item, const Team* team) {
  (void)team;
  const char* reason = room(item);
  if (reason) return reason;
  memset(from, 0, (size_t)item_integer(item, "bytes")); /* numbers that stay numbers */
  memset(to, 0, (size_t)item_integer(item, "bytes"));
  return NULL;
}

const Code code_local = {prepare_local, local, false};
const Code code_clock = {nothing, clock_readings, false};
const Code code_noise = {nothing, noise, false};
