/* What the programs read: options as KEY=VALUE, matrices, and settings of BoomerAMG. */
#ifndef ISTHMUS_INPUT_H
#define ISTHMUS_INPUT_H

#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>

extern int rank, ranks; /* of MPI_COMM_WORLD */

void read_arguments(int argc, char** argv);
/* NULL where an option is not given. */
const char* value_of(const char* key);
double number(const char* key, double otherwise);
/* Says on rank 0 what is wrong with which option, and ends all ranks. */
void stop(const char* what, const char* which) __attribute__((noreturn));

/* The matrix that `problem`, `points` and `boxes` describe, or `matrix` names. */
HYPRE_IJMatrix input_matrix(void);
/* BoomerAMG with all its options, without a tolerance, for one cycle. */
HYPRE_Solver input_solver(void);

#endif
