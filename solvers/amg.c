#include "isthmus_amg.h"

#include <HYPRE.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amg.h"
#include "route.h"

#if HYPRE_RELEASE_NUMBER < 22200
#error "hypre 2.22 or later is needed"
#endif

static struct amg* of(HYPRE_Solver solver) { return (struct amg*)solver; }

static HYPRE_Int fail(struct amg* amg, const char* words) {
  snprintf(amg->words, sizeof amg->words, "%s", words);
  hypre_error_handler(__FILE__, __LINE__, HYPRE_ERROR_GENERIC, amg->words);
  return hypre_error_flag;
}

static int read_number(const char** text) {
  if (!isdigit((unsigned char)**text)) return -1;
  char* end;
  const long value = strtol(*text, &end, 10);
  *text = end;
  return value > 0 && value < 1L << 30 ? (int)value : -1;
}

HYPRE_Int isthmus_amg_create(HYPRE_Solver boomeramg, const char* gather, HYPRE_Solver* solver) {
  struct amg* const amg = calloc(1, sizeof *amg);
  if (!amg) return 1;
  amg->hypre = (hypre_ParAMGData*)boomeramg;
  for (const char* next = gather ? gather : ""; *next; next += *next == ',') {
    const int i = amg->switches++;
    if (i == MOST_SWITCHES || (amg->at[i] = read_number(&next)) < 0 || *next++ != ':' ||
        (amg->to[i] = read_number(&next)) < 0 || (*next && (*next != ',' || !next[1])) ||
        (i && amg->at[i] <= amg->at[i - 1]))
      return free(amg), 1;
  }
  *solver = (HYPRE_Solver)amg;
  return 0;
}

static void forget(struct amg* amg) {
  dense_free(amg->dense);
  amg->dense = NULL;
  for (int i = 0; i < amg->levels; ++i) {
    struct level* const level = amg->level + i;
    halo_free(level->a), halo_free(level->p), halo_free(level->r);
    if (level->own) {
      hypre_ParCSRMatrixDiag(level->own) = NULL; /* it is that of another matrix */
      hypre_ParCSRMatrixDestroy(level->own);
    }
    hypre_ParVector* const vectors[] = {level->f, level->u, level->g, level->v, level->z};
    for (int k = 0; k < 5; ++k)
      if (vectors[k]) hypre_ParVectorDestroy(vectors[k]);
    if (level->c) hypre_SeqVectorDestroy(level->c);
    if (level->gathering) {
      assembly_free(level->gathering->gather), assembly_free(level->gathering->scatter);
      hypre_SeqVectorDestroy(level->gathering->f), hypre_SeqVectorDestroy(level->gathering->u);
      free(level->gathering);
    }
    matrices_free(&level->m);
  }
  free(amg->level);
  free(amg->left);
  amg->level = NULL;
  amg->left = NULL;
  amg->levels = 0;
  early_free(amg);
  while (amg->made) group_free(amg->groups[--amg->made]);
}

HYPRE_Int isthmus_amg_destroy(HYPRE_Solver solver) {
  forget(of(solver));
  free(solver);
  return 0;
}

static hypre_ParVector* vector_of(HYPRE_Int rows, int owns) {
  HYPRE_BigInt starts[2] = {0, rows};
  hypre_ParVector* const made = hypre_ParVectorCreate(MPI_COMM_SELF, rows, starts);
  if (owns) hypre_ParVectorInitialize(made);
  else hypre_VectorOwnsData(hypre_ParVectorLocalVector(made)) = 0;
  return made;
}

static hypre_Vector* plain_vector(HYPRE_Int rows) {
  hypre_Vector* const made = hypre_SeqVectorCreate(rows);
  hypre_SeqVectorInitialize(made);
  return made;
}

/* The rows and columns of this rank as a matrix of one rank, without a copy. */
static hypre_ParCSRMatrix* own_of(hypre_ParCSRMatrix* matrix) {
  const HYPRE_Int rows = hypre_ParCSRMatrixNumRows(matrix);
  HYPRE_BigInt starts[2] = {0, rows};
  hypre_ParCSRMatrix* const made = hypre_ParCSRMatrixCreate(MPI_COMM_SELF, rows, rows, starts, starts, 0, 0, 0);
  hypre_CSRMatrixDestroy(hypre_ParCSRMatrixDiag(made));
  hypre_CSRMatrixInitialize(hypre_ParCSRMatrixOffd(made));
  hypre_ParCSRMatrixDiag(made) = hypre_ParCSRMatrixDiag(matrix);
  hypre_MatvecCommPkgCreate(made);
  return made;
}

struct matrices matrices_of(const hypre_ParAMGData* hypre, int number) {
  struct matrices out = {.a = hypre_ParAMGDataAArray(hypre)[number]};
  if (number < hypre_ParAMGDataNumLevels(hypre) - 1) {
    out.p = hypre_ParAMGDataPArray(hypre)[number];
    hypre_ParCSRMatrix** const r = hypre_ParAMGDataRArray(hypre);
    if (hypre_ParAMGDataRestriction(hypre) && r && r[number] != out.p) out.r = r[number];
    hypre_IntArray* const marks = hypre_ParAMGDataCFMarkerArray(hypre)[number];
    out.marks = marks ? hypre_IntArrayData(marks) : NULL;
  }
  hypre_Vector** const norms = hypre_ParAMGDataL1Norms(hypre);
  hypre_Vector** const scale = hypre_ParAMGDataChebyDS(hypre);
  if (norms && norms[number]) out.l1 = hypre_VectorData(norms[number]);
  if (scale && scale[number]) out.scale = hypre_VectorData(scale[number]);
  return out;
}

static int is_l1_of_blocks(HYPRE_Int type) { return type == 8 || type == 13 || type == 14; }

static int recomputes(const hypre_ParAMGData* hypre, int coarsest) {
  const HYPRE_Int* const types = hypre_ParAMGDataGridRelaxType(hypre);
  return coarsest ? is_l1_of_blocks(types[3]) : is_l1_of_blocks(types[1]) || is_l1_of_blocks(types[2]);
}

struct group* amg_switch(struct amg* amg, struct group* group, int at, int to, HYPRE_Int rows, struct group** members) {
  struct level* const first = amg->level + at;
  int is_root;
  const int mine = root_of(group, rows, to, &is_root);
  *members = group_split(group, mine);
  struct group* const roots = group_split(group, is_root ? 0 : -1);
  if (*members) amg->groups[amg->made++] = *members;
  if (roots) amg->groups[amg->made++] = roots;
  first->gathering = calloc(1, sizeof *first->gathering);
  if (!first->gathering) abort();
  first->gathering->f = plain_vector(rows);
  first->gathering->u = plain_vector(rows);
  if (*members) {
    first->gathering->members = *members;
    first->gathering->gather = assembly_make(*members, ISTHMUS_GATHER, rows);
    first->gathering->scatter = assembly_make(*members, ISTHMUS_SCATTER, rows);
  }
  return roots;
}

/* From level `at` on, matrices go to `to` of the ranks in `group`. Returns the group of those, NULL on others. */
static struct group* switch_levels(struct amg* amg, struct group* group, int at, int to) {
  struct group* members;
  struct group* const roots = amg_switch(amg, group, at, to, hypre_ParCSRMatrixNumRows(amg->level[at].m.a), &members);
  for (int i = at; i < amg->levels; ++i) {
    struct level* const level = amg->level + i;
    struct matrices moved = {0};
    const int coarsest = i == amg->levels - 1;
    if (members)
      moved = matrices_gathered(&level->m, members, roots, recomputes(amg->hypre, coarsest),
                                (int)hypre_ParAMGDataRelaxOrder(amg->hypre) && !coarsest);
    matrices_free(&level->m);
    level->m = moved;
    level->group = roots;
  }
  return roots;
}

static HYPRE_Int check_switches(struct amg* amg, int ranks) {
  for (int i = 0; i < amg->switches; ++i) {
    char words[128];
    if (amg->at[i] >= amg->levels)
      snprintf(words, sizeof words, "level %d to %d: the hierarchy has levels 0 to %d", amg->at[i], amg->to[i],
               amg->levels - 1);
    else if (amg->to[i] > ranks)
      snprintf(words, sizeof words, "level %d to %d: there are %d ranks", amg->at[i], amg->to[i], ranks);
    else continue;
    return fail(amg, words);
  }
  return 0;
}

/* Levels as BoomerAMG's setup has made them, and gathered afterwards. Collective; an error is the same on all ranks. */
static HYPRE_Int late_setup(struct amg* amg, struct group* group, HYPRE_ParCSRMatrix a, HYPRE_ParVector b,
                            HYPRE_ParVector x) {
  const HYPRE_Int status = HYPRE_BoomerAMGSetup((HYPRE_Solver)amg->hypre, a, b, x);
  if (status) return status;
  const int levels = amg->levels = (int)hypre_ParAMGDataNumLevels(amg->hypre);
  amg->level = calloc((size_t)levels, sizeof *amg->level);
  if (!amg->level) abort();
  const char* const refused = smoother_refused(amg->hypre, levels);
  if (refused) return fail(amg, refused);
  if (check_switches(amg, group->ranks)) return hypre_error_flag;
  for (int i = 0; i < levels; ++i) {
    struct level* const level = amg->level + i;
    level->m = matrices_of(amg->hypre, i);
    level->hypre = amg->hypre, level->number = i;
    level->group = group;
  }
  for (int i = 0; group && i < amg->switches; ++i) group = switch_levels(amg, group, amg->at[i], amg->to[i]);
  return 0;
}

/* What a cycle needs besides matrices. */
static void equip(struct amg* amg) {
  const int last = amg->levels - 1;
  for (int i = 0; i <= last; ++i) {
    struct level* const level = amg->level + i;
    if (!level->group) break;
    const HYPRE_Int rows = hypre_ParCSRMatrixNumRows(level->m.a);
    const int in_steps = i < MOST_LEVELS && amg->in_steps >> i & 1;
    level->a = halo_make(level->m.a, level->group, 1, 0, in_steps);
    if (level->m.p) level->p = halo_make(level->m.p, level->group, 1, !level->m.r, in_steps);
    if (level->m.r) level->r = halo_make(level->m.r, level->group, 1, 0, in_steps);
    level->own = own_of(level->m.a);
    level->f = vector_of(rows, i > 0), level->u = vector_of(rows, i > 0);
    level->g = vector_of(rows, 1), level->v = vector_of(rows, 1), level->z = vector_of(rows, 1);
    level->c = plain_vector(rows);
    const HYPRE_Int type = hypre_ParAMGDataGridRelaxType(level->hypre)[3];
    if (i == last && last && (type == 9 || type == 99 || type == 199)) amg->dense = dense_make(level);
  }
}

static HYPRE_Int set_up(struct amg* amg, HYPRE_ParCSRMatrix a, HYPRE_ParVector b, HYPRE_ParVector x) {
  const MPI_Comm comm = hypre_ParCSRMatrixComm((hypre_ParCSRMatrix*)a);
  const char* const way = getenv("ISTHMUS_EXCHANGE");
  struct group* const group = group_of(comm, !way || strcmp(way, "mpi") != 0, amg->ranks_per_node);
  if (!group) return fail(amg, isthmus_last_error());
  amg->groups[amg->made++] = group;
  if (amg->early) {
    const char* const words = early_setup(amg, group, (hypre_ParCSRMatrix*)a, (hypre_ParVector*)b, (hypre_ParVector*)x);
    if (words) return fail(amg, words);
    if (check_switches(amg, group->ranks)) return hypre_error_flag;
  } else {
    const HYPRE_Int status = late_setup(amg, group, a, b, x);
    if (status) return status;
  }
  amg->left = calloc((size_t)amg->levels, sizeof *amg->left);
  if (!amg->left) abort();
  equip(amg);
  int failed = 0;
  for (int i = 0; i < amg->made; ++i) failed |= amg->groups[i]->failed;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm);
  return failed ? fail(amg, isthmus_last_error()) : hypre_error_flag;
}

HYPRE_Int isthmus_amg_setup(HYPRE_Solver solver, HYPRE_ParCSRMatrix a, HYPRE_ParVector b, HYPRE_ParVector x) {
  struct amg* const amg = of(solver);
  forget(amg);
  amg->words[0] = 0;
  const HYPRE_Int status = set_up(amg, a, b, x);
  if (!amg->left) forget(amg); /* it came to no end: there is nothing to solve with */
  return status;
}

void isthmus_amg_gather_early(HYPRE_Solver solver, const isthmus_amg_costs* costs) {
  struct amg* const amg = of(solver);
  amg->early = 1;
  amg->costs = costs ? &amg->held : NULL;
  if (costs) amg->held = *costs;
}

HYPRE_Int isthmus_amg_steps(HYPRE_Solver solver, const char* levels, HYPRE_Int ranks_per_node) {
  unsigned long long found = 0;
  if (levels && strcmp(levels, "all") == 0) {
    found = ~0ull;
  } else {
    for (const char* next = levels ? levels : ""; *next; next += *next == ',') {
      char* end;
      const long level = isdigit((unsigned char)*next) ? strtol(next, &end, 10) : -1;
      if (level < 0 || level >= MOST_LEVELS || (*end && (*end != ',' || !end[1]))) return 1;
      found |= 1ull << level;
      next = end;
    }
  }
  if (ranks_per_node < 0) return 1;
  of(solver)->in_steps = found;
  of(solver)->ranks_per_node = (int)ranks_per_node;
  return 0;
}

static hypre_Vector* local(hypre_ParVector* vector) { return hypre_ParVectorLocalVector(vector); }

/* The residual of a level becomes the right-hand side of the next one. */
static void go_down(struct amg* amg, int number) {
  struct level *const level = amg->level + number, *const next = level + 1;
  struct gathering* const gathering = next->gathering;
  if (level->group) {
    hypre_Vector* const f = gathering ? gathering->f : local(next->f);
    halo_product(level->a, -1, local(level->u), 1, local(level->f), local(level->v));
    if (level->r) halo_product(level->r, 1, local(level->v), 0, f, f);
    else halo_transposed(level->p, local(level->v), f);
    if (gathering && gathering->members)
      assembly_run(gathering->gather, hypre_VectorData(f), next->group ? hypre_VectorData(local(next->f)) : NULL);
  }
  if (next->group) hypre_SeqVectorSetConstantValues(local(next->u), 0);
}

/* A level gets the correction of the next one. */
static void go_up(struct amg* amg, int number) {
  struct level *const level = amg->level + number, *const next = level + 1;
  struct gathering* const gathering = next->gathering;
  if (!level->group) return;
  if (gathering && gathering->members)
    assembly_run(gathering->scatter, next->group ? hypre_VectorData(local(next->u)) : NULL,
                 hypre_VectorData(gathering->u));
  halo_product(level->p, 1, gathering ? gathering->u : local(next->u), 1, local(level->u), local(level->u));
}

static void cycle(struct amg* amg) {
  struct route route = route_begin(amg->hypre, amg->levels, amg->left);
  for (int step = 1; step;) {
    if (amg->level[route.number].group) smooth(amg->level + route.number, route.way, amg->dense);
    step = route_next(&route);
    if (step > 0) go_down(amg, route.number - 1);
    if (step < 0) go_up(amg, route.number);
  }
}

HYPRE_Int isthmus_amg_solve(HYPRE_Solver solver, HYPRE_ParCSRMatrix a, HYPRE_ParVector b, HYPRE_ParVector x) {
  struct amg* const amg = of(solver);
  if (!amg->levels && *amg->words) { /* the setup has failed */
    hypre_error_handler(__FILE__, __LINE__, HYPRE_ERROR_GENERIC, amg->words);
    return hypre_error_flag;
  }
  if (!amg->levels) return fail(amg, "isthmus_amg_solve: call isthmus_amg_setup first");
  (void)a; /* as in setup */
  struct level* const top = amg->level;
  hypre_VectorData(local(top->f)) = hypre_VectorData(local((hypre_ParVector*)b));
  hypre_VectorData(local(top->u)) = hypre_VectorData(local((hypre_ParVector*)x));
  const HYPRE_Real tolerance = hypre_ParAMGDataTol(amg->hypre);
  const HYPRE_Int most = hypre_ParAMGDataMaxIter(amg->hypre), least = hypre_ParAMGDataMinIter(amg->hypre);
  HYPRE_Real norm = 1, whole[2] = {1, 1};
  amg->iterations = 0;
  for (;; ++amg->iterations) {
    if (tolerance > 0) {
      halo_product(top->a, -1, local(top->u), 1, local(top->f), local(top->v));
      HYPRE_Real part[2] = {hypre_SeqVectorInnerProd(local(top->v), local(top->v)),
                            hypre_SeqVectorInnerProd(local(top->f), local(top->f))};
      MPI_Allreduce(part, whole, 2, HYPRE_MPI_REAL, MPI_SUM, top->group->comm);
      norm = sqrt(whole[0]) / (whole[1] > 0 ? sqrt(whole[1]) : 1);
    }
    if ((norm < tolerance && amg->iterations >= least) || amg->iterations >= most) break;
    cycle(amg);
  }
  hypre_ParAMGDataNumIterations(amg->hypre) = amg->iterations;
  hypre_ParAMGDataRelativeResidualNorm(amg->hypre) = norm;
  for (int i = 0; i < amg->made; ++i)
    if (amg->groups[i]->failed) return fail(amg, isthmus_last_error());
  return hypre_error_flag;
}

HYPRE_Int isthmus_amg_gathered(HYPRE_Solver solver, HYPRE_Int level) {
  const struct amg* const amg = of(solver);
  if (amg->gathered) return amg->gathered[level];
  for (int i = 0; i < amg->switches; ++i)
    if (amg->at[i] == level) return amg->to[i];
  return 0;
}

const char* isthmus_amg_error(HYPRE_Solver solver) { return of(solver)->words; }

HYPRE_Int isthmus_amg_iterations(HYPRE_Solver solver) { return of(solver)->iterations; }

HYPRE_Int isthmus_amg_levels(HYPRE_Solver solver) { return of(solver)->levels; }

static void count(isthmus_amg_level* counts, const struct exchange* exchange) {
  if (!exchange) return;
  counts->messages += exchange->times * exchange->messages;
  counts->bytes += exchange->times * exchange->bytes;
  counts->far += exchange->times * exchange->far;
}

static void count_assembly(isthmus_amg_level* counts, const struct assembly* assembly) {
  if (!assembly || assembly->group->ranks == 1) return;
  counts->collectives += assembly->times;
  counts->moved += assembly->times * (long long)sizeof(HYPRE_Real) * assembly->own;
}

void isthmus_amg_counts(HYPRE_Solver solver, HYPRE_Int number, isthmus_amg_level* counts) {
  const struct amg* const amg = of(solver);
  const struct level* const level = amg->level + number;
  *counts = (isthmus_amg_level){0};
  if (level->group) counts->rows = hypre_ParCSRMatrixNumRows(level->m.a);
  const struct halo* const halos[] = {level->a, level->p, level->r};
  for (int i = 0; i < 3; ++i)
    if (halos[i]) count(counts, halos[i]->forward), count(counts, halos[i]->back);
  if (level->gathering) {
    count_assembly(counts, level->gathering->gather);
    count_assembly(counts, level->gathering->scatter);
  }
  if (number == amg->levels - 1 && amg->dense) count_assembly(counts, amg->dense->all);
}
