/* Collectives on communicators that are made from a group of a session, without MPI_Init or (with an argument) beside
 * it, and on what is made of them. Each rank prints what was wrong. sessions [both] */
#include <mpi.h>
#include <stdio.h>

enum { CALLS = 50 };

static int wrong;

static void calls(MPI_Comm comm) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int i = 0; i < CALLS; ++i) {
    int mine = rank + i, sum = 0, from = rank == 0 ? i : -1;
    MPI_Request request;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    wrong += sum != ranks * (ranks - 1) / 2 + ranks * i;
    MPI_Ibcast(&from, 1, MPI_INT, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += from != i;
  }
}

static void in_a_session(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm, half;
  int rank;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "calls", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  calls(comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_split(comm, rank % 2, -rank, &half);
  calls(half);
  MPI_Comm_free(&half);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) MPI_Init(NULL, NULL);
  in_a_session();
  if (argc > 1) {
    calls(MPI_COMM_WORLD);
    MPI_Finalize();
  }
  fprintf(stderr, "%d wrong\n", wrong);
  return 0;
}
