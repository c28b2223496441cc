/* hypre KEY=VALUE ...: BoomerAMG's setup for a generated problem or a matrix, and its hierarchy as a file.
 *
 * Keys: see `keys` in input.c; what they mean is in python/isthmus/multigrid/hypre.py, which calls this. */
#include <HYPRE.h>
#include <_hypre_parcsr_ls.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "text.h"
#include "write.h"

static void put(FILE* stream, const hypre_CSRMatrix* matrix) {
  const int64_t size[3] = {hypre_CSRMatrixNumRows(matrix), hypre_CSRMatrixNumCols(matrix),
                           hypre_CSRMatrixNumNonzeros(matrix)};
  fwrite(size, sizeof *size, 3, stream);
  for (int64_t i = 0; i <= size[0]; ++i) {
    const int64_t first = hypre_CSRMatrixI(matrix)[i];
    fwrite(&first, sizeof first, 1, stream);
  }
  for (int64_t i = 0; i < size[2]; ++i) {
    const int32_t column = (int32_t)hypre_CSRMatrixJ(matrix)[i];
    fwrite(&column, sizeof column, 1, stream);
  }
}

/* Structure of all matrices of one rank, and which rows of each level are those of the next one: levels; then of each
 * A, P, a byte per row, and whether R follows, which is not the transpose of P. */
static int write_matrices(hypre_ParAMGData* amg, const char* path) {
  FILE* stream = fopen(path, "wb");
  if (!stream) return errno;
  const int64_t levels = hypre_ParAMGDataNumLevels(amg);
  fwrite(&levels, sizeof levels, 1, stream);
  for (int64_t level = 0; level < levels; ++level) {
    const hypre_CSRMatrix* a = hypre_ParCSRMatrixDiag(hypre_ParAMGDataAArray(amg)[level]);
    put(stream, a);
    if (level == levels - 1) break;
    put(stream, hypre_ParCSRMatrixDiag(hypre_ParAMGDataPArray(amg)[level]));
#if HYPRE_RELEASE_NUMBER >= 22200
    const HYPRE_Int* marks = hypre_IntArrayData(hypre_ParAMGDataCFMarkerArray(amg)[level]);
#else
    const HYPRE_Int* marks = hypre_ParAMGDataCFMarkerArray(amg)[level];
#endif
    for (HYPRE_Int i = 0; i < hypre_CSRMatrixNumRows(a); ++i) fputc(marks[i] > 0, stream);
    hypre_ParCSRMatrix* const r = hypre_ParAMGDataRArray(amg) ? hypre_ParAMGDataRArray(amg)[level] : NULL;
    const int own = r && r != hypre_ParAMGDataPArray(amg)[level];
    fputc(own, stream);
    if (own) put(stream, hypre_ParCSRMatrixDiag(r));
  }
  const int wrong = ferror(stream) ? EIO : 0;
  return fclose(stream) || wrong ? EIO : 0;
}

static double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/* Seconds of products with the operators of all levels: with what the rank holds alone, and with the exchange. */
static void time_products(hypre_ParAMGData* amg, struct text* facts) {
  for (int level = 0; level < hypre_ParAMGDataNumLevels(amg); ++level) {
    hypre_ParCSRMatrix* a = hypre_ParAMGDataAArray(amg)[level];
    hypre_ParVector *x = hypre_ParVectorCreate(MPI_COMM_WORLD, hypre_ParCSRMatrixGlobalNumCols(a),
                                               hypre_ParCSRMatrixColStarts(a)),
                    *y = hypre_ParVectorCreate(MPI_COMM_WORLD, hypre_ParCSRMatrixGlobalNumRows(a),
                                               hypre_ParCSRMatrixRowStarts(a));
    hypre_ParVectorInitialize(x);
    hypre_ParVectorInitialize(y);
    hypre_ParVectorSetConstantValues(x, 1);
    enum { REPEATS = 11 };
    double alone = 1e300, whole = 1e300;
    for (int i = 0; i < REPEATS; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      double begin = MPI_Wtime();
      hypre_CSRMatrixMatvec(1, hypre_ParCSRMatrixDiag(a), hypre_ParVectorLocalVector(x), 0,
                            hypre_ParVectorLocalVector(y));
      const double first = slowest(MPI_Wtime() - begin);
      MPI_Barrier(MPI_COMM_WORLD);
      begin = MPI_Wtime();
      hypre_ParCSRMatrixMatvec(1, a, x, 0, y);
      const double second = slowest(MPI_Wtime() - begin);
      if (first < alone) alone = first;
      if (second < whole) whole = second;
    }
    text_add(facts, "fact local_product_%d %.9g\nfact product_%d %.9g\n", level, alone, level, whole);
    hypre_ParVectorDestroy(x);
    hypre_ParVectorDestroy(y);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  read_arguments(argc, argv);
  const HYPRE_IJMatrix ij = input_matrix();
  HYPRE_ParCSRMatrix a;
  HYPRE_IJMatrixGetObject(ij, (void**)&a);
  const HYPRE_Solver amg = input_solver();
  HYPRE_IJVector b, x;
  const HYPRE_BigInt low = hypre_ParCSRMatrixFirstRowIndex((hypre_ParCSRMatrix*)a),
                     high = hypre_ParCSRMatrixLastRowIndex((hypre_ParCSRMatrix*)a);
  HYPRE_IJVector* const vectors[] = {&b, &x};
  HYPRE_ParVector parallel[2];
  for (int i = 0; i < 2; ++i) {
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, low, high, vectors[i]);
    HYPRE_IJVectorSetObjectType(*vectors[i], HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(*vectors[i]);
    HYPRE_IJVectorAssemble(*vectors[i]);
    HYPRE_IJVectorGetObject(*vectors[i], (void**)&parallel[i]);
    HYPRE_ParVectorSetConstantValues(parallel[i], i == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  HYPRE_BoomerAMGSetup(amg, a, parallel[0], parallel[1]);
  const double setup = slowest(MPI_Wtime() - begin);
  HYPRE_Int error = HYPRE_GetError();
  HYPRE_Int worst;
  MPI_Allreduce(&error, &worst, 1, HYPRE_MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (worst) stop("BoomerAMG's setup failed", "");
  struct text facts = {0};
  text_add(&facts, "fact setup %.9g\n", setup);
  const int cycles = (int)number("cycles", 0);
  if (cycles) {
    HYPRE_BoomerAMGSetMaxIter(amg, cycles);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    HYPRE_BoomerAMGSolve(amg, a, parallel[0], parallel[1]);
    const double seconds = slowest(MPI_Wtime() - start);
    /* Without a tolerance hypre computes no residual. */
    HYPRE_BoomerAMGSetTol(amg, 1e-300);
    HYPRE_ParVectorSetConstantValues(parallel[1], 0);
    HYPRE_BoomerAMGSolve(amg, a, parallel[0], parallel[1]);
    double residual;
    HYPRE_BoomerAMGGetFinalRelativeResidualNorm(amg, &residual);
    HYPRE_ClearAllErrors(); /* that the tolerance 0 was not reached */
    text_add(&facts, "fact cycle %.9g\nfact reduction %.9g\n", seconds / cycles, residual);
    time_products((hypre_ParAMGData*)amg, &facts);
  }
  if (!value_of("out")) stop("expected a file", "out");
  const int wrong = isthmus_hypre_write_with(amg, value_of("out"), facts.bytes);
  if (wrong) stop(strerror(wrong), value_of("out"));
  if (value_of("matrices")) {
    if (ranks > 1) stop("matrices are written of one rank only", "matrices");
    const int bad = write_matrices((hypre_ParAMGData*)amg, value_of("matrices"));
    if (bad) stop(strerror(bad), value_of("matrices"));
  }
  free(facts.bytes);
  HYPRE_BoomerAMGDestroy(amg);
  HYPRE_IJMatrixDestroy(ij);
  HYPRE_IJVectorDestroy(b);
  HYPRE_IJVectorDestroy(x);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
