/* Cycles on the hierarchy of a BoomerAMG solver of hypre, with coarse levels gathered on fewer ranks.
 *
 *     HYPRE_BoomerAMGCreate(&amg);                      options of all kinds, tolerance 0 for a preconditioner
 *     isthmus_amg_create(amg, "2:16,4:1", &solver);     levels from 2 on 16 ranks, from 4 on one
 *     HYPRE_ParCSRPCGSetPrecond(pcg, isthmus_amg_solve, isthmus_amg_setup, solver);
 *     ...
 *     isthmus_amg_destroy(solver);
 *     HYPRE_BoomerAMGDestroy(amg);
 *
 * Or call isthmus_amg_setup and isthmus_amg_solve as those of BoomerAMG: with the same matrices, smoothers and cycles
 * the residuals are the same but for rounding, where the smoother does not depend on who owns a row. */
#ifndef ISTHMUS_AMG_H
#define ISTHMUS_AMG_H

#include <HYPRE_parcsr_ls.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `gather`: LEVEL:RANKS, separated by commas, levels from 1 in ascending order, or NULL: all levels stay. With
 * libisthmus messages are schedules of its runtime; ISTHMUS_EXCHANGE=mpi in the environment takes MPI's instead.
 * Returns 0, or 1 where `gather` cannot be read. */
HYPRE_Int isthmus_amg_create(HYPRE_Solver boomeramg, const char* gather, HYPRE_Solver* solver);
HYPRE_Int isthmus_amg_destroy(HYPRE_Solver solver);

/* What a model of messages knows: seconds of a message, of a byte and of an operation of a product with a matrix;
 * `flop` 0: measured on the matrix of each level. A level is gathered where that saves `least` of a cycle as far as it
 * is known by then (0: 0.05), and no matrix that fits into `cache` bytes (0: of any size) becomes one that does not. */
typedef struct isthmus_amg_costs {
  double alpha, beta, flop, least, cache;
} isthmus_amg_costs;
/* From now on levels are gathered while the setup runs, so that fewer ranks coarsen them: those of
 * isthmus_amg_create, or with `costs` those of the model, on powers of two. Hierarchies differ from BoomerAMG's where
 * coarsening depends on who owns a row. BoomerAMG itself must not have been set up. */
void isthmus_amg_gather_early(HYPRE_Solver solver, const isthmus_amg_costs* costs);
/* On these levels (numbers separated by commas, "all", or NULL) exchanges take three steps from the next setup on:
 * ranks of a node hand what goes to another node to one of them, which sends it in one message to a rank there, and
 * that one hands it on. A node is so many consecutive ranks, or with 0 those that share memory. Returns 0, or 1 where
 * `levels` cannot be read. */
HYPRE_Int isthmus_amg_steps(HYPRE_Solver solver, const char* levels, HYPRE_Int ranks_per_node);
/* On how many ranks the last setup gathered a level; 0: on those of the level before. */
HYPRE_Int isthmus_amg_gathered(HYPRE_Solver solver, HYPRE_Int level);
/* Sets BoomerAMG up for a matrix, and gathers. Collective, as the next one. Both return 0 or an error of hypre's. */
HYPRE_Int isthmus_amg_setup(HYPRE_Solver solver, HYPRE_ParCSRMatrix a, HYPRE_ParVector b, HYPRE_ParVector x);
/* As many cycles as HYPRE_BoomerAMGSetMaxIter says, or until its tolerance, as HYPRE_BoomerAMGSolve. */
HYPRE_Int isthmus_amg_solve(HYPRE_Solver solver, HYPRE_ParCSRMatrix a, HYPRE_ParVector b, HYPRE_ParVector x);
/* Words of the last failure, or "". */
const char* isthmus_amg_error(HYPRE_Solver solver);
/* Of the last solve. */
HYPRE_Int isthmus_amg_iterations(HYPRE_Solver solver);

/* What this rank has done on a level in all solves since the setup. */
typedef struct isthmus_amg_level {
  long long rows;               /* of the gathered matrix that this rank holds; 0 where it is idle */
  long long messages, bytes;    /* that it has sent for products, smoothing and transfer to the next level */
  long long far;                /* of these messages, to ranks of other nodes */
  long long collectives, moved; /* gathers and scatters in which it took part; bytes that it sent in them at most */
} isthmus_amg_level;

HYPRE_Int isthmus_amg_levels(HYPRE_Solver solver);
void isthmus_amg_counts(HYPRE_Solver solver, HYPRE_Int level, isthmus_amg_level* counts);

#ifdef __cplusplus
}
#endif

#endif
