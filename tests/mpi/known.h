/* What a test program expects of its trace: it counts every message it sends and everything its collectives move, and
 * prints both at the end. */
#ifndef KNOWN_H
#define KNOWN_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 64
#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 99);                                                \
    }                                                                               \
  } while (0)

static int rank, ranks;
static struct {
  long long messages, bytes;
} known_sent[RANKS_MAX], known_received[RANKS_MAX];
static struct {
  const char* kind;
  long long calls, sent, received;
} known_collectives[32];

static inline void begin_known(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* A message from this rank to one of the world, or the other way. */
static inline void sent(int to, long long bytes) {
  known_sent[to].messages++;
  known_sent[to].bytes += bytes;
}
static inline void received(int from, long long bytes) {
  known_received[from].messages++;
  known_received[from].bytes += bytes;
}
static inline void moved(const char* kind, long long in, long long out) {
  int i = 0;
  while (known_collectives[i].kind && strcmp(known_collectives[i].kind, kind) != 0) i++;
  known_collectives[i].kind = kind;
  known_collectives[i].calls++;
  known_collectives[i].sent += in;
  known_collectives[i].received += out;
}

static inline void print_known(void) {
  for (int i = 0; i < ranks; i++) {
    if (known_sent[i].messages) printf("sent %d %d %lld %lld\n", rank, i, known_sent[i].messages, known_sent[i].bytes);
    if (known_received[i].messages)
      printf("received %d %d %lld %lld\n", rank, i, known_received[i].messages, known_received[i].bytes);
  }
  for (int i = 0; known_collectives[i].kind; i++)
    printf("collective %d %s %lld %lld %lld\n", rank, known_collectives[i].kind, known_collectives[i].calls,
           known_collectives[i].sent, known_collectives[i].received);
  fflush(stdout);
}

#endif
