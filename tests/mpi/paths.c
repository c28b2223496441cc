/* Known call paths through frames of many kinds: of unknown size, aligned, called back, recursive, in a thread, on the
 * stack of a coroutine. Every barrier says on standard output by which functions it came, the innermost first. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))
static volatile char sink;

/* After the call something is done, so that it is none at the end, which would leave no frame. */
static void came(const char* by) {
  static int first = 1;
  if (first) setvbuf(stdout, NULL, _IOLBF, 0);
  first = 0;
  printf("path %s\n", by);
}

NOINLINE static void leaf(const char* by) {
  came(by);
  MPI_Barrier(MPI_COMM_SELF);
  sink++;
}

NOINLINE static void sized(int n) {
  volatile char room[n];
  memset((char*)room, 1, (size_t)n);
  leaf("leaf sized main");
  sink += room[n / 2];
}

NOINLINE static void aligned(double x) {
  _Alignas(64) volatile double room[8];
  room[3] = x;
  leaf("leaf aligned main");
  sink += (char)room[3];
}

NOINLINE static void aligned_and_sized(int n) {
  _Alignas(128) volatile double room[16];
  volatile char more[n];
  room[5] = n;
  more[n - 1] = 2;
  leaf("leaf aligned_and_sized main");
  sink += (char)room[5] + more[n - 1];
}

NOINLINE static void recursive(int n) {
  if (n > 1) recursive(n - 1);
  else leaf("leaf recursive recursive recursive main");
  sink++;
}

NOINLINE static void large(void) {
  volatile char room[100000];
  room[0] = room[99999] = 1;
  leaf("leaf large main");
  sink += room[99999];
}

NOINLINE static void called_back(void (*callback)(int), int n) {
  callback(n);
  sink++;
}

NOINLINE static void callback(int n) {
  sink += (char)n;
  leaf("leaf callback called_back main");
  sink++;
}

static void* in_thread(void* unused) {
  leaf("leaf in_thread");
  sink++;
  return unused;
}

/* On a stack of its own, whose end only its maker knows: the path is the place of the call. */
static ucontext_t outside, inside;
static void coroutine(void) {
  leaf("leaf");
  sink++;
  swapcontext(&inside, &outside);
}

NOINLINE static void start_coroutine(void) {
  char* stack = malloc(1 << 20);
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = 1 << 20;
  inside.uc_link = &outside;
  makecontext(&inside, coroutine, 0);
  swapcontext(&outside, &inside);
  free(stack);
}

int main(int argc, char** argv) {
  int level;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  for (int i = 0; i < 3; i++) {
    leaf("leaf main");
    sized(10 + 1000 * i);
    aligned(i);
    aligned_and_sized(1 + 300 * i);
    recursive(3);
    large();
    called_back(callback, i);
    start_coroutine();
  }
  if (level >= MPI_THREAD_SERIALIZED) {
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
  }
  MPI_Finalize();
  return 0;
}
