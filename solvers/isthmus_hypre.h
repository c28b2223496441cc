/* What a BoomerAMG solver of hypre holds and exchanges on every level, as a file that `isthmus multigrid` reads.
 *
 * Call isthmus_hypre_write on all ranks of the solver after HYPRE_BoomerAMGSetup, or load the library into a program
 * with LD_PRELOAD and name the file in ISTHMUS_HIERARCHY: then the last setup before the end of the program is written.
 */
#ifndef ISTHMUS_HYPRE_H
#define ISTHMUS_HYPRE_H

#include <HYPRE_parcsr_ls.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the hierarchy of a solver that is set up; collective. Returns 0, or the errno of rank 0, on all ranks. */
int isthmus_hypre_write(HYPRE_Solver solver, const char* path);

#ifdef __cplusplus
}
#endif

#endif
