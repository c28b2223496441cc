#include "input.h"

#include <_hypre_parcsr_ls.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "problems.h"

static const char* const keys[] = {
    "problem", "points", "boxes",       "epsilon",  "angle",     "jump",       "matrix",    "out",      "matrices",
    "coarsen", "interp", "elements",    "truncate", "agg",       "agg_interp", "threshold", "relax",    "unknowns",
    "nodal",   "levels", "coarse_rows", "seq",      "cycles",    "sweeps",     "cycle",     "restrict", "order",
    "degree",  "weight", "gather",      "most",     "tolerance", "rows",       "redundant", "repeats",  "early",
    "alpha",   "beta",   "flop",        "cache",    "fcycle",    "steps",      "node"};
enum { KEYS = sizeof keys / sizeof *keys };
static const char* given[KEYS];
int rank, ranks;

void stop(const char* what, const char* which) {
  if (rank == 0) fprintf(stderr, "%s%s%s\n", which, *which ? ": " : "", what);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  exit(2);
}

const char* value_of(const char* key) {
  for (int i = 0; i < KEYS; ++i)
    if (!strcmp(keys[i], key)) return given[i];
  abort();
}

double number(const char* key, double otherwise) { return value_of(key) ? atof(value_of(key)) : otherwise; }

void read_arguments(int argc, char** argv) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) {
    const char* equal = strchr(argv[i], '=');
    int found = -1;
    for (int k = 0; k < KEYS && equal; ++k)
      if (strlen(keys[k]) == (size_t)(equal - argv[i]) && !strncmp(keys[k], argv[i], strlen(keys[k]))) found = k;
    if (found < 0) stop("no such option", argv[i]);
    given[found] = equal + 1;
  }
}

/* The rows of this rank. */
static HYPRE_IJMatrix generated(struct problem* problem, struct grid* grid) {
  const int unknowns = problem_unknowns(problem);
  grid_number(grid);
  problem_prepare(problem);
  const int box[3] = {rank / grid->boxes[2] / grid->boxes[1], rank / grid->boxes[2] % grid->boxes[1],
                      rank % grid->boxes[2]};
  const HYPRE_BigInt low = (HYPRE_BigInt)(unknowns * grid->first[rank]),
                     high = (HYPRE_BigInt)(unknowns * grid->first[rank + 1]) - 1;
  HYPRE_IJMatrix matrix;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, low, high, low, high, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_Int* sizes = malloc(((size_t)(high - low) + 2) * sizeof *sizes);
  for (HYPRE_BigInt i = 0; i <= high - low; ++i)
    sizes[i] = problem->kind == ELASTICITY ? 81 : problem->kind == LAPLACE27 ? 27 : 9;
  HYPRE_IJMatrixSetRowSizes(matrix, sizes);
  free(sizes);
  HYPRE_IJMatrixInitialize(matrix);
  HYPRE_BigInt row = low;
  long long at[3];
  for (at[0] = grid_begin(grid, 0, box[0]); at[0] < grid_begin(grid, 0, box[0] + 1); ++at[0])
    for (at[1] = grid_begin(grid, 1, box[1]); at[1] < grid_begin(grid, 1, box[1] + 1); ++at[1])
      for (at[2] = grid_begin(grid, 2, box[2]); at[2] < grid_begin(grid, 2, box[2] + 1); ++at[2])
        for (int unknown = 0; unknown < unknowns; ++unknown, ++row) {
          long long columns[MOST];
          double values[MOST];
          HYPRE_BigInt wide[MOST];
          HYPRE_Int count = problem_row(problem, grid, at, unknown, columns, values);
          for (int i = 0; i < count; ++i) wide[i] = (HYPRE_BigInt)columns[i];
          HYPRE_IJMatrixSetValues(matrix, 1, &count, &row, wide, values);
        }
  HYPRE_IJMatrixAssemble(matrix);
  return matrix;
}

static void take(int file, void* into, size_t size, long long from) {
  char* next = into;
  while (size) {
    const ssize_t got = pread(file, next, size, (off_t)from);
    if (got <= 0) {
      fprintf(stderr, "%s: %s\n", value_of("matrix"), got ? strerror(errno) : "is too short");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    next += got, from += got, size -= (size_t)got;
  }
}

/* A file of int64 rows, nonzeros, first[rows + 1], columns[nonzeros] and of doubles; each rank reads its rows. */
static HYPRE_IJMatrix from_file(const char* path) {
  const int file = open(path, O_RDONLY);
  int wrong = file < 0 ? errno : 0;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (wrong) stop(strerror(wrong), path);
  int64_t size[2];
  take(file, size, sizeof size, 0);
  if (size[0] < ranks) stop("the matrix has fewer rows than there are ranks", path);
  const int64_t low = size[0] * rank / ranks, high = size[0] * (rank + 1) / ranks;
  int64_t* first = malloc((size_t)(high - low + 1) * sizeof *first);
  take(file, first, (size_t)(high - low + 1) * sizeof *first, 16 + 8 * low);
  const size_t count = (size_t)(first[high - low] - first[0]);
  int64_t* columns = malloc(count * sizeof *columns + 8);
  double* values = malloc(count * sizeof *values + 8);
  const long long at = 16 + 8 * (size[0] + 1);
  take(file, columns, count * sizeof *columns, at + 8 * first[0]);
  take(file, values, count * sizeof *values, at + 8 * size[1] + 8 * first[0]);
  close(file);
  HYPRE_IJMatrix matrix;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, (HYPRE_BigInt)low, (HYPRE_BigInt)high - 1, (HYPRE_BigInt)low,
                       (HYPRE_BigInt)high - 1, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_Int* sizes = malloc((size_t)(high - low) * sizeof *sizes + 8);
  int64_t longest = 1;
  for (int64_t i = 0; i < high - low; ++i) {
    sizes[i] = (HYPRE_Int)(first[i + 1] - first[i]);
    if (sizes[i] > longest) longest = sizes[i];
  }
  HYPRE_IJMatrixSetRowSizes(matrix, sizes);
  HYPRE_IJMatrixInitialize(matrix);
  HYPRE_BigInt* wide = malloc((size_t)longest * sizeof *wide);
  for (int64_t i = 0; i < high - low; ++i) {
    const HYPRE_BigInt row = (HYPRE_BigInt)(low + i);
    const int64_t begin = first[i] - first[0];
    for (int k = 0; k < sizes[i]; ++k) wide[k] = (HYPRE_BigInt)columns[begin + k];
    HYPRE_IJMatrixSetValues(matrix, 1, sizes + i, &row, wide, values + begin);
  }
  HYPRE_IJMatrixAssemble(matrix);
  free(first), free(columns), free(values), free(sizes), free(wide);
  return matrix;
}

HYPRE_IJMatrix input_matrix(void) {
  struct problem problem = {
      .epsilon = number("epsilon", 1e-3), .angle = number("angle", 45), .jump = number("jump", 1000)};
  struct grid grid;
  if (value_of("matrix")) return from_file(value_of("matrix"));
  const int kind = problem_kind(value_of("problem") ? value_of("problem") : "");
  if (kind < 0) stop("no such problem", value_of("problem") ? value_of("problem") : "");
  problem.kind = (enum kind)kind;
  if (sscanf(value_of("points") ? value_of("points") : "", "%lldx%lldx%lld", grid.points, grid.points + 1,
             grid.points + 2) != 3 ||
      sscanf(value_of("boxes") ? value_of("boxes") : "", "%dx%dx%d", grid.boxes, grid.boxes + 1, grid.boxes + 2) != 3)
    stop("points and boxes: expected three numbers, such as 40x40x40", "");
  if (grid.boxes[0] * grid.boxes[1] * grid.boxes[2] != ranks) stop("one box for each rank is expected", "boxes");
  return generated(&problem, &grid);
}

HYPRE_Solver input_solver(void) {
  HYPRE_Solver amg;
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetPrintLevel(amg, 0);
  HYPRE_BoomerAMGSetTol(amg, 0);
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
#define SET(key, call, type) \
  if (value_of(key)) call(amg, (type)atof(value_of(key)))
  SET("coarsen", HYPRE_BoomerAMGSetCoarsenType, HYPRE_Int);
  SET("interp", HYPRE_BoomerAMGSetInterpType, HYPRE_Int);
  SET("elements", HYPRE_BoomerAMGSetPMaxElmts, HYPRE_Int);
  SET("truncate", HYPRE_BoomerAMGSetTruncFactor, HYPRE_Real);
  SET("agg", HYPRE_BoomerAMGSetAggNumLevels, HYPRE_Int);
  SET("agg_interp", HYPRE_BoomerAMGSetAggInterpType, HYPRE_Int);
  SET("threshold", HYPRE_BoomerAMGSetStrongThreshold, HYPRE_Real);
  SET("relax", HYPRE_BoomerAMGSetRelaxType, HYPRE_Int);
  SET("sweeps", HYPRE_BoomerAMGSetNumSweeps, HYPRE_Int);
  SET("cycle", HYPRE_BoomerAMGSetCycleType, HYPRE_Int);
  SET("fcycle", HYPRE_BoomerAMGSetFCycle, HYPRE_Int);
  SET("restrict", HYPRE_BoomerAMGSetRestriction, HYPRE_Int);
  SET("unknowns", HYPRE_BoomerAMGSetNumFunctions, HYPRE_Int);
  SET("nodal", HYPRE_BoomerAMGSetNodal, HYPRE_Int);
  SET("levels", HYPRE_BoomerAMGSetMaxLevels, HYPRE_Int);
  SET("coarse_rows", HYPRE_BoomerAMGSetMaxCoarseSize, HYPRE_Int);
  SET("order", HYPRE_BoomerAMGSetRelaxOrder, HYPRE_Int);
  SET("degree", HYPRE_BoomerAMGSetChebyOrder, HYPRE_Int);
  SET("weight", HYPRE_BoomerAMGSetRelaxWt, HYPRE_Real);
  SET("seq", HYPRE_BoomerAMGSetSeqThreshold, HYPRE_Int);
#undef SET
  return amg;
}
