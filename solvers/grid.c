#include "grid.h"

#include <stdlib.h>

long long grid_begin(const struct grid* grid, int axis, int box) {
  const long long count = grid->boxes[axis];
  return (box * grid->points[axis] + count - 1) / count;
}

static long long extent(const struct grid* grid, int axis, int box) {
  return grid_begin(grid, axis, box + 1) - grid_begin(grid, axis, box);
}

void grid_number(struct grid* grid) {
  const int count = grid->boxes[0] * grid->boxes[1] * grid->boxes[2];
  grid->first = calloc((size_t)count + 1, sizeof *grid->first);
  if (!grid->first) abort();
  for (int b = 0; b < count; ++b) {
    const int z = b % grid->boxes[2], y = b / grid->boxes[2] % grid->boxes[1], x = b / grid->boxes[2] / grid->boxes[1];
    grid->first[b + 1] = grid->first[b] + extent(grid, 0, x) * extent(grid, 1, y) * extent(grid, 2, z);
  }
}

long long grid_point(const struct grid* grid, const long long at[3]) {
  int box = 0;
  long long within = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int b = (int)(at[axis] * grid->boxes[axis] / grid->points[axis]);
    within = within * extent(grid, axis, b) + at[axis] - grid_begin(grid, axis, b);
    box = box * grid->boxes[axis] + b;
  }
  return grid->first[box] + within;
}
