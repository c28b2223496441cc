/* What MPI 4 added: sessions, partitioned messages, large counts, persistent collectives, isendrecv. */
#include "known.h"

static void partitioned(MPI_Comm comm, int left, int right) {
  int out[40], in[40], flag;
  MPI_Request r[2];
  MPI_Psend_init(out, 4, 10, MPI_INT, right, 1, comm, MPI_INFO_NULL, &r[0]);
  MPI_Precv_init(in, 2, 20, MPI_INT, left, 1, comm, MPI_INFO_NULL, &r[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(2, r);
    for (int p = 0; p < 4; p++) MPI_Pready(p, r[0]);
    do MPI_Parrived(r[1], 1, &flag);
    while (!flag);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    sent(right, 160), received(left, 160);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

static void work(MPI_Comm comm) {
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  int a[64] = {0}, b[64];
  MPI_Request r;
  partitioned(comm, left, right);
  MPI_Isendrecv(a, 5, MPI_INT, right, 2, b, 5, MPI_INT, left, 2, comm, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  sent(right, 20), received(left, 20);
  MPI_Isendrecv_replace(a, 6, MPI_INT, right, 3, left, 3, comm, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  sent(right, 24), received(left, 24);
  MPI_Irecv_c(b, 64, MPI_INT, left, 4, comm, &r);
  MPI_Send_c(a, 7, MPI_INT, right, 4, comm);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  sent(right, 28), received(left, 28);
  MPI_Count counts[RANKS_MAX];
  MPI_Aint displs[RANKS_MAX];
  for (int i = 0; i < ranks; i++) counts[i] = 2, displs[i] = 2 * i;
  MPI_Allgatherv_c(a, 2, MPI_INT, b, counts, displs, MPI_INT, comm);
  moved("allgather", 8, 8 * ranks);
  MPI_Allreduce_init(a, b, 8, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r);
  for (int i = 0; i < 3; i++) {
    MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    moved("allreduce", 32, 32);
  }
  MPI_Request_free(&r);
  /* A type of 3 GiB, of which nothing is sent. */
  MPI_Datatype large;
  MPI_Type_contiguous_c((MPI_Count)3 << 28, MPI_INT, &large);
  MPI_Type_commit(&large);
  MPI_Send_c(a, 0, large, MPI_PROC_NULL, 5, comm);
  MPI_Type_free(&large);
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "world")) {
    MPI_Init(&argc, &argv);
    begin_known();
    work(MPI_COMM_WORLD);
    print_known();
    MPI_Finalize();
    return 0;
  }
  const int times = argc > 2 ? atoi(argv[2]) : 1;
  for (int i = 0; i < times; i++) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "isthmus.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    work(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
  }
  print_known();
  return 0;
}
