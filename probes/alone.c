/* What one rank measures by itself: the clock, and the noise of its core. */
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

const Code code_clock = {nothing, clock_readings, false};
const Code code_noise = {nothing, noise, false};
