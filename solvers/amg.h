/* Levels of a hierarchy of hypre, some of them gathered. */
#ifndef ISTHMUS_AMG_LEVELS_H
#define ISTHMUS_AMG_LEVELS_H

#include <_hypre_parcsr_ls.h>

#include "halo.h"
#include "isthmus_amg.h"

/* What a level needs of hypre's setup; of a gathered level it is ours. */
struct matrices {
  hypre_ParCSRMatrix *a, *p, *r; /* r NULL: the transpose of p */
  HYPRE_Int* marks;              /* 1: row of the next level; NULL on the coarsest */
  HYPRE_Real *l1, *scale;        /* norms of rows, scaling of Chebyshev; NULL where smoothers have none */
  HYPRE_IJMatrix held[3];        /* of gathered ones */
};

struct level {
  struct matrices m;
  const hypre_ParAMGData* hypre; /* whose setup made the level, and which of its levels it is */
  int number;
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

/* NULL, or why a hierarchy of so many levels cannot be smoothed here. */
const char* smoother_refused(const hypre_ParAMGData* amg, HYPRE_Int levels);
/* `way`: as of a route. */
void smooth(struct level* level, int way, struct dense* dense);
struct dense* dense_make(struct level* level);
void dense_free(struct dense* dense);

/* Which group of `ranks` active ranks, of which `count` roots remain, this one is in: -1 where it has no rows. All
 * ranks of the group call it. */
int root_of(struct group* group, HYPRE_Int rows, int count, int* is_root);
/* Gives the matrices of a level to the root (rank 0 of the members), which shares them with the others in `roots`. */
struct matrices matrices_gathered(const struct matrices* from, struct group* members, struct group* roots,
                                  int recompute, int order);
void matrices_free(struct matrices* matrices);
/* The same for one matrix and a number for each of its rows (NULL: none); `numbers` becomes the root's. */
HYPRE_IJMatrix matrix_gathered(hypre_ParCSRMatrix* matrix, struct group* members, struct group* roots,
                               HYPRE_Int** numbers);

enum { MOST_SWITCHES = 32, MOST_LEVELS = 64 };

struct amg {
  hypre_ParAMGData* hypre;
  int switches, at[MOST_SWITCHES], to[MOST_SWITCHES]; /* that were asked for */
  int early;                                          /* levels are gathered while the setup runs */
  const isthmus_amg_costs* costs;                     /* not NULL: and a model decides which; points to `held` */
  isthmus_amg_costs held;
  unsigned long long in_steps;                 /* levels that exchange in steps, a bit each */
  int ranks_per_node;                          /* 0: those that share memory */
  struct part* parts;                          /* setups of early gathering, the last one first */
  int* gathered;                               /* on how many ranks by these, of each level; 0: as the one before */
  struct group* groups[2 * MOST_SWITCHES + 1]; /* in the order in which they were made */
  int made;
  int levels;
  int* left; /* of a route */
  struct level* level;
  struct dense* dense;
  HYPRE_Int iterations;
  char words[256];
};

/* Splits the ranks of a level that has `rows` rows here: `to` of them go on. Vectors of the level come and go. Returns
 * their group, NULL on others; `members` becomes the group that has one root, NULL on ranks without rows. */
struct group* amg_switch(struct amg* amg, struct group* group, int at, int to, HYPRE_Int rows, struct group** members);
/* What of a level hypre's setup has made. */
struct matrices matrices_of(const hypre_ParAMGData* hypre, int number);

/* Sets all levels up, gathering on the way: `amg->level` and `amg->levels`. Returns NULL or why it cannot be. */
const char* early_setup(struct amg* amg, struct group* group, hypre_ParCSRMatrix* a, hypre_ParVector* b,
                        hypre_ParVector* x);
void early_free(struct amg* amg);
/* On how many of the ranks a level whose matrix they hold is to be, as the costs of messages have it: 0 to stay, as
 * level 0 does. `visits`: of the level in a cycle. `spent`: seconds of a cycle on the levels before, to which this
 * one's are added. Collective, the same on all ranks. */
int early_choice(const isthmus_amg_costs* costs, const hypre_ParAMGData* hypre, struct group* group,
                 hypre_ParCSRMatrix* matrix, double visits, int at, double* spent);

#endif
