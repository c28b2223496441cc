/* The order in which a cycle of BoomerAMG comes to the levels. */
#ifndef ISTHMUS_ROUTE_H
#define ISTHMUS_ROUTE_H

#include <_hypre_parcsr_ls.h>

struct route {
  int number, way; /* the level, and why it is smoothed: 1 down, 2 up, 3 coarsest, 0 the only level */
  int last, shape, full, next_full;
  int* left; /* of each level: how often the cycle still goes down from it */
};

/* `left` has room for all levels. */
struct route route_begin(const hypre_ParAMGData* hypre, int levels, int* left);
/* After the level has been smoothed: 1 it goes on one level below, -1 one above, 0 the cycle has ended. */
int route_next(struct route* route);

#endif
