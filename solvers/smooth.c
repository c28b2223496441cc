/* Smoothers: hypre's kernels on what a rank holds, after what others hold has gone to the right-hand side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amg.h"

static const int kernels[] = {0, 3, 4, 6, 7, 8, 13, 14, 18};

static int is_kernel(HYPRE_Int type) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
    if (kernels[i] == type) return 1;
  return 0;
}

static int is_dense(HYPRE_Int type) { return type == 9 || type == 99 || type == 199; }

const char* smoother_refused(const hypre_ParAMGData* amg, HYPRE_Int levels) {
  if (hypre_ParAMGDataParticipate(amg)) return "HYPRE_BoomerAMGSetSeqThreshold gathers levels itself: set it to 0";
  if (hypre_ParAMGDataBlockMode(amg)) return "matrices of blocks (nodal interpolation) are not served";
  if (hypre_ParAMGDataSmoothNumLevels(amg) > 0) return "only smoothers of HYPRE_BoomerAMGSetRelaxType are served";
  if ((hypre_ParAMGDataAdditive(amg) >= 0 && hypre_ParAMGDataAdditive(amg) < levels) ||
      (hypre_ParAMGDataMultAdditive(amg) >= 0 && hypre_ParAMGDataMultAdditive(amg) < levels) ||
      (hypre_ParAMGDataSimple(amg) >= 0 && hypre_ParAMGDataSimple(amg) < levels))
    return "additive cycles are not served";
  if (hypre_ParAMGDataGridRelaxPoints(amg)) return "HYPRE_BoomerAMGSetGridRelaxPoints is not served";
  if (levels == 1) {
    const HYPRE_Int type = hypre_ParAMGDataUserRelaxType(amg);
    return type < 0 || is_kernel(type) ? NULL : "on a single level this smoother is not served";
  }
  for (int way = 1; way <= 3; ++way) {
    const HYPRE_Int type = hypre_ParAMGDataGridRelaxType(amg)[way];
    if (!is_kernel(type) && type != 16 && !(way == 3 && is_dense(type)))
      return "this smoother is not served: take 0, 3, 4, 6, 7, 8, 13, 14, 16 or 18, on the coarsest level also 9";
  }
  return NULL;
}

static hypre_Vector* of(hypre_ParVector* vector) { return hypre_ParVectorLocalVector(vector); }

/* Chebyshev's polynomial of the matrix, as hypre_ParCSRRelax_Cheby_Solve: bounds of eigenvalues are in the factors. */
static void chebyshev(struct level* level) {
  const HYPRE_Int rows = hypre_VectorSize(of(level->u));
  const HYPRE_Real* const factors = hypre_ParAMGDataChebyCoefs(level->hypre)[level->number];
  HYPRE_Int order = hypre_ParAMGDataChebyOrder(level->hypre);
  order = order > 4 ? 4 : order < 1 ? 1 : order;
  const HYPRE_Real* const scale = level->m.scale;
  HYPRE_Real *u = hypre_VectorData(of(level->u)), *r = hypre_VectorData(of(level->g)),
             *v = hypre_VectorData(of(level->v)), *before = hypre_VectorData(of(level->z)),
             *scaled = hypre_VectorData(level->c);
  halo_product(level->a, -1, of(level->u), 1, of(level->f), of(level->g));
  for (HYPRE_Int i = 0; i < rows; ++i) {
    if (scale) r[i] *= scale[i];
    before[i] = u[i];
    u[i] = r[i] * factors[order - 1];
  }
  for (HYPRE_Int k = order - 2; k >= 0; --k) {
    for (HYPRE_Int i = 0; i < rows; ++i) scaled[i] = scale ? scale[i] * u[i] : u[i];
    halo_product(level->a, 1, level->c, 0, of(level->v), of(level->v));
    for (HYPRE_Int i = 0; i < rows; ++i) u[i] = factors[k] * r[i] + (scale ? scale[i] * v[i] : v[i]);
  }
  for (HYPRE_Int i = 0; i < rows; ++i) u[i] = before[i] + (scale ? scale[i] * u[i] : u[i]);
}

/* A sweep over all rows (0), those of the next level (1) or the others (-1). */
static void sweep(struct level* level, HYPRE_Int type, HYPRE_Int points) {
  halo_reduce(level->a, of(level->u), of(level->f), of(level->g));
  hypre_BoomerAMGRelax(
      level->own, level->g, level->m.marks, type, points, hypre_ParAMGDataRelaxWeight(level->hypre)[level->number],
      hypre_ParAMGDataOmega(level->hypre)[level->number], type == 0 ? NULL : level->m.l1, level->u, level->v, level->z);
}

struct dense* dense_make(struct level* level) {
  struct dense* const made = calloc(1, sizeof *made);
  if (!made) abort();
  const HYPRE_Int own = hypre_ParCSRMatrixNumRows(level->m.a);
  made->all = assembly_make(level->group, ISTHMUS_ALLGATHER, own);
  made->rows = made->all->all;
  made->first = made->all->first[level->group->rank];
  hypre_CSRMatrix* const whole = hypre_ParCSRMatrixToCSRMatrixAll(level->m.a);
  if (!own || !whole) {
    if (whole) hypre_CSRMatrixDestroy(whole);
    made->x = calloc((size_t)made->rows + 1, sizeof *made->x);
    return made;
  }
  const HYPRE_Int n = made->rows;
  double* const lu = made->lu = calloc((size_t)n * (size_t)n + 1, sizeof *lu);
  made->pivots = malloc(((size_t)n + 1) * sizeof *made->pivots);
  made->x = malloc(((size_t)n + 1) * sizeof *made->x);
  if (!lu || !made->pivots || !made->x) abort();
  for (HYPRE_Int i = 0; i < n; ++i)
    for (HYPRE_Int k = hypre_CSRMatrixI(whole)[i]; k < hypre_CSRMatrixI(whole)[i + 1]; ++k)
      lu[(size_t)i * (size_t)n + (size_t)hypre_CSRMatrixJ(whole)[k]] += hypre_CSRMatrixData(whole)[k];
  hypre_CSRMatrixDestroy(whole);
  for (HYPRE_Int k = 0; k < n; ++k) {
    HYPRE_Int best = k;
    for (HYPRE_Int i = k + 1; i < n; ++i)
      if (fabs(lu[i * n + k]) > fabs(lu[best * n + k])) best = i;
    made->pivots[k] = best;
    for (HYPRE_Int j = 0; best != k && j < n; ++j) {
      const double kept = lu[k * n + j];
      lu[k * n + j] = lu[best * n + j];
      lu[best * n + j] = kept;
    }
    for (HYPRE_Int i = k + 1; i < n && lu[k * n + k] != 0; ++i) {
      const double factor = lu[i * n + k] /= lu[k * n + k];
      for (HYPRE_Int j = k + 1; factor != 0 && j < n; ++j) lu[i * n + j] -= factor * lu[k * n + j];
    }
  }
  return made;
}

void dense_free(struct dense* dense) {
  if (!dense) return;
  assembly_free(dense->all);
  free(dense->lu), free(dense->pivots), free(dense->x), free(dense);
}

static void dense_solve(struct dense* dense, struct level* level) {
  const HYPRE_Int n = dense->rows;
  const double* const lu = dense->lu;
  HYPRE_Real* const x = dense->x;
  assembly_run(dense->all, hypre_VectorData(of(level->f)), x);
  if (!lu) return;
  for (HYPRE_Int k = 0; k < n; ++k) {
    const HYPRE_Real kept = x[dense->pivots[k]];
    x[dense->pivots[k]] = x[k];
    x[k] = kept;
  }
  for (HYPRE_Int i = 1; i < n; ++i)
    for (HYPRE_Int j = 0; j < i; ++j) x[i] -= lu[i * n + j] * x[j];
  for (HYPRE_Int i = n; i-- > 0;) {
    for (HYPRE_Int j = i + 1; j < n; ++j) x[i] -= lu[i * n + j] * x[j];
    if (lu[i * n + i] != 0) x[i] /= lu[i * n + i];
  }
  memcpy(hypre_VectorData(of(level->u)), x + dense->first, (size_t)hypre_VectorSize(of(level->u)) * sizeof *x);
}

void smooth(struct level* level, int way, struct dense* dense) {
  const hypre_ParAMGData* const amg = level->hypre;
  HYPRE_Int type = hypre_ParAMGDataGridRelaxType(amg)[way];
  HYPRE_Int order = way < 3 ? hypre_ParAMGDataRelaxOrder(amg) : 0;
  if (way == 0) {
    type = hypre_ParAMGDataUserRelaxType(amg) < 0 ? 6 : hypre_ParAMGDataUserRelaxType(amg);
    order = 0;
  }
  for (HYPRE_Int i = 0; i < hypre_ParAMGDataNumGridSweeps(amg)[way]; ++i) {
    if (is_dense(type)) {
      dense_solve(dense, level);
    } else if (type == 16) {
      chebyshev(level);
    } else if (order == 1) {
      sweep(level, type, way == 1 ? 1 : -1);
      sweep(level, type, way == 1 ? -1 : 1);
    } else {
      sweep(level, type, 0);
    }
  }
}
