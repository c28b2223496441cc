/* Conjugate gradients of a user, on a line of points whose ranks have different numbers of them, with cycles that
 * isthmus_amg.h gives as preconditioner; and the same with hypre's. Prints iterations of both and of hypre's own CG. */
#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>
#include <isthmus_amg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static HYPRE_ParCSRMatrix a;
static HYPRE_ParVector v[5]; /* x, r, z, p, q */

static int solve(HYPRE_PtrToParSolverFcn cycle, HYPRE_Solver solver) {
  double rho = 0, before, product, norm, first;
  int k = 0;
  HYPRE_ParVectorSetConstantValues(v[0], 0);
  HYPRE_ParVectorSetConstantValues(v[1], 1);
  HYPRE_ParVectorInnerProd(v[1], v[1], &first);
  for (norm = first; norm > 1e-20 * first && k < 100; ++k) {
    HYPRE_ParVectorSetConstantValues(v[2], 0);
    if (cycle(solver, a, v[1], v[2])) return -1;
    before = rho;
    HYPRE_ParVectorInnerProd(v[1], v[2], &rho);
    if (k) {
      HYPRE_ParVectorScale(rho / before, v[3]);
      HYPRE_ParVectorAxpy(1, v[2], v[3]);
    } else {
      HYPRE_ParVectorCopy(v[2], v[3]);
    }
    HYPRE_ParCSRMatrixMatvec(1, a, v[3], 0, v[4]);
    HYPRE_ParVectorInnerProd(v[3], v[4], &product);
    HYPRE_ParVectorAxpy(rho / product, v[3], v[0]);
    HYPRE_ParVectorAxpy(-rho / product, v[4], v[1]);
    HYPRE_ParVectorInnerProd(v[1], v[1], &norm);
  }
  return k;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  /* Rank r has 10 r rows: the first has none. */
  const HYPRE_BigInt low = 5 * rank * (rank - 1), high = 5 * rank * (rank + 1) - 1, rows = 5 * ranks * (ranks - 1);
  HYPRE_IJMatrix matrix;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, low, high, low, high, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  for (HYPRE_BigInt i = low; i <= high; ++i) {
    HYPRE_BigInt columns[3] = {i};
    double values[3] = {2, -1, -1};
    HYPRE_Int count = 1;
    if (i > 0) columns[count++] = i - 1;
    if (i < rows - 1) columns[count++] = i + 1;
    HYPRE_IJMatrixSetValues(matrix, 1, &count, &i, columns, values);
  }
  HYPRE_IJMatrixAssemble(matrix);
  HYPRE_IJMatrixGetObject(matrix, (void**)&a);
  HYPRE_IJVector held[5];
  for (int i = 0; i < 5; ++i) {
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, low, high, held + i);
    HYPRE_IJVectorSetObjectType(held[i], HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(held[i]);
    HYPRE_IJVectorAssemble(held[i]);
    HYPRE_IJVectorGetObject(held[i], (void**)&v[i]);
  }
  HYPRE_Solver amg, ours, pcg;
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetRelaxType(amg, 18);
  HYPRE_BoomerAMGSetTol(amg, 0);
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
  if (isthmus_amg_create(amg, argv[1], &ours)) {
    if (!rank) printf("cannot be read\n");
    MPI_Finalize();
    return 0;
  }
  HYPRE_BoomerAMGSetup(amg, a, v[1], v[0]);
  const int by_hypre = solve(HYPRE_BoomerAMGSolve, amg);
  int by_us = -1, by_pcg = -1;
  for (int again = 0; again < 2; ++again) { /* a second setup takes the place of the first */
    if (isthmus_amg_setup(ours, a, v[1], v[0])) break;
    by_us = solve(isthmus_amg_solve, ours);
  }
  if (by_us >= 0) {
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &pcg);
    HYPRE_PCGSetTwoNorm(pcg, 1);
    HYPRE_PCGSetTol(pcg, 1e-10);
    HYPRE_ParCSRPCGSetPrecond(pcg, isthmus_amg_solve, isthmus_amg_setup, ours);
    HYPRE_ParVectorSetConstantValues(v[1], 1);
    HYPRE_ParVectorSetConstantValues(v[0], 0);
    HYPRE_ParCSRPCGSetup(pcg, a, v[1], v[0]);
    HYPRE_ParCSRPCGSolve(pcg, a, v[1], v[0]);
    HYPRE_PCGGetNumIterations(pcg, &by_pcg);
    HYPRE_ParCSRPCGDestroy(pcg);
  }
  if (!rank) printf("%d %d %d %s\n", by_hypre, by_us, by_pcg, isthmus_amg_error(ours));
  isthmus_amg_destroy(ours);
  HYPRE_BoomerAMGDestroy(amg);
  for (int i = 0; i < 5; ++i) HYPRE_IJVectorDestroy(held[i]);
  HYPRE_IJMatrixDestroy(matrix);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
