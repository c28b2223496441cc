/* What the test programs share: a check that says where it failed and ends all threads. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>
#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "%s:%d: thread %d: not %s\n", __FILE__, __LINE__, MYTHREAD, #condition); \
      upc_global_exit(3);                                                                       \
    }                                                                                           \
  } while (0)
#define RIGHT()                                      \
  do {                                               \
    upc_barrier;                                     \
    if (MYTHREAD == 0) printf("right on %d\n", THREADS); \
  } while (0)
#endif
