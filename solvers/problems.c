#include "problems.h"

#include <math.h>
#include <string.h>

int problem_kind(const char* name) {
  static const char* const names[] = {"laplace7", "laplace27", "anisotropic", "jumps", "rotated", "elasticity"};
  for (int i = 0; i < 6; ++i)
    if (!strcmp(name, names[i])) return i;
  return -1;
}

int problem_unknowns(const struct problem* problem) { return problem->kind == ELASTICITY ? 3 : 1; }

/* Stiffness of a cube of side 1 with trilinear shape functions, Young's modulus 1 and Poisson's ratio 0.3, by Gauss
 * points; corner c lies at its bits (4: x, 2: y, 1: z). */
static void elastic_element(double element[24][24]) {
  const double nu = 0.3, lame = nu / ((1 + nu) * (1 - 2 * nu)), shear = 0.5 / (1 + nu), g = 0.5 / sqrt(3.0);
  memset(element, 0, 24 * sizeof *element);
  for (int q = 0; q < 8; ++q) {
    const double at[3] = {0.5 + (q & 4 ? g : -g), 0.5 + (q & 2 ? g : -g), 0.5 + (q & 1 ? g : -g)};
    double slope[8][3];
    for (int c = 0; c < 8; ++c)
      for (int d = 0; d < 3; ++d) {
        slope[c][d] = 1;
        for (int axis = 0; axis < 3; ++axis) {
          const int far = c >> (2 - axis) & 1;
          slope[c][d] *= axis == d ? (far ? 1 : -1) : (far ? at[axis] : 1 - at[axis]);
        }
      }
    for (int c = 0; c < 8; ++c)
      for (int e = 0; e < 8; ++e) {
        const double inner = slope[c][0] * slope[e][0] + slope[c][1] * slope[e][1] + slope[c][2] * slope[e][2];
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            element[3 * c + i][3 * e + j] +=
                0.125 * (lame * slope[c][i] * slope[e][j] + shear * (slope[c][j] * slope[e][i] + (i == j ? inner : 0)));
      }
  }
}

/* Stiffness of a square of side 1 with bilinear shape functions and a conductivity that is 1 along the angle. */
static void rotated_element(double epsilon, double angle, double element[24][24]) {
  const double turn = angle * acos(-1.0) / 180, c = cos(turn), s = sin(turn), g = 0.5 / sqrt(3.0);
  const double xx = c * c + epsilon * s * s, yy = s * s + epsilon * c * c, xy = (1 - epsilon) * c * s;
  memset(element, 0, 24 * sizeof *element);
  for (int q = 0; q < 4; ++q) {
    const double x = 0.5 + (q & 2 ? g : -g), y = 0.5 + (q & 1 ? g : -g);
    double slope[4][2];
    for (int k = 0; k < 4; ++k) {
      slope[k][0] = (k & 2 ? 1 : -1) * (k & 1 ? y : 1 - y);
      slope[k][1] = (k & 1 ? 1 : -1) * (k & 2 ? x : 1 - x);
    }
    for (int k = 0; k < 4; ++k)
      for (int l = 0; l < 4; ++l)
        element[k][l] += 0.25 * (xx * slope[k][0] * slope[l][0] + yy * slope[k][1] * slope[l][1] +
                                 xy * (slope[k][0] * slope[l][1] + slope[k][1] * slope[l][0]));
  }
}

void problem_prepare(struct problem* problem) {
  if (problem->kind == ELASTICITY) elastic_element(problem->element);
  if (problem->kind == ROTATED) rotated_element(problem->epsilon, problem->angle, problem->element);
}

static int inside(const struct grid* grid, const long long at[3]) {
  for (int axis = 0; axis < 3; ++axis)
    if (at[axis] < 0 || at[axis] >= grid->points[axis]) return 0;
  return 1;
}

/* Conductivity at a point: cubes of two materials in turn, four along each axis. */
static double conductivity(const struct problem* problem, const struct grid* grid, const long long at[3]) {
  long long cubes = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const long long within = at[axis] < 0 ? 0 : at[axis] < grid->points[axis] ? at[axis] : grid->points[axis] - 1;
    cubes += within * 4 / grid->points[axis];
  }
  return cubes % 2 ? problem->jump : 1.0;
}

/* Of the connection from a point to a neighbour; 0: there is none. */
static double weight(const struct problem* problem, const struct grid* grid, const long long at[3], const int to[3]) {
  const int axes = (to[0] != 0) + (to[1] != 0) + (to[2] != 0);
  const long long there[3] = {at[0] + to[0], at[1] + to[1], at[2] + to[2]};
  switch (problem->kind) {
    case LAPLACE27: return -1;
    case LAPLACE7: return axes == 1 ? -1 : 0;
    case ANISOTROPIC: return axes != 1 ? 0 : to[2] ? -problem->epsilon : -1;
    case JUMPS: {
      if (axes != 1) return 0;
      const double a = conductivity(problem, grid, at), b = conductivity(problem, grid, there);
      return -2 * a * b / (a + b);
    }
    default: return 0;
  }
}

/* Sum of what the elements around a point, of which a neighbour is a corner too, contribute. Elements reach over the
 * boundary where points beyond it are held fast: all around for ROTATED, at x = -1 for ELASTICITY. */
static double assembled(const struct problem* problem, const struct grid* grid, const long long at[3], const int to[3],
                        int unknown, int other) {
  const int flat = problem->kind == ROTATED, corners = flat ? 4 : 8, width = flat ? 1 : 3, axes = flat ? 2 : 3;
  double sum = 0;
  for (int corner = 0; corner < corners; ++corner) {
    int theirs = 0, exists = 1;
    for (int axis = 0; axis < axes; ++axis) {
      const int bit = corner >> (axes - 1 - axis) & 1, end = bit + to[axis];
      const long long low = at[axis] - bit;
      exists &= end == 0 || end == 1;
      if (!flat) exists &= low + 1 < grid->points[axis] && (axis == 0 ? low >= -1 : low >= 0);
      theirs = 2 * theirs + end;
    }
    if (exists) sum += problem->element[width * corner + unknown][width * theirs + other];
  }
  return sum;
}

int problem_row(const struct problem* problem, const struct grid* grid, const long long at[3], int unknown,
                long long* columns, double* values) {
  const int unknowns = problem_unknowns(problem), finite = problem->kind == ROTATED || problem->kind == ELASTICITY;
  const int deep = problem->kind == ROTATED ? 0 : 1;
  int count = 0, own = -1;
  double diagonal = 0;
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y)
      for (int z = -deep; z <= deep; ++z) {
        const int to[3] = {x, y, z};
        const long long there[3] = {at[0] + x, at[1] + y, at[2] + z};
        const int here = !x && !y && !z;
        for (int other = 0; other < unknowns; ++other) {
          double value = 0;
          if (finite) {
            value = inside(grid, there) ? assembled(problem, grid, at, to, unknown, other) : 0;
          } else if (!here) {
            value = weight(problem, grid, at, to);
            diagonal -= value;
            if (!inside(grid, there)) value = 0;
          }
          const int is_own = here && other == unknown;
          if (fabs(value) < 1e-14 && !is_own) continue;
          if (is_own) own = count;
          columns[count] = unknowns * grid_point(grid, there) + other;
          values[count++] = value;
        }
      }
  if (!finite) values[own] = diagonal;
  return count;
}
