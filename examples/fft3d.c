/* A three-dimensional Fourier transform of n x n x n complex numbers, divided into pencils: each rank has whole lines
 * of one dimension, transforms them with serial FFTW, and exchanges blocks with the ranks of its row (z to y) and of
 * its column (y to x) by all-to-alls.
 *
 * Checks: a plane wave becomes a single peak, and forth and back again is the identity. */
#include <complex.h>
#include <fftw3.h>
#include <math.h>

#include "example.h"

typedef double complex number;

static int n, a, b; /* points of a side; of a pencil across, in the dimensions divided among columns and rows */
static MPI_Comm row, column;
static int in_row, in_column; /* their numbers of ranks */
static number* spare;

/* data[outer][line][inner] with whole lines of the middle dimension, `from` of them apart, to FFTs in place. */
static void transform(number* data, int outer, int inner, int sign) {
  fftw_plan plan = fftw_plan_many_dft(1, &n, inner, data, NULL, inner, 1, data, NULL, inner, 1, sign, FFTW_ESTIMATE);
  for (int i = 0; i < outer; i++) fftw_execute_dft(plan, data + (size_t)i * n * inner, data + (size_t)i * n * inner);
  fftw_destroy_plan(plan);
}

/* From x[a][b][z] to x[a][y][b]: every rank of the row gets its part of z and gives its part of y. */
static void z_to_y(number* data, int back) {
  size_t block = (size_t)a * b * b;
  for (int pass = 0; pass < 2; pass++) {
    /* Blocks of the exchange are [a][y of its owner][z of its owner]. */
    if (pass == 1) MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, spare, (int)(2 * block), MPI_DOUBLE, row);
    int packing = pass == 0, lines_of_z = packing != back;
    for (int p = 0; p < in_row; p++)
      for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++)
          for (int k = 0; k < b; k++) {
            number* there = &spare[p * block + ((size_t)i * b + j) * b + k];
            number* here = lines_of_z ? &data[((size_t)i * b + j) * n + (size_t)p * b + k]
                                      : &data[((size_t)i * n + (size_t)p * b + j) * b + k];
            if (packing) *there = *here;
            else *here = *there;
          }
  }
}

/* From x[a][y][b] to x[x][a of y][b]: blocks are contiguous where lines are along x. */
static void y_to_x(number* data, int back) {
  size_t line = (size_t)a * b, block = (size_t)a * line;
  if (back) memcpy(spare, data, in_column * block * sizeof *data);
  else
    for (int p = 0; p < in_column; p++)
      for (int i = 0; i < a; i++)
        memcpy(&spare[p * block + i * line], &data[((size_t)i * n + (size_t)p * a) * b], line * sizeof *data);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, spare, (int)(2 * block), MPI_DOUBLE, column);
  if (!back) memcpy(data, spare, in_column * block * sizeof *data);
  else
    for (int p = 0; p < in_column; p++)
      for (int i = 0; i < a; i++)
        memcpy(&data[((size_t)i * n + (size_t)p * a) * b], &spare[p * block + i * line], line * sizeof *data);
}

static void forward(number* data) {
  transform(data, a * b, 1, FFTW_FORWARD);
  z_to_y(data, 0);
  transform(data, a, b, FFTW_FORWARD);
  y_to_x(data, 0);
  transform(data, 1, a * b, FFTW_FORWARD);
}

static void backward(number* data) {
  transform(data, 1, a * b, FFTW_BACKWARD);
  y_to_x(data, 1);
  transform(data, a, b, FFTW_BACKWARD);
  z_to_y(data, 1);
  transform(data, a * b, 1, FFTW_BACKWARD);
}

int main(int argc, char** argv) {
  argument arguments[] = {{"points", 48, 2}, {"repetitions", 5, 0}};
  MPI_Init(&argc, &argv);
  double start = MPI_Wtime();
  read_arguments(argc, argv, "Fourier transform of points^3 complex numbers, and back", arguments, 2);
  n = (int)arguments[0].value;

  int ranks, dims[2] = {0, 0}, wrap[2] = {0, 0}, keep_column[2] = {1, 0}, keep_row[2] = {0, 1}, place[2], rank;
  MPI_Comm grid;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, dims);
  if (n % dims[0] || n % dims[1]) refuse("fft3d: 'points' must be a multiple of both extents of the grid of ranks");
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wrap, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  MPI_Cart_sub(grid, keep_column, &column);
  MPI_Cart_sub(grid, keep_row, &row);
  in_column = dims[0], in_row = dims[1];
  a = n / in_column, b = n / in_row;

  size_t all = (size_t)a * b * n;
  number *data = fftw_malloc(all * sizeof *data), *original = allocate(all, sizeof *original);
  spare = allocate(all, sizeof *spare);

  /* exp(2 pi i (x + 2 y + 3 z) / n): one peak of n^3 at (1, 2, 3), modulo n. */
  double turn = 2 * acos(-1.0) / n, error = 0;
  for (int i = 0; i < a; i++)
    for (int j = 0; j < b; j++)
      for (int k = 0; k < n; k++)
        data[((size_t)i * b + j) * n + k] = cexp(I * turn * ((place[0] * a + i) + 2 * (place[1] * b + j) + 3 * k));
  forward(data);
  for (int x = 0; x < n; x++)
    for (int j = 0; j < a; j++)
      for (int k = 0; k < b; k++) {
        int y = place[0] * a + j, z = place[1] * b + k, peak = x == 1 % n && y == 2 % n && z == 3 % n;
        error = fmax(error, cabs(data[((size_t)x * a + j) * b + k] / ((double)n * n * n) - peak));
      }

  srand(1 + (unsigned)rank);
  for (size_t i = 0; i < all; i++) data[i] = original[i] = rand() / (double)RAND_MAX + I * (rand() / (double)RAND_MAX);
  for (long r = 0; r < arguments[1].value; r++) {
    MPI_Pcontrol(2);
    forward(data);
    backward(data);
    for (size_t i = 0; i < all; i++) data[i] /= (double)n * n * n;
  }
  for (size_t i = 0; i < all; i++) error = fmax(error, cabs(data[i] - original[i]));

  char found[160];
  snprintf(found, sizeof found, "%d^3 points on %d x %d ranks, %ld times there and back", n, in_column, in_row,
           arguments[1].value);
  MPI_Comm_free(&row), MPI_Comm_free(&column), MPI_Comm_free(&grid);
  fftw_free(data), free(original), free(spare);
  return conclude(found, error, 1e-11, start);
}
