/* Why an exchange between two ranks takes longer than a message. Rank 0 prints lines of what, bytes and seconds
 * (medians):
 *
 *     message    half a ping-pong of MPI_Send and MPI_Recv
 *     requests   half a ping-pong in which each message goes through MPI_Irecv, MPI_Isend and waiting for both, as
 *                MPI_Sendrecv does, while nothing comes from the other side: what the calls add
 *     exchange   MPI_Sendrecv with each other
 *     sending    processor time of the sender of a message: MPI_Isend, and MPI_Test with pauses until it is done
 *     one, two   a copy by rank 0 alone, and by both ranks at once: what two who copy take from each other */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 101 };

static char *out, *in;
static int rank;

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void send(int bytes) { MPI_Send(out, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD); }
static void receive(int bytes) { MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

/* A turn of a ping-pong that goes through two requests; the one that sends receives nothing and the other way round. */
static void turn(int bytes, int sends) {
  MPI_Request both[2];
  MPI_Irecv(in, sends ? 0 : bytes, MPI_CHAR, sends ? MPI_PROC_NULL : 1 - rank, 0, MPI_COMM_WORLD, &both[0]);
  MPI_Isend(out, sends ? bytes : 0, MPI_CHAR, sends ? 1 - rank : MPI_PROC_NULL, 0, MPI_COMM_WORLD, &both[1]);
  MPI_Wait(&both[0], MPI_STATUS_IGNORE);
  MPI_Wait(&both[1], MPI_STATUS_IGNORE);
}

/* Seconds in calls of the sender; the receiver answers. */
static double sending(int bytes) {
  double within = 0;
  if (rank == 1) {
    receive(bytes), send(0);
    return 0;
  }
  MPI_Request request;
  double begin = MPI_Wtime();
  MPI_Isend(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
  within += MPI_Wtime() - begin;
  for (int done = 0; !done;) {
    const double pause = MPI_Wtime();
    while (MPI_Wtime() - pause < 1e-6) continue;
    begin = MPI_Wtime();
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    within += MPI_Wtime() - begin;
  }
  receive(0);
  return within;
}

static void once(const char* what, int bytes) {
  if (strcmp(what, "message") == 0) {
    if (rank == 0) send(bytes), receive(bytes);
    else receive(bytes), send(bytes);
  } else if (strcmp(what, "requests") == 0) {
    turn(bytes, rank == 0), turn(bytes, rank == 1);
  } else if (strcmp(what, "exchange") == 0) {
    MPI_Sendrecv(out, bytes, MPI_CHAR, 1 - rank, 0, in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  } else if (rank == 0 || strcmp(what, "two") == 0) {
    memcpy(in, out, (size_t)bytes);
    __asm__ volatile("" : : "r"(in) : "memory");
  }
}

static void measure(const char* what, int bytes, int share) {
  double took[SAMPLES];
  const int loops = bytes < 65536 ? 50 : bytes < 1 << 20 ? 10 : 3;
  for (int i = -3; i < SAMPLES; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    double within = 0;
    for (int k = 0; k < loops; k++) {
      if (strcmp(what, "sending") == 0) within += sending(bytes);
      else once(what, bytes);
    }
    if (i >= 0) took[i] = (within > 0 ? within : MPI_Wtime() - begin) / loops / share;
  }
  qsort(took, SAMPLES, sizeof *took, ascending);
  if (rank == 0) printf("%s %d %.9e\n", what, bytes, took[SAMPLES / 2]);
}

int main(int argc, char** argv) {
  static const int sizes[] = {8, 512, 4096, 32768, 262144, 1048576};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  out = calloc(1 << 20, 1), in = calloc(1 << 20, 1);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    measure("message", sizes[i], 2);
    measure("requests", sizes[i], 2);
    measure("exchange", sizes[i], 1);
    measure("sending", sizes[i], 1);
    measure("one", sizes[i], 1);
    measure("two", sizes[i], 1);
  }
  free(out), free(in);
  MPI_Finalize();
  return 0;
}
