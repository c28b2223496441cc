/* Matrices and vectors of a level come to fewer ranks. */
#include <HYPRE.h>
#include <stdlib.h>
#include <string.h>

#include "amg.h"

static void* room(HYPRE_Int count, size_t size) {
  void* const found = calloc((size_t)count + 1, size);
  if (!found) abort();
  return found;
}

int root_of(struct group* group, HYPRE_Int rows, int count, int* is_root) {
  const int has = rows > 0;
  int* const all = room(group->ranks, sizeof *all);
  MPI_Allgather(&has, 1, MPI_INT, all, 1, MPI_INT, group->comm);
  long long before = 0, active = 0;
  for (int i = 0; i < group->ranks; ++i) {
    if (i < group->rank) before += all[i];
    active += all[i];
  }
  free(all);
  *is_root = 0;
  if (!has) return -1;
  if (count > active) count = (int)active;
  const long long mine = before * count / active;
  *is_root = before == 0 || (before - 1) * count / active != mine;
  return (int)mine;
}

/* Pieces of all members one after the other, on the root; NULL elsewhere. */
static void* collected(struct group* members, const void* piece, HYPRE_Int count, MPI_Datatype type, size_t size,
                       HYPRE_Int* total) {
  const int own = (int)count, root = members->rank == 0;
  int *counts = root ? room(members->ranks, sizeof *counts) : NULL, *first = NULL;
  MPI_Gather(&own, 1, MPI_INT, counts, 1, MPI_INT, 0, members->comm);
  if (root) {
    first = room(members->ranks, sizeof *first);
    for (int i = 0; i < members->ranks; ++i) first[i + 1] = first[i] + counts[i];
    *total = first[members->ranks];
  }
  void* const all = root ? room(*total, size) : NULL;
  MPI_Gatherv((void*)piece, own, type, all, counts, first, type, 0, members->comm);
  free(counts);
  free(first);
  return all;
}

static HYPRE_IJMatrix gathered(hypre_ParCSRMatrix* matrix, struct group* members, struct group* roots) {
  const hypre_CSRMatrix *diag = hypre_ParCSRMatrixDiag(matrix), *offd = hypre_ParCSRMatrixOffd(matrix);
  const HYPRE_Int rows = hypre_CSRMatrixNumRows(diag);
  const HYPRE_Int *di = hypre_CSRMatrixI(diag), *oi = hypre_CSRMatrixI(offd);
  const HYPRE_Int count = rows ? di[rows] + oi[rows] : 0;
  const HYPRE_BigInt row = hypre_ParCSRMatrixFirstRowIndex(matrix), column = hypre_ParCSRMatrixFirstColDiag(matrix);
  HYPRE_Int* const sizes = room(rows, sizeof *sizes);
  HYPRE_BigInt* const columns = room(count, sizeof *columns);
  HYPRE_Real* const values = room(count, sizeof *values);
  HYPRE_Int at = 0;
  for (HYPRE_Int i = 0; i < rows; ++i) {
    for (HYPRE_Int k = di[i]; k < di[i + 1]; ++k, ++at)
      columns[at] = column + hypre_CSRMatrixJ(diag)[k], values[at] = hypre_CSRMatrixData(diag)[k];
    for (HYPRE_Int k = oi[i]; k < oi[i + 1]; ++k, ++at)
      columns[at] = hypre_ParCSRMatrixColMapOffd(matrix)[hypre_CSRMatrixJ(offd)[k]],
      values[at] = hypre_CSRMatrixData(offd)[k];
    sizes[i] = di[i + 1] - di[i] + oi[i + 1] - oi[i];
  }
  HYPRE_Int total = 0, nonzeros = 0;
  HYPRE_Int* const all_sizes = collected(members, sizes, rows, HYPRE_MPI_INT, sizeof *sizes, &total);
  HYPRE_BigInt* const all_columns = collected(members, columns, count, HYPRE_MPI_BIG_INT, sizeof *columns, &nonzeros);
  HYPRE_Real* const all_values = collected(members, values, count, HYPRE_MPI_REAL, sizeof *values, &nonzeros);
  const HYPRE_BigInt wide = hypre_CSRMatrixNumCols(diag);
  HYPRE_BigInt width = 0;
  MPI_Reduce(&wide, &width, 1, HYPRE_MPI_BIG_INT, MPI_SUM, 0, members->comm);
  free(sizes), free(columns), free(values);
  if (members->rank) return NULL;
  HYPRE_IJMatrix made;
  HYPRE_IJMatrixCreate(roots->comm, row, row + total - 1, column, column + width - 1, &made);
  HYPRE_IJMatrixSetObjectType(made, HYPRE_PARCSR);
  HYPRE_IJMatrixSetRowSizes(made, all_sizes);
  HYPRE_IJMatrixInitialize(made);
  HYPRE_BigInt* const numbers = room(total, sizeof *numbers);
  for (HYPRE_Int i = 0; i < total; ++i) numbers[i] = row + i;
  if (total) HYPRE_IJMatrixSetValues(made, total, all_sizes, numbers, all_columns, all_values);
  HYPRE_IJMatrixAssemble(made);
  free(numbers), free(all_sizes), free(all_columns), free(all_values);
  return made;
}

static hypre_ParCSRMatrix* object(HYPRE_IJMatrix matrix) {
  void* found = NULL;
  if (matrix) HYPRE_IJMatrixGetObject(matrix, &found);
  return found;
}

HYPRE_IJMatrix matrix_gathered(hypre_ParCSRMatrix* matrix, struct group* members, struct group* roots,
                               HYPRE_Int** numbers) {
  const HYPRE_IJMatrix made = gathered(matrix, members, roots);
  HYPRE_Int total = 0;
  *numbers = collected(members, *numbers, *numbers ? hypre_ParCSRMatrixNumRows(matrix) : 0, HYPRE_MPI_INT,
                       sizeof **numbers, &total);
  return made;
}

struct matrices matrices_gathered(const struct matrices* from, struct group* members, struct group* roots,
                                  int recompute, int order) {
  struct matrices out = {0};
  out.held[0] = gathered(from->a, members, roots);
  if (from->p) out.held[1] = gathered(from->p, members, roots);
  if (from->r) out.held[2] = gathered(from->r, members, roots);
  out.a = object(out.held[0]), out.p = object(out.held[1]), out.r = object(out.held[2]);
  const HYPRE_Int rows = hypre_ParCSRMatrixNumRows(from->a);
  HYPRE_Int total = 0;
  /* A rank without rows has no marks, though others have. */
  if (from->p)
    out.marks = collected(members, from->marks, from->marks ? rows : 0, HYPRE_MPI_INT, sizeof(HYPRE_Int), &total);
  int has[2] = {from->l1 != NULL, from->scale != NULL};
  MPI_Allreduce(MPI_IN_PLACE, has, 2, MPI_INT, MPI_MAX, members->comm);
  if (has[0] && !recompute)
    out.l1 = collected(members, from->l1, from->l1 ? rows : 0, HYPRE_MPI_REAL, sizeof(HYPRE_Real), &total);
  if (has[1])
    out.scale = collected(members, from->scale, from->scale ? rows : 0, HYPRE_MPI_REAL, sizeof(HYPRE_Real), &total);
  if (out.a && recompute) {
    HYPRE_Real* norms = NULL;
    if (!hypre_ParCSRMatrixCommPkg(out.a)) hypre_MatvecCommPkgCreate(out.a);
    /* As in its setup: of the part of a row outside the block, where rows of the same kind are smoothed at once. */
    hypre_ParCSRComputeL1Norms(out.a, 4, order ? out.marks : NULL, &norms);
    total = hypre_ParCSRMatrixNumRows(out.a);
    out.l1 = room(total, sizeof *out.l1);
    if (norms) memcpy(out.l1, norms, (size_t)total * sizeof *norms);
    hypre_TFree(norms, HYPRE_MEMORY_HOST);
  }
  return out;
}

void matrices_free(struct matrices* matrices) {
  if (!matrices->held[0]) return;
  for (int i = 0; i < 3; ++i)
    if (matrices->held[i]) HYPRE_IJMatrixDestroy(matrices->held[i]);
  free(matrices->marks), free(matrices->l1), free(matrices->scale);
}
