/* solve KEY=VALUE ...: one problem solved by BoomerAMG and by its hierarchy with gathered levels, beside each other.
 *
 * Keys are those of input.c; what they mean is in python/isthmus/multigrid/solving.py, which calls this and reads what
 * it writes:
 *
 *   isthmus solve 1
 *   run NAME                          hypre | stay | gather | early | steps | threshold
 *   setup|solve|pcg SECONDS           solve: the cycles below; pcg: with one cycle as preconditioner
 *   residuals|pcg_residuals R R ...   relative to the right-hand side, before and after each iteration
 *   mpi MESSAGES BYTES COLLECTIVES    of all ranks in the cycles, as MPI sees them
 *   level ROWS PARTS MESSAGES BYTES MOST_MESSAGES MOST_BYTES COLLECTIVES FAR MOST_FAR
 *                                     of all ranks and of one, in a cycle; FAR: messages to other nodes
 *   end */
#include <_hypre_parcsr_ls.h>
#include <errno.h>
#include <krylov.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counting.h"
#include "exchange.h"
#include "input.h"
#include "isthmus_amg.h"
#include "route.h"
#include "text.h"

static HYPRE_ParCSRMatrix a;
static HYPRE_ParVector b, x;
static struct text out;

/* How a run is set up and solved: by hypre's functions or ours. */
struct run {
  const char* name;
  HYPRE_Solver hypre, solver; /* BoomerAMG, and what stands for it */
  HYPRE_PtrToSolverFcn setup, solve;
  int ours;
};

static double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

static HYPRE_IJVector vector_of(HYPRE_ParVector* object) {
  const HYPRE_BigInt low = hypre_ParCSRMatrixFirstRowIndex((hypre_ParCSRMatrix*)a),
                     high = hypre_ParCSRMatrixLastRowIndex((hypre_ParCSRMatrix*)a);
  HYPRE_IJVector made;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, low, high, &made);
  HYPRE_IJVectorSetObjectType(made, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(made);
  HYPRE_IJVectorAssemble(made);
  HYPRE_IJVectorGetObject(made, (void**)object);
  return made;
}

/* Numbers in [-1, 1] that depend on the row alone, not on the number of ranks. */
static void fill(hypre_ParVector* vector) {
  HYPRE_Complex* const data = hypre_VectorData(hypre_ParVectorLocalVector(vector));
  for (HYPRE_Int i = 0; i < hypre_VectorSize(hypre_ParVectorLocalVector(vector)); ++i) {
    unsigned long long word = (unsigned long long)(hypre_ParVectorFirstIndex(vector) + i) + 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    data[i] = (double)((word ^ (word >> 31)) >> 11) / (1ull << 52) - 1;
  }
}

static double norm(hypre_ParVector* vector) { return sqrt(hypre_ParVectorInnerProd(vector, vector)); }

static double residual(hypre_ParVector* room) {
  hypre_ParVectorCopy((hypre_ParVector*)b, room);
  hypre_ParCSRMatrixMatvec(-1, (hypre_ParCSRMatrix*)a, (hypre_ParVector*)x, 1, room);
  return norm(room) / norm((hypre_ParVector*)b);
}

static void check(const struct run* run, const char* what) {
  HYPRE_ClearError(HYPRE_ERROR_CONV); /* residuals tell */
  HYPRE_Int error = HYPRE_GetError(), worst;
  MPI_Allreduce(&error, &worst, 1, HYPRE_MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (!worst) return;
  const char* const words = run->ours ? isthmus_amg_error(run->solver) : "";
  stop(*words ? words : "hypre failed", what);
}

static void level_line(const isthmus_amg_level* own, int cycles) {
  long long sums[5] = {own->rows, own->messages, own->bytes, own->rows > 0, own->far};
  long long most[4] = {own->messages, own->bytes, own->collectives, own->far};
  MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  text_add(&out, "level %lld %lld %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", sums[0], sums[3], (double)sums[1] / cycles,
           (double)sums[2] / cycles, (double)most[0] / cycles, (double)most[1] / cycles, (double)most[2] / cycles,
           (double)sums[4] / cycles, (double)most[3] / cycles);
}

static void sends_of(hypre_ParCSRMatrix* matrix, int back, long long times, const struct group* all,
                     isthmus_amg_level* sums) {
  if (!hypre_ParCSRMatrixCommPkg(matrix)) hypre_MatvecCommPkgCreate(matrix);
  const hypre_ParCSRCommPkg* const package = hypre_ParCSRMatrixCommPkg(matrix);
  const HYPRE_Int partners = back ? hypre_ParCSRCommPkgNumRecvs(package) : hypre_ParCSRCommPkgNumSends(package);
  sums->messages += times * partners;
  sums->bytes +=
      times * (long long)sizeof(HYPRE_Real) *
      (back ? hypre_ParCSRCommPkgRecvVecStart(package, partners) : hypre_ParCSRCommPkgSendMapStart(package, partners));
  for (HYPRE_Int i = 0; i < partners; ++i) {
    const HYPRE_Int to = back ? hypre_ParCSRCommPkgRecvProc(package, i) : hypre_ParCSRCommPkgSendProc(package, i);
    sums->far += times * (all->node_of[to] != all->node);
  }
}

/* Of a cycle of hypre's: how often it comes to a level, times what its communication packages say. */
static void hypre_levels(const hypre_ParAMGData* amg) {
  const HYPRE_Int levels = hypre_ParAMGDataNumLevels(amg), last = levels - 1;
  const HYPRE_Int *types = hypre_ParAMGDataGridRelaxType(amg), *sweeps = hypre_ParAMGDataNumGridSweeps(amg);
  int participates = (int)hypre_ParAMGDataParticipate(amg);
  MPI_Allreduce(MPI_IN_PLACE, &participates, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  int* const left = calloc((size_t)levels, sizeof *left);
  long long(*const comes)[4] = calloc((size_t)levels, sizeof *comes); /* to smooth, by way */
  long long* const downs = calloc((size_t)levels, sizeof *downs);
  if (!left || !comes || !downs) abort();
  struct group* const all = group_of(MPI_COMM_WORLD, 0, (int)number("node", 0));
  struct route route = route_begin(amg, (int)levels, left);
  for (int step = 1; step;) {
    ++comes[route.number][route.way];
    step = route_next(&route);
    if (step > 0) ++downs[route.number - 1];
  }
  for (HYPRE_Int i = 0; i <= last; ++i) {
    long long products = 0;
    for (int way = 0; way < 4; ++way) {
      HYPRE_Int type = way ? types[way] : hypre_ParAMGDataUserRelaxType(amg);
      long long one = type == 16 ? hypre_ParAMGDataChebyOrder(amg) : 1;
      if (type != 16 && hypre_ParAMGDataRelaxOrder(amg) == 1 && (way == 1 || way == 2)) one = 2;
      if (way == 3 && (type == 9 || participates)) one = 0;
      products += comes[i][way] * sweeps[way] * one;
    }
    /* By elimination all get the right-hand side; of gathered levels it goes to one rank and comes back, if not all do
     * the same. */
    const int joins = i == last && last && (participates || types[3] == 9);
    const long long collectives = joins ? comes[i][3] * (participates && !hypre_ParAMGDataRedundant(amg) ? 3 : 1) : 0;
    hypre_ParCSRMatrix* const matrix = hypre_ParAMGDataAArray(amg)[i];
    isthmus_amg_level sums = {.rows = hypre_ParCSRMatrixNumRows(matrix), .collectives = collectives};
    sends_of(matrix, 0, products + downs[i], all, &sums);
    if (i < last) {
      sends_of(hypre_ParAMGDataPArray(amg)[i], 0, downs[i], all, &sums);
      hypre_ParCSRMatrix** const r = hypre_ParAMGDataRArray(amg);
      if (hypre_ParAMGDataRestriction(amg)) sends_of(r[i], 0, downs[i], all, &sums);
      else sends_of(hypre_ParAMGDataPArray(amg)[i], 1, downs[i], all, &sums);
    }
    level_line(&sums, 1);
  }
  free(left), free(comes), free(downs);
  group_free(all);
}

static void our_levels(HYPRE_Solver solver, int cycles) {
  for (HYPRE_Int i = 1; i < isthmus_amg_levels(solver); ++i)
    if (isthmus_amg_gathered(solver, i)) text_add(&out, "switch %d %d\n", (int)i, (int)isthmus_amg_gathered(solver, i));
  for (HYPRE_Int i = 0; i < isthmus_amg_levels(solver); ++i) {
    isthmus_amg_level one;
    isthmus_amg_counts(solver, i, &one);
    level_line(&one, cycles);
  }
}

static double timed(const struct run* run, HYPRE_PtrToSolverFcn what, HYPRE_Solver solver) {
  HYPRE_ParVectorSetConstantValues(x, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  what(solver, (HYPRE_Matrix)a, (HYPRE_Vector)b, (HYPRE_Vector)x);
  const double seconds = slowest(MPI_Wtime() - begin);
  check(run, run->name);
  return seconds;
}

static double best_of(int repeats, const struct run* run, HYPRE_PtrToSolverFcn what, HYPRE_Solver solver) {
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const double seconds = timed(run, what, solver);
    if (seconds < best) best = seconds;
  }
  return best;
}

static void make(struct run* run, hypre_ParVector* room) {
  const int most = (int)number("most", 100), repeats = (int)number("repeats", 3);
  const double tolerance = number("tolerance", 1e-8);
  text_add(&out, "run %s\n", run->name);
  text_add(&out, "setup %.9g\n", best_of(repeats, run, run->setup, run->solver));
  HYPRE_ParVectorSetConstantValues(x, 0);
  int cycles = 0;
  double now = residual(room);
  text_add(&out, "residuals %.17g", now);
  counted = (struct counted){0};
  for (; cycles < most && now >= tolerance && now < 1e100; ++cycles) {
    counting = 1;
    run->solve(run->solver, (HYPRE_Matrix)a, (HYPRE_Vector)b, (HYPRE_Vector)x);
    counting = 0;
    check(run, run->name);
    text_add(&out, " %.17g", now = residual(room));
  }
  long long sums[3] = {counted.messages, counted.bytes, counted.collectives};
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  text_add(&out, "\nmpi %lld %lld %lld\n", sums[0], sums[1], sums[2]);
  if (run->ours) our_levels(run->solver, cycles ? cycles : 1);
  else hypre_levels((hypre_ParAMGData*)run->hypre);
  HYPRE_BoomerAMGSetMaxIter(run->hypre, cycles);
  text_add(&out, "solve %.9g\n", best_of(repeats, run, run->solve, run->solver));
  HYPRE_BoomerAMGSetMaxIter(run->hypre, 1);
  HYPRE_Solver pcg;
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &pcg);
  HYPRE_PCGSetTwoNorm(pcg, 1);
  HYPRE_PCGSetTol(pcg, tolerance);
  HYPRE_PCGSetMaxIter(pcg, most);
  HYPRE_PCGSetLogging(pcg, 1);
  HYPRE_PCGSetPrecond(pcg, run->solve, run->setup, run->solver);
  HYPRE_PCGSetup(pcg, (HYPRE_Matrix)a, (HYPRE_Vector)b, (HYPRE_Vector)x);
  check(run, run->name);
  text_add(&out, "pcg %.9g\npcg_residuals", best_of(repeats, run, (HYPRE_PtrToSolverFcn)HYPRE_PCGSolve, pcg));
  const hypre_PCGData* const data = (hypre_PCGData*)pcg;
  for (int i = 0; i <= data->num_iterations; ++i) text_add(&out, " %.17g", data->norms[i] / norm((hypre_ParVector*)b));
  text_add(&out, "\n");
  HYPRE_ParCSRPCGDestroy(pcg);
}

static void write_out(const char* path) {
  int wrong = 0;
  if (rank == 0) {
    char* const temporary = malloc(strlen(path) + 32);
    if (!temporary) abort();
    sprintf(temporary, "%s.%ld.part", path, (long)getpid());
    FILE* const stream = fopen(temporary, "w");
    if (!stream || fwrite(out.bytes, 1, out.size, stream) != out.size) wrong = errno ? errno : EIO;
    if (stream && fclose(stream)) wrong = errno ? errno : EIO;
    if (!wrong && rename(temporary, path)) wrong = errno;
    free(temporary);
  }
  MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (wrong) stop(strerror(wrong), path);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  read_arguments(argc, argv);
  if (!value_of("out")) stop("expected a file", "out");
  const HYPRE_IJMatrix matrix = input_matrix();
  HYPRE_IJMatrixGetObject(matrix, (void**)&a);
  HYPRE_ParVector room;
  const HYPRE_IJVector vectors[] = {vector_of(&b), vector_of(&x), vector_of(&room)};
  fill((hypre_ParVector*)b);
  text_add(&out, "isthmus solve 1\n");
  enum { HYPRE, STAY, GATHER, EARLY, STEPS, THRESHOLD, RUNS };
  const char* const names[] = {"hypre", "stay", "gather", "early", "steps", "threshold"};
  for (int i = 0; i < RUNS; ++i) {
    if ((i == GATHER && !value_of("gather")) || (i == EARLY && !number("early", 0)) ||
        (i == STEPS && !value_of("steps")) || (i == THRESHOLD && !value_of("rows")))
      continue;
    struct run run = {.name = names[i], .hypre = input_solver(), .ours = i != HYPRE && i != THRESHOLD};
    if (run.ours) {
      if (isthmus_amg_create(run.hypre, i == STAY ? NULL : value_of("gather"), &run.solver))
        stop("expected LEVEL:RANKS,... with ascending levels from 1", "gather");
      const isthmus_amg_costs costs = {.alpha = number("alpha", 0),
                                       .beta = number("beta", 0),
                                       .flop = number("flop", 0),
                                       .cache = number("cache", 0)};
      if (isthmus_amg_steps(run.solver, i == STEPS ? value_of("steps") : NULL, (HYPRE_Int)number("node", 0)))
        stop("expected levels from 0 to 63, or all", "steps");
      if (i == EARLY) isthmus_amg_gather_early(run.solver, value_of("alpha") ? &costs : NULL);
      run.setup = (HYPRE_PtrToSolverFcn)isthmus_amg_setup;
      run.solve = (HYPRE_PtrToSolverFcn)isthmus_amg_solve;
    } else {
      run.solver = run.hypre;
      run.setup = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup;
      run.solve = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve;
      if (i == THRESHOLD) {
        HYPRE_BoomerAMGSetSeqThreshold(run.hypre, (HYPRE_Int)number("rows", 0));
        HYPRE_BoomerAMGSetRedundant(run.hypre, (HYPRE_Int)number("redundant", 0));
      }
    }
    make(&run, (hypre_ParVector*)room);
    if (run.ours) isthmus_amg_destroy(run.solver);
    HYPRE_BoomerAMGDestroy(run.hypre);
  }
  text_add(&out, "end\n");
  write_out(value_of("out"));
  for (int i = 0; i < 3; ++i) HYPRE_IJVectorDestroy(vectors[i]);
  HYPRE_IJMatrixDestroy(matrix);
  free(out.bytes);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
