/* Heat in a cube, divided among ranks in three dimensions. The six faces are described to MPI as subarrays, so nothing
 * is packed by hand.
 *
 * The field begins as a product of sines, an eigenvector of the step: the check is its known decay. */
#include <math.h>

#include "example.h"

#define AT(field, i, j, k) (field)[((size_t)(i) * (own[1] + 2) + (j)) * (own[2] + 2) + (k)]

static int own[3]; /* points of this rank in each dimension, without the halo */

/* One layer of points across dimension d, at this index. */
static MPI_Datatype face(int d, int index) {
  int sizes[3] = {own[0] + 2, own[1] + 2, own[2] + 2}, parts[3] = {own[0], own[1], own[2]}, starts[3] = {1, 1, 1};
  MPI_Datatype type;
  parts[d] = 1;
  starts[d] = index;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

static void step(const double* old, double* new, double r) {
  for (int i = 1; i <= own[0]; i++)
    for (int j = 1; j <= own[1]; j++)
      for (int k = 1; k <= own[2]; k++)
        AT(new, i, j, k) =
            (1 - 6 * r) * AT(old, i, j, k) + r * (AT(old, i - 1, j, k) + AT(old, i + 1, j, k) + AT(old, i, j - 1, k) +
                                                  AT(old, i, j + 1, k) + AT(old, i, j, k - 1) + AT(old, i, j, k + 1));
}

int main(int argc, char** argv) {
  argument arguments[] = {{"points", 64, 1}, {"steps", 100, 0}};
  MPI_Init(&argc, &argv);
  double start = MPI_Wtime();
  read_arguments(argc, argv, "heat in a cube of points x points x points", arguments, 2);
  int n = (int)arguments[0].value, steps = (int)arguments[1].value;

  int ranks, rank, dims[3] = {0, 0, 0}, wrap[3] = {0, 0, 0}, place[3], neighbour[6], first[3];
  MPI_Comm comm;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, dims);
  if (n < dims[0]) refuse("halo3d: every rank needs a point, so 'points' must not be smaller than the grid of ranks");
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, wrap, 1, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Cart_coords(comm, rank, 3, place);
  for (int d = 0; d < 3; d++) {
    first[d] = (int)block_start(n, dims[d], place[d]);
    own[d] = (int)block_start(n, dims[d], place[d] + 1) - first[d];
    MPI_Cart_shift(comm, d, 1, &neighbour[2 * d], &neighbour[2 * d + 1]);
  }
  MPI_Datatype mine[6], halo[6];
  for (int d = 0; d < 3; d++) {
    mine[2 * d] = face(d, 1), mine[2 * d + 1] = face(d, own[d]);
    halo[2 * d] = face(d, 0), halo[2 * d + 1] = face(d, own[d] + 1);
  }

  size_t all = (size_t)(own[0] + 2) * (own[1] + 2) * (own[2] + 2);
  double *old = allocate(all, sizeof *old), *new = allocate(all, sizeof *new);
  double angle = acos(-1.0) / (n + 1), r = 0.1;
#define EXACT(i, j, k) (sin(angle * (first[0] + (i))) * sin(angle * (first[1] + (j))) * sin(angle * (first[2] + (k))))
  for (int i = 1; i <= own[0]; i++)
    for (int j = 1; j <= own[1]; j++)
      for (int k = 1; k <= own[2]; k++) AT(old, i, j, k) = EXACT(i, j, k);

  for (int s = 0; s < steps; s++) {
    MPI_Request requests[12];
    MPI_Pcontrol(2);
    for (int side = 0; side < 6; side++)
      MPI_Irecv(old, 1, halo[side], neighbour[side], side ^ 1, comm, &requests[side]);
    for (int side = 0; side < 6; side++)
      MPI_Isend(old, 1, mine[side], neighbour[side], side, comm, &requests[6 + side]);
    MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    step(old, new, r);
    double* other = old;
    old = new, new = other;
  }

  double factor = pow(1 - 6 * r + 6 * r * cos(angle), steps), error = 0, mine_sum = 0, sum = 0;
  for (int i = 1; i <= own[0]; i++)
    for (int j = 1; j <= own[1]; j++)
      for (int k = 1; k <= own[2]; k++) {
        error = fmax(error, fabs(AT(old, i, j, k) - factor * EXACT(i, j, k)));
        mine_sum += AT(old, i, j, k);
      }
  MPI_Reduce(&mine_sum, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
  char found[160];
  snprintf(found, sizeof found, "%d^3 points on %d x %d x %d ranks, %d steps, mean %.3g", n, dims[0], dims[1], dims[2],
           steps, sum / n / n / n);
  for (int side = 0; side < 6; side++) MPI_Type_free(&mine[side]), MPI_Type_free(&halo[side]);
  MPI_Comm_free(&comm);
  free(old), free(new);
  return conclude(found, error, 1e-12, start);
}
