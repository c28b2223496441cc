/* One clock for all members of a team: that of its first member. */
#ifndef ISTHMUS_GLOBAL_CLOCK_H
#define ISTHMUS_GLOBAL_CLOCK_H

#include "team.h"

/* How far the clock of the team is ahead of this process's at time `reference`, and by how much more each second. */
typedef struct {
  double ahead, drift, reference;
} Offset;

/* By all members: compares clocks, hosts in a binomial tree, so that P hosts take log2 P steps. Processes that read the
 * same clock are not compared, unless the plan says so. */
Offset global_clock(const Team* team);

static inline double ahead(const Offset* offset, double time) {
  return offset->ahead + offset->drift * (time - offset->reference);
}

extern bool measured_clocks; /* as the plan says */
extern int* boot_of;         /* number of the clock that each rank reads: of the running kernel */

#endif
