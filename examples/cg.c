/* Conjugate gradients for Poisson's equation on a square, rows divided among ranks: one exchange of halos and two
 * global sums an iteration. The right side is made from a known solution, which is the check. */
#include <math.h>

#include "example.h"

static long n, rows; /* points of a side; rows of this rank */
static int below, above;

/* y = A x, the five-point Laplacian; row 0 and row rows + 1 of x are the neighbours'. */
static void apply(double* x, double* y) {
  MPI_Sendrecv(x + n, (int)n, MPI_DOUBLE, below, 0, x + (rows + 1) * n, (int)n, MPI_DOUBLE, above, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(x + rows * n, (int)n, MPI_DOUBLE, above, 1, x, (int)n, MPI_DOUBLE, below, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (long i = 1; i <= rows; i++)
    for (long j = 0; j < n; j++) {
      double west = j ? x[i * n + j - 1] : 0, east = j < n - 1 ? x[i * n + j + 1] : 0;
      y[i * n + j] = 4 * x[i * n + j] - west - east - x[(i - 1) * n + j] - x[(i + 1) * n + j];
    }
}

static double dot(const double* x, const double* y) {
  double mine = 0, sum;
  for (long i = n; i < (rows + 1) * n; i++) mine += x[i] * y[i];
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* The solution: no eigenvector, so that there is something to iterate. */
static double wanted(long i, long j) {
  double x = (i + 1.0) / (n + 1), y = (j + 1.0) / (n + 1);
  return x * (1 - x) * y * (1 - y) * exp(3 * x - y);
}

int main(int argc, char** argv) {
  argument arguments[] = {{"points", 256, 1}, {"iterations", 2000, 1}};
  MPI_Init(&argc, &argv);
  double start = MPI_Wtime();
  read_arguments(argc, argv, "conjugate gradients on a square of points x points, at most this many iterations",
                 arguments, 2);
  n = arguments[0].value;
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (n < ranks) refuse("cg: every rank needs a row, so 'points' must not be smaller than the number of ranks");
  below = rank ? rank - 1 : MPI_PROC_NULL;
  above = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  long first = block_start(n, ranks, rank);
  rows = block_start(n, ranks, rank + 1) - first;

  size_t all = (size_t)(rows + 2) * (size_t)n;
  double *x = allocate(all, sizeof *x), *r = allocate(all, sizeof *r), *p = allocate(all, sizeof *p);
  double* q = allocate(all, sizeof *q);
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < n; j++) p[(i + 1) * n + j] = wanted(first + i, j);
  apply(p, r); /* the right side; x begins as 0 */
  memcpy(p, r, all * sizeof *p);

  double square = dot(r, r), goal = square * 1e-24;
  long iterations = 0;
  while (iterations < arguments[1].value && square > goal) {
    MPI_Pcontrol(2);
    apply(p, q);
    double alpha = square / dot(p, q);
    for (long i = n; i < (rows + 1) * n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    double next = dot(r, r), beta = next / square;
    for (long i = n; i < (rows + 1) * n; i++) p[i] = r[i] + beta * p[i];
    square = next;
    iterations++;
  }

  double error = 0;
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < n; j++) error = fmax(error, fabs(x[(i + 1) * n + j] - wanted(first + i, j)));
  char found[160];
  snprintf(found, sizeof found, "%ld x %ld points on %d ranks, %ld iterations%s", n, n, ranks, iterations,
           square > goal ? " and not converged" : "");
  free(x), free(r), free(p), free(q);
  return conclude(found, error, square > goal ? 0 : 1e-8, start);
}
