/* Rank 0 gives out intervals, the other ranks count the prime numbers in them: work of unequal length, answers from
 * whoever is done first. Rank 0 checks the total against a sieve; the workers add up among themselves too. */
#include "example.h"

enum { WORK = 1, DONE, STOP };

typedef struct {
  long from, to, primes; /* primes in from <= x < to */
} task;

static long count_primes(long from, long to) {
  long primes = 0;
  for (long x = from < 2 ? 2 : from; x < to; x++) {
    long d = 2;
    while (d * d <= x && x % d) d++;
    primes += d * d > x;
  }
  return primes;
}

static long sieve(long limit) {
  char* composite = allocate((size_t)limit, 1);
  long primes = 0;
  for (long x = 2; x < limit; x++) {
    if (composite[x]) continue;
    primes++;
    for (long multiple = x * x; multiple < limit; multiple += x) composite[multiple] = 1;
  }
  free(composite);
  return primes;
}

/* Keeps every worker busy as long as there is work; returns the sum of their answers. */
static long give_out(long limit, long size, int workers) {
  long next = 0, total = 0;
  int busy = 0;
  for (int worker = 1; worker <= workers; worker++) {
    task work = {next, next + size < limit ? next + size : limit, 0};
    if (next < limit) {
      MPI_Send(&work, 3, MPI_LONG, worker, WORK, MPI_COMM_WORLD);
      next = work.to;
      busy++;
    } else {
      MPI_Send(NULL, 0, MPI_LONG, worker, STOP, MPI_COMM_WORLD);
    }
  }
  while (busy) {
    task answer;
    MPI_Status status;
    MPI_Recv(&answer, 3, MPI_LONG, MPI_ANY_SOURCE, DONE, MPI_COMM_WORLD, &status);
    total += answer.primes;
    if (next < limit) {
      task work = {next, next + size < limit ? next + size : limit, 0};
      MPI_Send(&work, 3, MPI_LONG, status.MPI_SOURCE, WORK, MPI_COMM_WORLD);
      next = work.to;
    } else {
      MPI_Send(NULL, 0, MPI_LONG, status.MPI_SOURCE, STOP, MPI_COMM_WORLD);
      busy--;
    }
  }
  return total;
}

/* Returns what this worker found. */
static long work_until_told(void) {
  long found = 0;
  for (;;) {
    task work;
    MPI_Status status;
    MPI_Recv(&work, 3, MPI_LONG, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == STOP) return found;
    work.primes = count_primes(work.from, work.to);
    found += work.primes;
    MPI_Send(&work, 3, MPI_LONG, 0, DONE, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  argument arguments[] = {{"limit", 1000000, 1}, {"interval", 10000, 1}};
  MPI_Init(&argc, &argv);
  double start = MPI_Wtime();
  read_arguments(argc, argv, "primes below limit, counted in intervals of this length", arguments, 2);
  long limit = arguments[0].value, size = arguments[1].value, total = 0, by_workers = 0;
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  MPI_Comm role; /* all workers, or the master alone */
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &role);
  if (ranks == 1) {
    total = by_workers = count_primes(0, limit);
  } else if (rank == 0) {
    total = give_out(limit, size, ranks - 1);
  } else {
    long mine = work_until_told();
    MPI_Allreduce(&mine, &by_workers, 1, MPI_LONG, MPI_SUM, role);
    if (rank == 1) MPI_Send(&by_workers, 1, MPI_LONG, 0, DONE, MPI_COMM_WORLD);
  }
  if (rank == 0 && ranks > 1) MPI_Recv(&by_workers, 1, MPI_LONG, 1, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_free(&role);

  char found[160];
  snprintf(found, sizeof found, "%ld primes below %ld, found by %d ranks", total, limit, ranks);
  double error = rank == 0 ? labs(total - sieve(limit)) + labs(total - by_workers) : 0;
  return conclude(found, error, 0, start);
}
