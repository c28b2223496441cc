/* Every way to send and receive a message. */
#include "known.h"

#define N 1000
static int out[N], in[N];
static int left, right;

static void blocking(void) {
  MPI_Request request;
  MPI_Status status;
  int flag, index;
  /* Standard, with MPI_STATUS_IGNORE and more room than message. */
  for (int n = 0; n < 4; n++) {
    MPI_Irecv(in, N, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
    switch (n) {
      case 0: MPI_Send(out, 10 + n, MPI_INT, right, 1, MPI_COMM_WORLD); break;
      case 1: MPI_Ssend(out, 10 + n, MPI_INT, right, 1, MPI_COMM_WORLD); break;
      case 2: MPI_Bsend(out, 10 + n, MPI_INT, right, 1, MPI_COMM_WORLD); break;
      case 3:
        MPI_Barrier(MPI_COMM_WORLD);
        moved("barrier", 0, 0);
        MPI_Rsend(out, 10 + n, MPI_INT, right, 1, MPI_COMM_WORLD);
        break;
    }
    sent(right, 4 * (10 + n));
    switch (n) {
      case 0: MPI_Wait(&request, MPI_STATUS_IGNORE); break;
      case 1: MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE); break;
      case 2:
        do MPI_Test(&request, &flag, &status);
        while (!flag);
        break;
      case 3:
        do MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
        while (!flag);
        break;
    }
    received(left, 4 * (10 + n));
  }
  /* To and from itself, to nobody, and nothing at all. */
  MPI_Irecv(in, 5, MPI_INT, rank, 2, MPI_COMM_WORLD, &request);
  MPI_Send(out, 5, MPI_INT, rank, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  sent(rank, 20), received(rank, 20);
  MPI_Send(out, 77, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD);
  MPI_Recv(in, 77, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(NULL, 0, MPI_INT, right, 3, NULL, 0, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sent(right, 0), received(left, 0);
  MPI_Sendrecv_replace(out, 30, MPI_INT, right, 4, left, 4, MPI_COMM_WORLD, &status);
  sent(right, 120), received(left, 120);
  MPI_Sendrecv(out, 7, MPI_INT, right, 5, in, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 5);
  sent(right, 28), received(left, 28);
}

static void nonblocking(void) {
  MPI_Request r[8];
  MPI_Status statuses[8];
  int indices[8], count, flag;
  /* All modes; handles among null requests; receives from anybody, completed by waitsome without statuses. */
  for (int i = 0; i < 4; i++) MPI_Irecv(in + 100 * i, 100, MPI_INT, MPI_ANY_SOURCE, 10 + i, MPI_COMM_WORLD, &r[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  moved("barrier", 0, 0);
  MPI_Isend(out, 1, MPI_INT, right, 10, MPI_COMM_WORLD, &r[4]);
  MPI_Ibsend(out, 2, MPI_INT, right, 11, MPI_COMM_WORLD, &r[5]);
  MPI_Issend(out, 3, MPI_INT, right, 12, MPI_COMM_WORLD, &r[6]);
  MPI_Irsend(out, 4, MPI_INT, right, 13, MPI_COMM_WORLD, &r[7]);
  for (int i = 0; i < 4; i++) sent(right, 4 * (i + 1)), received(left, 4 * (i + 1));
  for (int done = 0; done < 8; done += count) MPI_Waitsome(8, r, &count, indices, MPI_STATUSES_IGNORE);
  MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
  MPI_Waitsome(8, r, &count, indices, statuses);
  CHECK(count == MPI_UNDEFINED);
  /* Testall and Testsome, with polls that find nothing. */
  for (int i = 0; i < 4; i++) MPI_Irecv(in + 100 * i, 100, MPI_INT, left, 20 + i, MPI_COMM_WORLD, &r[i]);
  MPI_Testall(4, r, &flag, statuses);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  moved("barrier", 0, 0);
  for (int i = 0; i < 4; i++) {
    MPI_Isend(out, 8, MPI_INT, right, 20 + i, MPI_COMM_WORLD, &r[4 + i]);
    sent(right, 32), received(left, 32);
  }
  do MPI_Testall(2, r, &flag, statuses);
  while (!flag);
  for (int done = 0; done < 6; done += count) {
    MPI_Testsome(6, r + 2, &count, indices, statuses);
    CHECK(count != MPI_UNDEFINED);
  }
}

static void persistent(void) {
  MPI_Request r[6];
  MPI_Send_init(out, 11, MPI_INT, right, 30, MPI_COMM_WORLD, &r[0]);
  MPI_Ssend_init(out, 12, MPI_INT, right, 31, MPI_COMM_WORLD, &r[1]);
  MPI_Bsend_init(out, 13, MPI_INT, right, 32, MPI_COMM_WORLD, &r[2]);
  MPI_Recv_init(in, N, MPI_INT, left, 30, MPI_COMM_WORLD, &r[3]);
  MPI_Recv_init(in, N, MPI_INT, MPI_ANY_SOURCE, 31, MPI_COMM_WORLD, &r[4]);
  MPI_Recv_init(in, N, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &r[5]);
  for (int i = 0; i < 5; i++) {
    for (int j = 3; j < 5; j++) MPI_Start(&r[j]);
    MPI_Startall(2, r);
    MPI_Waitall(5, r, MPI_STATUSES_IGNORE); /* two of them inactive */
    MPI_Startall(1, &r[2]);
    MPI_Start(&r[5]);
    MPI_Wait(&r[5], MPI_STATUS_IGNORE);
    MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    for (int j = 11; j < 14; j++) sent(right, 4 * j), received(left, 4 * j);
  }
  for (int j = 0; j < 6; j++) MPI_Request_free(&r[j]);
}

static void matched(void) {
  MPI_Message message;
  MPI_Request request;
  MPI_Status status;
  int flag = 0, count;
  for (int i = 0; i < 3; i++)
    MPI_Isend(out, 40 + i, MPI_INT, right, 40 + i, MPI_COMM_WORLD, &request), MPI_Request_free(&request);
  MPI_Mprobe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &message, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 40);
  MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
  while (!flag) MPI_Improbe(left, 41, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(in, N, MPI_INT, &message, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (flag = 0; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, 42, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Probe(left, 42, MPI_COMM_WORLD, &status);
  MPI_Recv(in, N, MPI_INT, MPI_ANY_SOURCE, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3; i++) sent(right, 4 * (40 + i)), received(left, 4 * (40 + i));
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
  MPI_Mrecv(in, 0, MPI_INT, &message, &status);
}

static void unusual(void) {
  MPI_Request request;
  MPI_Status status;
  MPI_Datatype column, resized;
  int flag;
  /* Cancelled: never came. */
  MPI_Irecv(in, 1, MPI_INT, left, 999, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag);
  /* 10 blocks of 3 of every 7 integers: 120 bytes each. */
  MPI_Type_vector(10, 3, 7, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, 40, &resized);
  MPI_Type_commit(&resized);
  MPI_Type_free(&column);
  MPI_Irecv(in, 100, MPI_INT, left, 50, MPI_COMM_WORLD, &request);
  MPI_Send(out, 2, resized, right, 50, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  sent(right, 240), received(left, 240);
  MPI_Type_free(&resized);
  /* Absolute addresses. */
  MPI_Aint address;
  int length = 6;
  MPI_Datatype type = MPI_INT, absolute;
  MPI_Get_address(out, &address);
  MPI_Type_create_struct(1, &length, &address, &type, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Irecv(in, 6, MPI_INT, left, 51, MPI_COMM_WORLD, &request);
  MPI_Send(MPI_BOTTOM, 1, absolute, right, 51, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  sent(right, 24), received(left, 24);
  MPI_Type_free(&absolute);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  begin_known();
  left = (rank + ranks - 1) % ranks;
  right = (rank + 1) % ranks;
  static char room[1 << 20];
  MPI_Buffer_attach(room, sizeof room);
  blocking();
  nonblocking();
  persistent();
  matched();
  unusual();
  void* old;
  int size;
  MPI_Buffer_detach(&old, &size);
  print_known();
  MPI_Finalize();
  return 0;
}
