/* Jacobi's iteration on a square, divided among ranks in two dimensions. Halos travel by persistent requests while the
 * points that need none are computed.
 *
 * The field begins as sin(pi x) sin(pi y), an eigenvector of the iteration on any grid: after k steps it must be the
 * same field times the k-th power of the eigenvalue, which is the check. */
#include <math.h>

#include "example.h"

enum { WEST, EAST, SOUTH, NORTH };
#define AT(field, i, j) (field)[(size_t)(i) * width + (j)]

static int rows, columns; /* of this rank, without the halo */
static size_t width;      /* of a row with its halo */

static void relax(const double* old, double* new, int from_row, int to_row, int from_column, int to_column) {
  for (int i = from_row; i < to_row; i++)
    for (int j = from_column; j < to_column; j++)
      AT(new, i, j) = 0.25 * (AT(old, i - 1, j) + AT(old, i + 1, j) + AT(old, i, j - 1) + AT(old, i, j + 1));
}

/* Receives into the halo of a field and sends of its outermost points, one of each per side. */
static void prepare(double* field, const int* neighbour, MPI_Datatype column, MPI_Comm comm, MPI_Request* requests) {
  double* mine[4] = {&AT(field, 1, 1), &AT(field, 1, columns), &AT(field, 1, 1), &AT(field, rows, 1)};
  double* halo[4] = {&AT(field, 1, 0), &AT(field, 1, columns + 1), &AT(field, 0, 1), &AT(field, rows + 1, 1)};
  for (int side = 0; side < 4; side++) {
    MPI_Datatype type = side < SOUTH ? column : MPI_DOUBLE;
    int count = side < SOUTH ? 1 : columns;
    /* What I send westwards is what my western neighbour gets from the east. */
    MPI_Recv_init(halo[side], count, type, neighbour[side], side ^ 1, comm, &requests[side]);
    MPI_Send_init(mine[side], count, type, neighbour[side], side, comm, &requests[4 + side]);
  }
}

static double change(const double* old, const double* new, MPI_Comm comm) {
  double mine = 0, largest;
  for (int i = 1; i <= rows; i++)
    for (int j = 1; j <= columns; j++) mine = fmax(mine, fabs(AT(new, i, j) - AT(old, i, j)));
  MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, comm);
  return largest;
}

int main(int argc, char** argv) {
  argument arguments[] = {{"points", 512, 2}, {"iterations", 200, 0}};
  MPI_Init(&argc, &argv);
  double start = MPI_Wtime();
  read_arguments(argc, argv, "Jacobi's iteration on a square of points x points", arguments, 2);
  int n = (int)arguments[0].value, iterations = (int)arguments[1].value;

  int ranks, rank, dims[2] = {0, 0}, wrap[2] = {0, 0}, place[2], neighbour[4];
  MPI_Comm comm;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, dims);
  if (n < dims[0] || n < dims[1])
    refuse("halo2d: every rank needs a point, so 'points' must not be smaller than the grid of ranks");
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wrap, 1, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Cart_coords(comm, rank, 2, place);
  MPI_Cart_shift(comm, 1, 1, &neighbour[WEST], &neighbour[EAST]);
  MPI_Cart_shift(comm, 0, 1, &neighbour[SOUTH], &neighbour[NORTH]);

  int first_row = (int)block_start(n, dims[0], place[0]), first_column = (int)block_start(n, dims[1], place[1]);
  rows = (int)block_start(n, dims[0], place[0] + 1) - first_row;
  columns = (int)block_start(n, dims[1], place[1] + 1) - first_column;
  width = (size_t)columns + 2;
  double *old = allocate((size_t)(rows + 2) * width, sizeof *old),
         *new = allocate((size_t)(rows + 2) * width, sizeof *new);
  double angle = acos(-1.0) / (n + 1);
  for (int i = 1; i <= rows; i++)
    for (int j = 1; j <= columns; j++) AT(old, i, j) = sin(angle * (first_row + i)) * sin(angle * (first_column + j));

  MPI_Datatype column;
  MPI_Type_vector(rows, 1, (int)width, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Request requests[2][8]; /* of the two fields, which change places */
  prepare(old, neighbour, column, comm, requests[0]);
  prepare(new, neighbour, column, comm, requests[1]);
  MPI_Type_free(&column);

  double difference = 0;
  for (int k = 0; k < iterations; k++) {
    MPI_Pcontrol(2); /* marks an iteration for tools */
    MPI_Startall(8, requests[k % 2]);
    relax(old, new, 2, rows, 2, columns);
    MPI_Waitall(8, requests[k % 2], MPI_STATUSES_IGNORE);
    relax(old, new, 1, 2, 1, columns + 1);
    if (rows > 1) relax(old, new, rows, rows + 1, 1, columns + 1);
    relax(old, new, 2, rows, 1, 2);
    if (columns > 1) relax(old, new, 2, rows, columns, columns + 1);
    if (k % 20 == 19) difference = change(old, new, comm);
    double* other = old;
    old = new, new = other;
  }

  double factor = pow(cos(angle), iterations), error = 0;
  for (int i = 1; i <= rows; i++)
    for (int j = 1; j <= columns; j++)
      error =
          fmax(error, fabs(AT(old, i, j) - factor * sin(angle * (first_row + i)) * sin(angle * (first_column + j))));
  char found[160];
  snprintf(found, sizeof found, "%d x %d points on %d x %d ranks, %d iterations, last change %.3g", n, n, dims[0],
           dims[1], iterations, difference);
  for (int i = 0; i < 8; i++) MPI_Request_free(&requests[0][i]), MPI_Request_free(&requests[1][i]);
  MPI_Comm_free(&comm);
  free(old), free(new);
  return conclude(found, error, 1e-12, start);
}
