#include "route.h"

/* The counters are those of hypre_BoomerAMGCycle. */
struct route route_begin(const hypre_ParAMGData* hypre, int levels, int* left) {
  const int last = levels - 1;
  struct route out = {.way = last ? 1 : 0,
                      .last = last,
                      .shape = (int)hypre_ParAMGDataCycleType(hypre),
                      .full = hypre_ParAMGDataFCycle(hypre) != 0,
                      .next_full = last - 1,
                      .left = left};
  for (int k = 0; k <= last; ++k) left[k] = out.full || !k ? 1 : out.shape;
  return out;
}

int route_next(struct route* route) {
  int* const left = route->left;
  if (--left[route->number] >= 0 && route->number < route->last) {
    const int below = ++route->number;
    if (left[below] < route->shape) left[below] = route->shape;
    route->way = below == route->last ? 3 : 1;
    return 1;
  }
  if (!route->number) return 0;
  const int above = --route->number;
  route->way = 2;
  if (route->full && route->next_full == above) {
    if (left[above] < 1) left[above] = 1;
    --route->next_full;
  }
  return -1;
}
