/* Which level is worth gathering, from what is known of it while the setup runs: its matrix. */
#include <math.h>
#include <stdlib.h>

#include "amg.h"

/* The rule of Gahvari, Gropp, Jordan, Schulz and Yang ("Systematic reduction of data movement in algebraic multigrid
 * solvers", 2013): all ranks of the level tell each other to whom they send how many elements, and find the same. */
struct sends {
  int ranks, active;
  long long *rows, *nonzeros;    /* of each rank */
  int *first, *partner, *amount; /* of rank i: from first[i] to first[i + 1] */
};

/* What of a level decides how long a product with its matrix takes. */
struct shape {
  double messages, elements, nonzeros, rows;
};

static void* room(int count, size_t size) {
  void* const found = calloc((size_t)count + 1, size);
  if (!found) abort();
  return found;
}

static struct sends told(struct group* group, hypre_ParCSRMatrix* matrix) {
  if (!hypre_ParCSRMatrixCommPkg(matrix)) hypre_MatvecCommPkgCreate(matrix);
  const hypre_ParCSRCommPkg* const package = hypre_ParCSRMatrixCommPkg(matrix);
  struct sends out = {.ranks = group->ranks};
  const long long own[3] = {hypre_ParCSRMatrixNumRows(matrix),
                            hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixDiag(matrix)) +
                                hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixOffd(matrix)),
                            hypre_ParCSRCommPkgNumSends(package)};
  long long* const all = room(3 * out.ranks, sizeof *all);
  MPI_Allgather(own, 3, MPI_LONG_LONG, all, 3, MPI_LONG_LONG, group->comm);
  out.rows = room(out.ranks, sizeof *out.rows), out.nonzeros = room(out.ranks, sizeof *out.nonzeros);
  out.first = room(out.ranks, sizeof *out.first);
  int* const counts = room(out.ranks, sizeof *counts);
  for (int i = 0; i < out.ranks; ++i) {
    out.rows[i] = all[3 * i], out.nonzeros[i] = all[3 * i + 1], counts[i] = (int)all[3 * i + 2];
    out.first[i + 1] = out.first[i] + counts[i];
    out.active += out.rows[i] > 0;
  }
  int *const to = room((int)own[2], sizeof *to), *const size = room((int)own[2], sizeof *size);
  for (int i = 0; i < own[2]; ++i) {
    to[i] = (int)hypre_ParCSRCommPkgSendProc(package, i);
    size[i] = (int)(hypre_ParCSRCommPkgSendMapStart(package, i + 1) - hypre_ParCSRCommPkgSendMapStart(package, i));
  }
  out.partner = room(out.first[out.ranks], sizeof *out.partner);
  out.amount = room(out.first[out.ranks], sizeof *out.amount);
  MPI_Allgatherv(to, (int)own[2], MPI_INT, out.partner, counts, out.first, MPI_INT, group->comm);
  MPI_Allgatherv(size, (int)own[2], MPI_INT, out.amount, counts, out.first, MPI_INT, group->comm);
  free(all), free(counts), free(to), free(size);
  return out;
}

static void sends_free(struct sends* sends) {
  free(sends->rows), free(sends->nonzeros), free(sends->first), free(sends->partner), free(sends->amount);
}

/* The largest of all roots where `count` of them hold the level, as root_of parts it. */
static struct shape shape_of(const struct sends* sends, int count) {
  struct shape out = {0};
  int* const root = room(sends->ranks, sizeof *root);
  for (int i = 0, before = 0; i < sends->ranks; ++i)
    root[i] = sends->rows[i] > 0 ? (int)((long long)before++ * count / sends->active) : -1;
  int* const seen = room(count, sizeof *seen); /* by which root last, and one more */
  struct shape one = {0};
  for (int i = 0, now = -1; i <= sends->ranks; ++i) {
    if (i < sends->ranks && root[i] < 0) continue;
    if (i == sends->ranks || root[i] != now) {
      out.messages = fmax(out.messages, one.messages), out.elements = fmax(out.elements, one.elements);
      out.nonzeros = fmax(out.nonzeros, one.nonzeros), out.rows = fmax(out.rows, one.rows);
      one = (struct shape){0};
      if (i == sends->ranks) break;
      now = root[i];
    }
    one.nonzeros += (double)sends->nonzeros[i], one.rows += (double)sends->rows[i];
    for (int k = sends->first[i]; k < sends->first[i + 1]; ++k) {
      const int other = root[sends->partner[k]];
      if (other < 0 || other == now) continue;
      one.elements += sends->amount[k];
      one.messages += seen[other] != now + 1;
      seen[other] = now + 1;
    }
  }
  free(root), free(seen);
  return out;
}

/* Products with the matrix that a cycle has on a level: sweeps, residual, and two that stand for interpolation. */
static double products(const hypre_ParAMGData* hypre) {
  const HYPRE_Int *types = hypre_ParAMGDataGridRelaxType(hypre), *sweeps = hypre_ParAMGDataNumGridSweeps(hypre);
  double sum = 3;
  for (int way = 1; way <= 2; ++way)
    sum += (double)sweeps[way] * (types[way] == 16 ? (double)hypre_ParAMGDataChebyOrder(hypre) : 1);
  return sum;
}

/* Seconds of an operation of a product with what a rank holds, the longest of all ranks. */
static double measured(struct group* group, hypre_ParCSRMatrix* matrix) {
  hypre_CSRMatrix* const own = hypre_ParCSRMatrixDiag(matrix);
  const HYPRE_Int rows = hypre_CSRMatrixNumRows(own), nonzeros = hypre_CSRMatrixNumNonzeros(own);
  hypre_Vector *const x = hypre_SeqVectorCreate(hypre_CSRMatrixNumCols(own)), *const y = hypre_SeqVectorCreate(rows);
  hypre_SeqVectorInitialize(x), hypre_SeqVectorInitialize(y);
  double best = 1e300;
  for (int i = 0; i < 3 && nonzeros; ++i) {
    const double begin = MPI_Wtime();
    hypre_CSRMatrixMatvec(1, own, x, 0, y);
    best = fmin(best, MPI_Wtime() - begin);
  }
  hypre_SeqVectorDestroy(x), hypre_SeqVectorDestroy(y);
  double flop = nonzeros ? best / (2. * (double)nonzeros) : 0;
  MPI_Allreduce(MPI_IN_PLACE, &flop, 1, MPI_DOUBLE, MPI_MAX, group->comm);
  return flop;
}

int early_choice(const isthmus_amg_costs* costs, const hypre_ParAMGData* hypre, struct group* group,
                 hypre_ParCSRMatrix* matrix, double visits, int at, double* spent) {
  struct sends sends = told(group, matrix);
  const double flop = costs->flop > 0 ? costs->flop : measured(group, matrix), times = visits * products(hypre);
  const struct shape now = shape_of(&sends, sends.active);
  const double stay =
      times * (now.messages * costs->alpha + now.elements * sizeof(HYPRE_Real) * costs->beta + 2 * now.nonzeros * flop);
  double best = stay;
  int found = 0;
  const int most = now.messages < sends.active - 1 ? (int)now.messages : sends.active - 1;
  for (int count = 1; at && count <= most; count *= 2) {
    const struct shape there = shape_of(&sends, count);
    /* A nonzero has a value and a column. */
    const double bytes = sizeof(HYPRE_Real) + sizeof(HYPRE_Int);
    if (costs->cache > 0 && there.nonzeros * bytes > costs->cache && now.nonzeros * bytes <= costs->cache) continue;
    const double collectives =
        2 * visits *
        (ceil(log2(ceil((double)sends.active / count))) * costs->alpha + there.rows * sizeof(HYPRE_Real) * costs->beta);
    const double seconds = times * (there.messages * costs->alpha + there.elements * sizeof(HYPRE_Real) * costs->beta +
                                    2 * there.nonzeros * flop) +
                           collectives;
    if (seconds < best) best = seconds, found = count;
  }
  const double least = costs->least > 0 ? costs->least : 0.05;
  if (found && stay - best < least * (*spent + stay)) best = stay, found = 0;
  *spent += best;
  sends_free(&sends);
  return found;
}
