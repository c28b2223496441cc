/* Several threads that communicate at once; further ones that come and go. */
#include <pthread.h>

#include "known.h"

enum { THREADS = 4, MESSAGES = 500, SHORT_LIVED = 40 };

static void exchange(int tag, int n) {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  int out = tag, in[4];
  MPI_Request r[2];
  for (int i = 0; i < n; i++) {
    MPI_Irecv(in, 4, MPI_INT, left, tag, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(&out, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(in[0] == tag);
  }
}

static pthread_barrier_t all_have_called;

static void* work(void* tag) {
  exchange((int)(long)tag, MESSAGES);
  pthread_barrier_wait(&all_have_called);
  return NULL;
}

static void* short_work(void* tag) {
  exchange((int)(long)tag, 1);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  begin_known();
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) printf("no threads\n");
    MPI_Finalize();
    return 0;
  }
  pthread_t threads[THREADS];
  pthread_barrier_init(&all_have_called, NULL, THREADS);
  for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (long i = 0; i < SHORT_LIVED; i++) {
    pthread_create(&threads[0], NULL, short_work, (void*)i);
    pthread_join(threads[0], NULL);
  }
  for (int i = 0; i < THREADS * MESSAGES + SHORT_LIVED; i++)
    sent((rank + 1) % ranks, 4), received((rank + ranks - 1) % ranks, 4);
  print_known();
  MPI_Finalize();
  return 0;
}
