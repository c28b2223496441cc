/* Gravity among bodies: every rank has a block of them, and copies of the blocks travel around a ring of ranks, each
 * waiting at its neighbour while the one before is worked on.
 *
 * Checks: the forces on all bodies add up to nothing (action and reaction), and one body of each rank is computed again
 * from all others. */
#include <math.h>

#include "example.h"

typedef struct {
  double x, y, z, mass;
} body;

/* Body i, which every rank can make. */
static body make(long i) {
  double angle = 2.399963 * (double)i, height = sin(0.7 * (double)i);
  return (body){cos(angle) * (1 + height / 3), sin(angle) * (1 + height / 3), height, 1 + (double)(i % 7) / 8};
}

/* Adds to force what a body with this mass at b exerts on a; softened, so that a body does nothing to itself. */
static void pull(const body* a, const body* b, double* force) {
  double dx = b->x - a->x, dy = b->y - a->y, dz = b->z - a->z, square = dx * dx + dy * dy + dz * dz + 1e-4;
  double strength = a->mass * b->mass / (square * sqrt(square));
  force[0] += strength * dx;
  force[1] += strength * dy;
  force[2] += strength * dz;
}

int main(int argc, char** argv) {
  argument arguments[] = {{"bodies", 2000, 1}, {"rounds", 3, 1}};
  MPI_Init(&argc, &argv);
  double start = MPI_Wtime();
  read_arguments(argc, argv, "gravity among bodies, computed this many times", arguments, 2);
  long n = arguments[0].value;
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  long first = block_start(n, ranks, rank), own = block_start(n, ranks, rank + 1) - first, most = n / ranks + 1;

  body *mine = allocate((size_t)most, sizeof *mine), *here = allocate((size_t)most, sizeof *here);
  body* coming = allocate((size_t)most, sizeof *coming);
  double(*force)[3] = allocate((size_t)own, sizeof *force);
  MPI_Datatype type;
  MPI_Type_contiguous(4, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  for (long i = 0; i < own; i++) mine[i] = make(first + i);

  for (long round = 0; round < arguments[1].value; round++) {
    MPI_Pcontrol(2);
    memset(force, 0, (size_t)own * sizeof *force);
    memcpy(here, mine, (size_t)most * sizeof *here);
    for (int hop = 0; hop < ranks; hop++) {
      int owner = (rank + ranks - hop) % ranks, next = (owner + ranks - 1) % ranks;
      long guests = block_start(n, ranks, owner + 1) - block_start(n, ranks, owner);
      long expected = block_start(n, ranks, next + 1) - block_start(n, ranks, next);
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      if (hop < ranks - 1) {
        MPI_Irecv(coming, (int)expected, type, left, hop, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(here, (int)guests, type, right, hop, MPI_COMM_WORLD, &requests[1]);
      }
      for (long i = 0; i < own; i++)
        for (long j = 0; j < guests; j++) pull(&mine[i], &here[j], force[i]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      body* other = here;
      here = coming, coming = other;
    }
  }

  double sum[3] = {0, 0, 0}, largest = 0, check[3] = {0, 0, 0};
  for (long i = 0; i < own; i++)
    for (int d = 0; d < 3; d++) {
      sum[d] += force[i][d];
      largest = fmax(largest, fabs(force[i][d]));
    }
  MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (long j = 0; own > 0 && j < n; j++) {
    body other = make(j);
    pull(&mine[own - 1], &other, check);
  }
  double error = 0;
  for (int d = 0; d < 3; d++) {
    error = fmax(error, fabs(sum[d]));
    if (own > 0) error = fmax(error, fabs(check[d] - force[own - 1][d]));
  }
  if (largest > 0) error /= largest;
  char found[160];
  snprintf(found, sizeof found, "%ld bodies on %d ranks, %ld times, largest force %.4g", n, ranks, arguments[1].value,
           largest);
  MPI_Type_free(&type);
  free(mine), free(here), free(coming), free(force);
  return conclude(found, error, 1e-9, start);
}
