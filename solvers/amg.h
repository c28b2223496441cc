/* Levels of a hierarchy of hypre, some of them gathered. */
#ifndef ISTHMUS_AMG_LEVELS_H
#define ISTHMUS_AMG_LEVELS_H

#include <_hypre_parcsr_ls.h>

#include "halo.h"

/* What a level needs of hypre's setup; of a gathered level it is ours. */
struct matrices {
  hypre_ParCSRMatrix *a, *p, *r; /* r NULL: the transpose of p */
  HYPRE_Int* marks;              /* 1: row of the next level; NULL on the coarsest */
  HYPRE_Real *l1, *scale;        /* norms of rows, scaling of Chebyshev; NULL where smoothers have none */
  HYPRE_IJMatrix held[3];        /* of gathered ones */
};

struct level {
  struct matrices m;
  struct group* group; /* who shares the level; NULL: this rank is idle */
  struct halo *a, *p, *r;
  hypre_ParCSRMatrix* own;            /* rows and columns of this rank, as hypre's kernels of smoothers take it */
  hypre_ParVector *f, *u, *g, *v, *z; /* right-hand side, solution, and three for smoothers */
  hypre_Vector *c, *d;                /* two more of Chebyshev */
  struct gathering* gathering;        /* not NULL: vectors of the level above come from more ranks */
};

/* From many ranks to fewer, on one level. */
struct gathering {
  struct group* members; /* this rank's root and those who give their rows to it; NULL: this rank has none */
  struct assembly *gather, *scatter;
  hypre_Vector *f, *u; /* before the gathering */
};

/* Smoothers, and exact solution on the coarsest level. */
struct dense {
  struct assembly* all;
  HYPRE_Int rows, first;
  double* lu;
  HYPRE_Int* pivots;
  HYPRE_Real* x;
};

/* NULL, or why levels of a solver cannot be smoothed here. */
const char* smoother_refused(const hypre_ParAMGData* amg);
/* `way`: 1 down, 2 up, 3 coarsest, 0 the only level. */
void smooth(const hypre_ParAMGData* amg, struct level* level, int number, int way, struct dense* dense);
struct dense* dense_make(struct level* level);
void dense_free(struct dense* dense);

/* Which group of `ranks` active ranks, of which `count` roots remain, this one is in: -1 where it has no rows. All
 * ranks of the group call it. */
int root_of(struct group* group, HYPRE_Int rows, int count, int* is_root);
/* Gives the matrices of a level to the root (rank 0 of the members), which shares them with the others in `roots`. */
struct matrices matrices_gathered(const struct matrices* from, struct group* members, struct group* roots,
                                  int recompute, int order);
void matrices_free(struct matrices* matrices);

#endif
