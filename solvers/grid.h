/* Points of a grid, cut into boxes, a box for each rank. */
#ifndef ISTHMUS_GRID_H
#define ISTHMUS_GRID_H

struct grid {
  long long points[3]; /* along x, y, z; numbers run through z first */
  int boxes[3];
  long long* first; /* boxes + 1: the number of the first point of each box */
};

/* Fills `first`; points and boxes are given. */
void grid_number(struct grid* grid);

/* Where box b of an axis begins; it ends where the next one begins. */
long long grid_begin(const struct grid* grid, int axis, int box);

/* The number of a point. */
long long grid_point(const struct grid* grid, const long long at[3]);

#endif
