/* Poisson's equation on n x n x n points by conjugate gradients of hypre, preconditioned by BoomerAMG.
 *
 *     mpicc poisson.c -I/usr/include/hypre -lHYPRE -lm -o poisson
 *     mpirun -n 8 ./poisson 40
 *
 * With coarse levels gathered on fewer ranks, as the second argument says: from level 2 on 2 ranks, from 3 on one.
 *
 *     mpicc -DGATHER poisson.c $(isthmus multigrid library --amg) -lHYPRE -lm -o poisson
 *     mpirun -n 8 ./poisson 40 2:2,3:1
 */
#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef GATHER
#include <isthmus_amg.h>
#endif

static HYPRE_ParCSRMatrix matrix_of(HYPRE_BigInt n, HYPRE_BigInt first, HYPRE_BigInt last, HYPRE_IJMatrix* ij) {
  void* object;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, ij);
  HYPRE_IJMatrixSetObjectType(*ij, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(*ij);
  const HYPRE_BigInt stride[3] = {1, n, n * n};
  for (HYPRE_BigInt row = first; row <= last; ++row) {
    HYPRE_BigInt column[7] = {row};
    double value[7] = {6};
    HYPRE_Int count = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const HYPRE_BigInt at = row / stride[axis] % n;
      if (at > 0) column[count] = row - stride[axis], value[count++] = -1;
      if (at < n - 1) column[count] = row + stride[axis], value[count++] = -1;
    }
    HYPRE_IJMatrixSetValues(*ij, 1, &count, &row, column, value);
  }
  HYPRE_IJMatrixAssemble(*ij);
  HYPRE_IJMatrixGetObject(*ij, &object);
  return (HYPRE_ParCSRMatrix)object;
}

static HYPRE_ParVector vector_of(HYPRE_BigInt first, HYPRE_BigInt last, double value, HYPRE_IJVector* ij) {
  void* object;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, ij);
  HYPRE_IJVectorSetObjectType(*ij, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(*ij);
  for (HYPRE_BigInt row = first; row <= last; ++row) HYPRE_IJVectorSetValues(*ij, 1, &row, &value);
  HYPRE_IJVectorAssemble(*ij);
  HYPRE_IJVectorGetObject(*ij, &object);
  return (HYPRE_ParVector)object;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const HYPRE_BigInt n = argc > 1 ? atoi(argv[1]) : 40, rows = n * n * n;
  if (n < 2 || rows < ranks) {
    if (!rank) fprintf(stderr, "poisson: %s points along an axis: from 2, and a point for each rank\n", argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const HYPRE_BigInt first = rows * rank / ranks, last = rows * (rank + 1) / ranks - 1;
  HYPRE_IJMatrix ij;
  HYPRE_IJVector right, left;
  HYPRE_ParCSRMatrix a = matrix_of(n, first, last, &ij);
  HYPRE_ParVector b = vector_of(first, last, 1, &right), x = vector_of(first, last, 0, &left);

  HYPRE_Solver amg, pcg;
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetTol(amg, 0); /* a preconditioner: one cycle, whatever the residual */
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
  HYPRE_BoomerAMGSetRelaxType(amg, 18); /* l1-Jacobi */
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &pcg);
  HYPRE_PCGSetTol(pcg, 1e-8);
  HYPRE_PCGSetTwoNorm(pcg, 1);
  HYPRE_PCGSetMaxIter(pcg, 100);
#ifdef GATHER
  HYPRE_Solver gathered;
  if (isthmus_amg_create(amg, argc > 2 ? argv[2] : "", &gathered)) {
    if (!rank) fprintf(stderr, "poisson: %s: expected levels and their ranks, such as 2:16,4:1\n", argv[2]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  HYPRE_ParCSRPCGSetPrecond(pcg, isthmus_amg_solve, isthmus_amg_setup, gathered);
#else
  HYPRE_ParCSRPCGSetPrecond(pcg, HYPRE_BoomerAMGSolve, HYPRE_BoomerAMGSetup, amg);
#endif
  const double begin = MPI_Wtime();
  HYPRE_ParCSRPCGSetup(pcg, a, b, x);
  const double middle = MPI_Wtime();
  HYPRE_ParCSRPCGSolve(pcg, a, b, x);
  const double end = MPI_Wtime();

  HYPRE_Int iterations;
  double residual;
  HYPRE_PCGGetNumIterations(pcg, &iterations);
  HYPRE_PCGGetFinalRelativeResidualNorm(pcg, &residual);
  const int wrong = residual > 1e-8;
  if (!rank)
    printf("%s: %lld rows on %d ranks, %d iterations to %.1e; setup %.3f s, solution %.3f s\n",
           wrong ? "wrong" : "correct", (long long)rows, ranks, (int)iterations, residual, middle - begin,
           end - middle);
  HYPRE_ParCSRPCGDestroy(pcg);
#ifdef GATHER
  isthmus_amg_destroy(gathered);
#endif
  HYPRE_BoomerAMGDestroy(amg);
  HYPRE_IJMatrixDestroy(ij);
  HYPRE_IJVectorDestroy(right);
  HYPRE_IJVectorDestroy(left);
  HYPRE_Finalize();
  MPI_Finalize();
  return wrong;
}
