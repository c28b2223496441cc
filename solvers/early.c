/* A setup in parts: hypre sets up the levels until one is gathered, and goes on with that on fewer ranks. */
#include <HYPRE.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amg.h"

/* Levels that hypre has set up at once. Matrix and vectors of the first one are those of the part before, or ours. */
struct part {
  struct part* before;
  hypre_ParAMGData* hypre;
  HYPRE_IJMatrix matrix;
  hypre_ParVector *b, *x;
};

static void* twin(const void* array, size_t count, size_t size) {
  if (!array) return NULL;
  void* const made = hypre_CTAlloc(char, (HYPRE_Int)(count * size), HYPRE_MEMORY_HOST);
  memcpy(made, array, count * size);
  return made;
}

static hypre_IntArray* numbers_of(const HYPRE_Int* numbers, HYPRE_Int count) {
  hypre_IntArray* const made = hypre_IntArrayCreate(count);
  hypre_IntArrayInitialize(made);
  if (count) memcpy(hypre_IntArrayData(made), numbers, (size_t)count * sizeof *numbers);
  return made;
}

static const char* cannot_part(const hypre_ParAMGData* hypre) {
  if (hypre_ParAMGDataAArray(hypre)) return "BoomerAMG has been set up: gather early with one that has not";
  if (hypre_ParAMGDataSeqThreshold(hypre) > 0)
    return "HYPRE_BoomerAMGSetSeqThreshold gathers levels itself: set it to 0";
  if (hypre_ParAMGDataNodal(hypre)) return "nodal coarsening is not gathered early: take the unknown approach";
  if (hypre_ParAMGNumInterpVectors(hypre) || hypre->num_C_points || hypre->num_F_points ||
      hypre->num_isolated_F_points || hypre_ParAMGDataNonGalTolArray(hypre))
    return "interpolation vectors, points that are kept and non-Galerkin operators are not gathered early";
  return NULL;
}

/* A solver that is not set up, with all options of another one, for `levels` levels from its level `first` on. */
static hypre_ParAMGData* options_from(const hypre_ParAMGData* from, int first, int levels) {
  hypre_ParAMGData* const made = hypre_CTAlloc(hypre_ParAMGData, 1, HYPRE_MEMORY_HOST);
  const size_t most = (size_t)hypre_ParAMGDataMaxLevels(from), left = most - (size_t)first;
  *made = *from;
  hypre_ParAMGDataNumGridSweeps(made) = twin(hypre_ParAMGDataNumGridSweeps(from), 4, sizeof(HYPRE_Int));
  hypre_ParAMGDataGridRelaxType(made) = twin(hypre_ParAMGDataGridRelaxType(from), 4, sizeof(HYPRE_Int));
  const HYPRE_Real *const weight = hypre_ParAMGDataRelaxWeight(from), *const omega = hypre_ParAMGDataOmega(from);
  hypre_ParAMGDataRelaxWeight(made) = twin(weight ? weight + first : NULL, left, sizeof *weight);
  hypre_ParAMGDataOmega(made) = twin(omega ? omega + first : NULL, left, sizeof *omega);
  hypre_ParAMGDataMaxLevels(made) = levels;
  const HYPRE_Int aggressive = hypre_ParAMGDataAggNumLevels(from) - first;
  hypre_ParAMGDataAggNumLevels(made) = aggressive > 0 ? aggressive : 0;
  hypre_ParAMGDataDofFunc(made) = NULL;
  hypre_ParAMGDataMaxIter(made) = 1;
  return made;
}

static hypre_ParVector* vector_like(hypre_ParCSRMatrix* matrix) {
  hypre_ParVector* const made = hypre_ParVectorCreate(
      hypre_ParCSRMatrixComm(matrix), hypre_ParCSRMatrixGlobalNumRows(matrix), hypre_ParCSRMatrixRowStarts(matrix));
  hypre_ParVectorInitialize(made);
  return made;
}

void early_free(struct amg* amg) {
  while (amg->parts) {
    struct part* const part = amg->parts;
    amg->parts = part->before;
    if (part->hypre) hypre_BoomerAMGDestroy(part->hypre);
    if (part->matrix) HYPRE_IJMatrixDestroy(part->matrix);
    if (part->b) hypre_ParVectorDestroy(part->b);
    if (part->x) hypre_ParVectorDestroy(part->x);
    free(part);
  }
  free(amg->gathered);
  amg->gathered = NULL;
}

/* How often a cycle comes to a level from above; of an F-cycle of V-cycles. */
static double visits(const hypre_ParAMGData* hypre, int level) {
  return hypre_ParAMGDataFCycle(hypre) ? level + 1 : pow((double)hypre_ParAMGDataCycleType(hypre), level);
}

/* The number of levels that are set up before the next look at who holds them. */
static int levels_at_once(const struct amg* amg, const struct group* group, int at, int next, int left) {
  int levels = left;
  if (amg->costs) levels = group->ranks > 1 ? 2 : left;
  else if (next < amg->switches) levels = amg->at[next] - at + 1;
  return levels < left ? levels : left;
}

const char* early_setup(struct amg* amg, struct group* group, hypre_ParCSRMatrix* a, hypre_ParVector* b,
                        hypre_ParVector* x) {
  const hypre_ParAMGData* const options = amg->hypre;
  const char* words = cannot_part(options);
  if (words) return words;
  const int most = (int)hypre_ParAMGDataMaxLevels(options);
  const HYPRE_BigInt few = (HYPRE_BigInt)hypre_ParAMGDataMaxCoarseSize(options);
  const MPI_Comm all = group->comm;
  amg->level = calloc((size_t)most, sizeof *amg->level);
  amg->gathered = calloc((size_t)most, sizeof *amg->gathered);
  if (!amg->level || !amg->gathered) abort();
  const hypre_IntArray* functions = hypre_ParAMGDataDofFunc(options);
  double spent = 0;
  int at = 0, next = 0, slow = 0;
  for (;;) {
    struct part* const part = calloc(1, sizeof *part);
    if (!part) abort();
    part->before = amg->parts;
    amg->parts = part;
    HYPRE_Int* numbers = functions ? hypre_IntArrayData(functions) : NULL;
    int to = 0, moved = 0;
    if (amg->costs && group->ranks > 1)
      to = early_choice(amg->costs, options, group, a, visits(options, at), at, &spent);
    else if (!amg->costs && next < amg->switches && amg->at[next] == at) to = amg->to[next++];
    if (to) {
      struct group *members, *roots = amg_switch(amg, group, at, to, hypre_ParCSRMatrixNumRows(a), &members);
      amg->gathered[at] = to;
      if (members) part->matrix = matrix_gathered(a, members, roots, &numbers);
      group = roots;
      if (!group) break;
      void* object;
      HYPRE_IJMatrixGetObject(part->matrix, &object);
      a = object, moved = 1;
      b = part->b = vector_like(a);
      x = part->x = vector_like(a);
    }
    const HYPRE_BigInt rows = hypre_ParCSRMatrixGlobalNumRows(a);
    const int levels = at && rows <= few ? 1 : levels_at_once(amg, group, at, next, most - at);
    hypre_ParAMGData* const hypre = part->hypre = options_from(options, at, levels);
    if (slow) hypre_ParAMGDataCoarsenType(hypre) = 0;
    if (numbers) hypre_ParAMGDataDofFunc(hypre) = numbers_of(numbers, hypre_ParCSRMatrixNumRows(a));
    if (moved) free(numbers);
    if (hypre_BoomerAMGSetup(hypre, a, b, x)) return "hypre failed to set a level up";
    const int made = (int)hypre_ParAMGDataNumLevels(hypre);
    hypre_ParCSRMatrix* const last = hypre_ParAMGDataAArray(hypre)[made - 1];
    const int wanted = !amg->costs && next < amg->switches && amg->at[next] == at + made - 1;
    const int whole = made < levels || at + made == most || (hypre_ParCSRMatrixGlobalNumRows(last) <= few && !wanted);
    for (int i = 0; i < made - !whole; ++i) {
      struct level* const level = amg->level + at + i;
      level->m = matrices_of(hypre, i);
      level->hypre = hypre, level->number = i;
      level->group = group;
    }
    at += made - 1;
    if (whole) break;
    /* As in its own loop: where coarsening is slow, it takes another one from then on. */
    for (int i = 1; i < made; ++i)
      slow |= hypre_ParAMGDataCoarsenType(options) > 0 &&
              (double)hypre_ParCSRMatrixGlobalNumRows(hypre_ParAMGDataAArray(hypre)[i]) >=
                  .75 * (double)hypre_ParCSRMatrixGlobalNumRows(hypre_ParAMGDataAArray(hypre)[i - 1]);
    a = last;
    b = hypre_ParAMGDataFArray(hypre)[made - 1], x = hypre_ParAMGDataUArray(hypre)[made - 1];
    functions = hypre_ParAMGDataDofFuncArray(hypre) ? hypre_ParAMGDataDofFuncArray(hypre)[made - 1] : NULL;
  }
  /* Ranks that are idle from some level on learn of the rest. */
  amg->levels = at + 1;
  MPI_Allreduce(MPI_IN_PLACE, &amg->levels, 1, MPI_INT, MPI_MAX, all);
  MPI_Allreduce(MPI_IN_PLACE, amg->gathered, most, MPI_INT, MPI_MAX, all);
  words = amg->parts->hypre ? smoother_refused(amg->parts->hypre, amg->levels) : NULL;
  int refused = words != NULL;
  MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MAX, all);
  return refused && !words ? "this smoother is not served" : words;
}
