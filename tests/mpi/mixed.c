/* Collectives that are under way beside everything else that a rank may wait in: one rank waits for the collective, the
 * other for a message, a communicator, a window; each would wait for ever if the collective did not go on meanwhile. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 40000, MANY = 100 };
static int rank, ranks, wrong;
static double mine[N], sum[N];

static void expect(int condition, const char* what) {
  if (condition) return;
  ++wrong;
  printf("rank %d: %s\n", rank, what);
}

static MPI_Request begin(void) {
  MPI_Request request;
  for (int i = 0; i < N; ++i) mine[i] = rank + i;
  MPI_Iallreduce(mine, sum, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  return request;
}
static void end(MPI_Request* request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  for (int i = 0; i < N; ++i) {
    if (sum[i] == ranks * (double)i + ranks * (ranks - 1) / 2) continue;
    expect(0, "a wrong sum");
    break;
  }
}

/* Rank 0 waits in `how`, for rank 1, which first waits for the collective. */
static void beside(int how) {
  const int other = 1 - rank;
  int given = 10 * rank + how, got = -1;
  MPI_Request request = begin(), second;
  MPI_Status status;
  MPI_Message message;
  if (rank > 1) {
    end(&request);
    return;
  }
  if (rank == 1) {
    end(&request);
    if (how == 4) {
      MPI_Recv(&got, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (how == 5 || how == 6) {
      MPI_Sendrecv(&given, 1, MPI_INT, 0, 7, &got, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(&given, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    return;
  }
  switch (how) {
    case 0:
      MPI_Recv(&got, 1, MPI_INT, other, 7, MPI_COMM_WORLD, &status);
      expect(status.MPI_SOURCE == 1 && status.MPI_TAG == 7, "a wrong status of MPI_Recv");
      break;
    case 1:
      MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &second);
      MPI_Wait(&second, &status);
      expect(status.MPI_SOURCE == 1, "a wrong status of MPI_Wait");
      break;
    case 2:
      MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
      MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 3:
      MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
      break;
    case 4: MPI_Ssend(&given, 1, MPI_INT, other, 7, MPI_COMM_WORLD); break;
    case 5:
      MPI_Sendrecv(&given, 1, MPI_INT, other, 7, &got, 1, MPI_INT, other, 7, MPI_COMM_WORLD, &status);
      expect(status.MPI_SOURCE == 1, "a wrong status of MPI_Sendrecv");
      break;
    case 6:
      got = given;
      MPI_Sendrecv_replace(&got, 1, MPI_INT, other, 7, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 7: { /* both at once: what is there first ends */
      MPI_Request both[3] = {request, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      int index[3], n, seen = 0;
      MPI_Irecv(&got, 1, MPI_INT, other, 7, MPI_COMM_WORLD, &both[1]);
      while (seen < 2) {
        MPI_Waitsome(3, both, &n, index, MPI_STATUSES_IGNORE);
        if (n == MPI_UNDEFINED) break;
        seen += n;
      }
      expect(seen == 2, "MPI_Waitsome lost a request");
      MPI_Waitsome(3, both, &n, index, MPI_STATUSES_IGNORE);
      expect(n == MPI_UNDEFINED, "MPI_Waitsome finds a request where there is none");
      request = both[0];
      break;
    }
    default: {
      MPI_Request both[2] = {request, MPI_REQUEST_NULL};
      MPI_Status statuses[2];
      MPI_Irecv(&got, 1, MPI_INT, other, 7, MPI_COMM_WORLD, &both[1]);
      MPI_Waitall(2, both, statuses);
      int count;
      MPI_Get_count(&statuses[1], MPI_INT, &count);
      expect(count == 1 && statuses[1].MPI_TAG == 7, "a wrong status of MPI_Waitall");
      MPI_Get_count(&statuses[0], MPI_INT, &count);
      expect(count == 0, "the status of a collective is not empty");
      request = both[0];
    }
  }
  end(&request);
  if (how != 4) expect(got == 10 + how, "a wrong message");
}

/* Calls that cannot be taken apart. */
static void beside_others(int how) {
  MPI_Comm made = MPI_COMM_NULL, half;
  MPI_Win win;
  MPI_Request request = begin();
  int first = rank == 1, number = rank, all;
  double window[4] = {0};
  if (first) end(&request);
  switch (how) {
    case 0: MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &made); break;
    case 1: MPI_Comm_dup(MPI_COMM_WORLD, &made); break;
    case 2:
      MPI_Win_create(window, sizeof window, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      MPI_Win_fence(0, win);
      MPI_Win_free(&win);
      break;
    case 3: /* a collective that is left to the MPI library: between two groups */
      MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
      MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &made);
      MPI_Allreduce(&number, &all, 1, MPI_INT, MPI_SUM, made);
      MPI_Comm_free(&half);
      break;
    default: /* and one of ours on another communicator */ MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!first) end(&request);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
}

/* Many under way, ended in another order on every rank, between messages. */
static void many(void) {
  static int64_t in[MANY][300], out[MANY][300], to[MANY], from[MANY];
  MPI_Request requests[3 * MANY];
  for (int i = 0; i < MANY; ++i) {
    const int n = 1 + 7 * (i % 40);
    for (int k = 0; k < n; ++k) in[i][k] = (int64_t)(rank + 1) * (i + k);
    to[i] = 1000 * rank + i;
    MPI_Irecv(&from[i], 1, MPI_INT64_T, (rank + ranks - 1) % ranks, i, MPI_COMM_WORLD, &requests[3 * i]);
    if (i % 3 == 0) MPI_Iallreduce(in[i], out[i], n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &requests[3 * i + 1]);
    if (i % 3 == 1) MPI_Iscan(in[i], out[i], n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &requests[3 * i + 1]);
    if (i % 3 == 2) MPI_Ibarrier(MPI_COMM_WORLD, &requests[3 * i + 1]);
    MPI_Isend(&to[i], 1, MPI_INT64_T, (rank + 1) % ranks, i, MPI_COMM_WORLD, &requests[3 * i + 2]);
  }
  for (int j = 0; j < MANY; ++j) {
    const int i = (j * 37 + rank * 11) % MANY;
    int index;
    MPI_Status status;
    if (j % 4 == 0) MPI_Wait(&requests[3 * i + 1], MPI_STATUS_IGNORE);
    if (j % 4 == 1) MPI_Waitany(3 * MANY, requests, &index, &status);
    if (j % 4 == 2) MPI_Waitall(3, &requests[3 * i], MPI_STATUSES_IGNORE);
  }
  MPI_Waitall(3 * MANY, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < MANY; ++i) {
    const int last = i % 3 ? rank : ranks - 1;
    expect(from[i] == 1000 * ((rank + ranks - 1) % ranks) + i, "a wrong message among many");
    for (int k = 0; i % 3 < 2 && k < 1 + 7 * (i % 40); ++k)
      if (out[i][k] != (int64_t)(last + 1) * (last + 2) / 2 * (i + k)) return expect(0, "a wrong sum among many");
  }
}

static void add(void* left, void* right, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < 2 * *n; ++i) ((int*)right)[i] += ((int*)left)[i];
}

/* Everything that it uses is freed before it ends. */
static void freed_early(void) {
  MPI_Comm comm;
  MPI_Datatype pair, spread;
  MPI_Op op;
  MPI_Request requests[3];
  static int in[8000], out[8000], all[64 * 300];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_vector(100, 1, 3, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  MPI_Op_create(add, 0, &op);
  for (int i = 0; i < 8000; ++i) in[i] = rank + i;
  memset(all, 0, sizeof all);
  MPI_Iallreduce(in, out, 4000, pair, op, comm, &requests[0]);
  MPI_Iallgather(in, 100, MPI_INT, all, 1, spread, comm, &requests[1]);
  MPI_Ibarrier(comm, &requests[2]);
  MPI_Type_free(&pair);
  MPI_Type_free(&spread);
  MPI_Op_free(&op);
  MPI_Comm_free(&comm);
  expect(pair == MPI_DATATYPE_NULL && op == MPI_OP_NULL && comm == MPI_COMM_NULL, "a handle is still there");
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  expect(out[7999] == ranks * 7999 + ranks * (ranks - 1) / 2, "a wrong sum of what was freed");
  for (int r = 0; r < ranks && r < 64; ++r)
    expect(all[298 * r + 297] == r + 99 && (ranks > 1 || all[1] == 0), "a wrong block of what was freed");
}

/* A large message that only goes on in calls of its sender, which waits in a barrier. */
static void large_message(void) {
  enum { LARGE = 1 << 20 };
  double* memory = calloc(LARGE, sizeof *memory);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Isend(memory, LARGE, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, &request);
  if (rank == 1) {
    usleep(20000);
    MPI_Recv(memory, LARGE, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(memory);
}

static void persistent(void) {
#if MPI_VERSION >= 4
  int in = 0, out = 0, to = rank, from = -1, flag;
  MPI_Request requests[3];
  MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Send_init(&to, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Recv_init(&from, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE); /* inactive ones */
  for (int turn = 1; turn < 50; ++turn) {
    in = turn * (rank + 1);
    from = -1;
    MPI_Startall(3, requests);
    if (turn % 2) {
      MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else {
      do MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
      while (!flag);
    }
    expect(out == turn * ranks * (ranks + 1) / 2, "a wrong sum of a persistent collective");
    expect(from == (rank + ranks - 1) % ranks, "a wrong message beside a persistent collective");
    expect(requests[0] != MPI_REQUEST_NULL, "a persistent request is gone");
  }
  for (int i = 0; i < 3; ++i) MPI_Request_free(&requests[i]);
  expect(requests[0] == MPI_REQUEST_NULL, "a freed request is still there");
#endif
}

int main(int argc, char** argv) {
  int level, all;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int how = 0; how < 9; ++how) beside(how);
  for (int how = 0; how < 5; ++how) beside_others(how);
  many();
  freed_early();
  large_message();
  persistent();
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return wrong != 0;
}
