/* Computations that touch pages of memory for the first time, each between two calls: what the kernel counts of them is
 * known. Prints "pages FUNCTION NUMBER". With an argument, a second thread does so too. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

/* Computes for a millisecond of the processor, so that counting pays whatever a reading costs. */
static void touch(size_t pages) {
  struct timespec begin, now;
  char* memory = mmap(NULL, (pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, (pages + 1) * 4096, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; i++) ((volatile char*)memory)[i * 4096] = 1;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000ll + now.tv_nsec - begin.tv_nsec < 1000000);
  munmap(memory, (pages + 1) * 4096);
}

APART void heavy(void) {
  MPI_Barrier(MPI_COMM_SELF);
  touch(1000);
  MPI_Barrier(MPI_COMM_SELF);
}

/* Phases that begin in the middle of a computation. */
APART void marked(void) {
  MPI_Barrier(MPI_COMM_SELF);
  touch(300);
  MPI_Pcontrol(2);
  touch(50);
  MPI_Barrier(MPI_COMM_SELF);
}

/* A phase that begins where it ends: ever so often, little is computed behind the mark. */
APART void ended(void) {
  MPI_Barrier(MPI_COMM_SELF);
  touch(60);
  MPI_Pcontrol(3);
  MPI_Barrier(MPI_COMM_SELF);
}

APART void light(void) {
  MPI_Barrier(MPI_COMM_SELF);
  touch(0);
  MPI_Barrier(MPI_COMM_SELF);
}

/* Computes while a message is under way, and asks for it in between. */
APART void overlapped(void) {
  MPI_Request request;
  int flag = 0, in = 0, out = 1;
  MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  for (int i = 0; i < 10; i++) {
    touch(70);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  touch(70);
  MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Loops that ask for nothing. */
APART void idle(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  int flag;
  MPI_Barrier(MPI_COMM_SELF);
  for (int i = 0; i < 10; i++) {
    touch(50);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_SELF);
}

APART void fine(void) {
  int in = 1, out;
  for (int i = 0; i < 5000; i++) MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

APART void* worker(void* data) {
  MPI_Comm comm = *(MPI_Comm*)data;
  MPI_Barrier(comm);
  touch(1300);
  MPI_Barrier(comm);
  return NULL;
}

int main(int argc, char** argv) {
  int rank, given;
  MPI_Comm own;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
  touch(400);
  MPI_Comm_dup(MPI_COMM_SELF, &own);
  for (int i = 0; i < 3; i++) {
    light();
    heavy();
  }
  marked();
  for (int i = 0; i < 20; i++) ended();
  overlapped();
  idle();
  fine();
  if (argc > 1) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, &own);
    pthread_join(thread, NULL);
  }
  MPI_Barrier(MPI_COMM_SELF);
  touch(600);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("pages marked 350\npages ended 1200\npages heavy 3000\npages light 0\npages overlapped 770\npages idle 500\npages fine 0\npages main 1000\n");
    if (argc > 1) printf("pages worker 1300\n");
  }
  MPI_Finalize();
}
