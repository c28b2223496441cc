/* Measures messages between two ranks for bench/host.py: run with 2 ranks. Prints lines of
 *
 *   oneway BYTES SECONDS    half of a ping-pong
 *   send BYTES SECONDS      in MPI_Send of an eager message
 *   receive BYTES SECONDS   in MPI_Recv of an eager message that is there already
 *   rate BYTES SECONDS      from message to message when many are under way
 *   eager BYTES 0           largest message whose MPI_Send returns before the receive is posted
 *
 * all of them medians. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 20, MOST = 2000, WINDOW = 32 };

static char* buffer;
static int rank;

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

static void spin(double seconds) {
  double until = MPI_Wtime() + seconds;
  while (MPI_Wtime() < until) continue;
}

/* As long, in MPI all the time, so that the library makes progress with messages that have no receive yet. */
static void poll(double seconds) {
  int found;
  double until = MPI_Wtime() + seconds;
  while (MPI_Wtime() < until) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

static void report(const char* what, int bytes, double seconds, int reporter) {
  if (rank == reporter) printf("%s %d %.9e\n", what, bytes, seconds);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void send(int bytes, int peer) { MPI_Send(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD); }
static void receive(int bytes, int peer) {
  MPI_Recv(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void oneway(int bytes) {
  double times[MOST];
  int count = bytes > 65536 ? 300 : MOST;
  for (int i = -20; i < count; i++) {
    double begin = MPI_Wtime();
    if (rank == 0) send(bytes, 1), receive(bytes, 1);
    else receive(bytes, 0), send(bytes, 0);
    if (i >= 0) times[i] = (MPI_Wtime() - begin) / 2;
  }
  report("oneway", bytes, median(times, count), 0);
}

static void overheads(int bytes) {
  double sending[500], receiving[500];
  for (int i = -20; i < 500; i++) {
    double begin;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      spin(2e-6);
      begin = MPI_Wtime();
      send(bytes, 1);
      if (i >= 0) sending[i] = MPI_Wtime() - begin;
    } else {
      poll(20e-6);
      begin = MPI_Wtime();
      receive(bytes, 0);
      if (i >= 0) receiving[i] = MPI_Wtime() - begin;
    }
  }
  report("send", bytes, rank ? 0 : median(sending, 500), 0);
  report("receive", bytes, rank ? median(receiving, 500) : 0, 1);
}

static void rate(int bytes) {
  double times[200];
  for (int i = -20; i < 200; i++) {
    MPI_Request requests[WINDOW];
    if (rank == 1)
      for (int k = 0; k < WINDOW; k++) MPI_Irecv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[k]);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (rank == 0)
      for (int k = 0; k < WINDOW; k++) MPI_Isend(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[k]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (i >= 0) times[i] = (MPI_Wtime() - begin) / WINDOW;
  }
  report("rate", bytes, median(times, 200), 1);
}

/* Does MPI_Send of this size return long before the receive is posted? */
static int is_eager(int bytes) {
  double times[5];
  for (int i = 0; i < 5; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (rank == 0) send(bytes, 1);
    else poll(5e-3), receive(bytes, 0);
    times[i] = MPI_Wtime() - begin;
  }
  double middle = median(times, 5);
  MPI_Bcast(&middle, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return middle < 2.5e-3;
}

int main(int argc, char** argv) {
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  buffer = malloc(LARGEST);
  if (ranks != 2 || !buffer) {
    if (rank == 0) fprintf(stderr, "host: run with 2 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  memset(buffer, 1, LARGEST);
  int low = 1, high = LARGEST; /* low is eager, high is not, if any is not */
  if (is_eager(high)) low = high;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (is_eager(middle)) low = middle;
    else high = middle;
  }
  report("eager", low, 0, 0);
  for (int bytes = 1; bytes <= LARGEST; bytes *= 2) oneway(bytes);
  for (int bytes = 1; bytes <= low && bytes <= 65536; bytes *= 4) overheads(bytes);
  rate(1);
  MPI_Finalize();
  return 0;
}
