/* Matrices of discretised equations, row by row. */
#ifndef ISTHMUS_PROBLEMS_H
#define ISTHMUS_PROBLEMS_H

#include "grid.h"

enum kind { LAPLACE7, LAPLACE27, ANISOTROPIC, JUMPS, ROTATED, ELASTICITY };

struct problem {
  enum kind kind;
  double epsilon; /* conductivity along the weak direction, relative to the others */
  double angle;   /* degrees, of the strong direction of ROTATED from the x axis */
  double jump;    /* how many times better the one material of JUMPS conducts than the other */
  double element[24][24];
};

enum { MOST = 27 * 3 }; /* nonzeros of a row */

/* Returns the kind of a name, or -1. */
int problem_kind(const char* name);

/* Unknowns of a point. */
int problem_unknowns(const struct problem* problem);

/* Computes what all rows share. */
void problem_prepare(struct problem* problem);

/* The row of an unknown of a point: number of nonzeros, their columns and values. */
int problem_row(const struct problem* problem, const struct grid* grid, const long long at[3], int unknown,
                long long* columns, double* values);

#endif
