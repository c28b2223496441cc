/* Calls that do nothing, again and again; a receive that is freed; persistent collectives; endings. */
#include <signal.h>
#include <unistd.h>

#include "known.h"

static MPI_Request null[4], persistent;
static int flag, index_, count_, indices[4], value, incoming;

static void poll_once(const char* what) {
  MPI_Status statuses[4];
  if (!strcmp(what, "test")) MPI_Test(&null[0], &flag, MPI_STATUS_IGNORE);
  if (!strcmp(what, "inactive")) MPI_Test(&persistent, &flag, MPI_STATUS_IGNORE);
  if (!strcmp(what, "testall")) MPI_Testall(4, null, &flag, statuses);
  if (!strcmp(what, "testany")) MPI_Testany(4, null, &index_, &flag, MPI_STATUS_IGNORE);
  if (!strcmp(what, "testsome")) MPI_Testsome(4, null, &count_, indices, statuses);
  if (!strcmp(what, "waitall")) MPI_Waitall(4, null, statuses);
  if (!strcmp(what, "status")) MPI_Request_get_status(null[0], &flag, MPI_STATUS_IGNORE);
  if (!strcmp(what, "send")) MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

#if MPI_VERSION >= 4
/* Two collectives and a message that one call starts, five times. */
static void start_together(void) {
  int a[8] = {0}, b[8], c[4] = {0}, d[4];
  MPI_Request r[3];
  MPI_Allreduce_init(a, b, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Allreduce_init(c, d, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[2]);
  for (int i = 0; i < 5; i++) {
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 3; i++) {
    MPI_Startall(3, r);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 3; i++) MPI_Request_free(&r[i]);
}
#else
static void start_together(void) {}
#endif

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "test";
  const int times = argc > 2 ? atoi(argv[2]) : 1000;
  MPI_Init(&argc, &argv);
  begin_known();
  for (int i = 0; i < 4; i++) null[i] = MPI_REQUEST_NULL;
  MPI_Recv_init(&incoming, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &persistent);
  if (!strcmp(what, "slept")) {
    sleep(2);
    if (rank == 0) raise(SIGSEGV);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(what, "freed")) {
    MPI_Request request;
    MPI_Irecv(&incoming, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(20000);
    MPI_Send(&value, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(what, "together")) start_together();
  for (int i = 0; i < times; i++) poll_once(what);
  MPI_Request_free(&persistent);
  MPI_Finalize();
  return 0;
}
