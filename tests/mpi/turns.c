/* Many calls that do not wait, several under way, ended by every function that ends requests, messages among them:
 * what they give is checked, whoever carries them out. `turns CALLS SEED [threads]` */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 6, COUNT = 5, MESSAGES = 2, ALL = MOST + MESSAGES };
static int rank, ranks, calls;
static long checks, wrong;
static pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER;

struct worker {
  MPI_Comm comm;
  unsigned common, own; /* states: the same on all ranks, and not */
  long checks, wrong;
};

static unsigned any(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

struct one {
  int kind, root, number;
  long in[64 * COUNT], out[64 * COUNT];
};

static void begin(struct worker* w, struct one* o, MPI_Request* request) {
  for (int i = 0; i < ranks * COUNT; ++i) o->in[i] = 1000L * o->number + 10 * rank + i, o->out[i] = -1;
  if (o->kind == 1 && rank == o->root) memcpy(o->out, o->in, sizeof o->out);
  switch (o->kind) {
    case 0: MPI_Iallreduce(o->in, o->out, COUNT, MPI_LONG, MPI_SUM, w->comm, request); break;
    case 1: MPI_Ibcast(o->out, COUNT, MPI_LONG, o->root, w->comm, request); break;
    case 2: MPI_Ialltoall(o->in, COUNT, MPI_LONG, o->out, COUNT, MPI_LONG, w->comm, request); break;
    case 3: MPI_Ireduce(o->in, o->out, COUNT, MPI_LONG, MPI_SUM, o->root, w->comm, request); break;
    default: MPI_Ibarrier(w->comm, request); break;
  }
}

static void check(struct worker* w, const struct one* o) {
  const long base = 1000L * o->number, all = ranks * base + 10L * ranks * (ranks - 1) / 2;
  int bad = 0;
  for (int i = 0; i < COUNT; ++i) {
    if (o->kind == 0) bad += o->out[i] != all + (long)ranks * i;
    if (o->kind == 1) bad += o->out[i] != base + 10 * o->root + i;
    if (o->kind == 2)
      for (int r = 0; r < ranks; ++r) bad += o->out[r * COUNT + i] != base + 10 * r + rank * COUNT + i;
    if (o->kind == 3 && rank == o->root) bad += o->out[i] != all + (long)ranks * i;
  }
  ++w->checks;
  w->wrong += bad > 0;
}

/* One more of the requests has ended at least. */
static void end_some(struct worker* w, int n, MPI_Request* requests) {
  int flag = 0, index, count, indices[ALL];
  MPI_Status statuses[ALL];
  switch (any(&w->own, 9)) {
    case 0: MPI_Wait(&requests[any(&w->own, (unsigned)n)], statuses); break;
    case 1:
      while (!flag) MPI_Test(&requests[any(&w->own, (unsigned)n)], &flag, statuses);
      break;
    case 2: MPI_Waitall(n, requests, statuses); break;
    case 3:
      while (!flag) MPI_Testall(n, requests, &flag, statuses);
      break;
    case 4: MPI_Waitany(n, requests, &index, statuses); break;
    case 5:
      while (!flag) MPI_Testany(n, requests, &index, &flag, statuses);
      break;
    case 6: MPI_Waitsome(n, requests, &count, indices, statuses); break;
    case 7: MPI_Testsome(n, requests, &count, indices, statuses); break;
    default: {
      MPI_Request* one = &requests[any(&w->own, (unsigned)n)];
      if (*one == MPI_REQUEST_NULL) break;
      while (!flag) MPI_Request_get_status(*one, &flag, statuses);
      MPI_Wait(one, statuses);
    }
  }
}

static void batch(struct worker* w, int number, int under_way, int kind) {
  struct one* ones = malloc(MOST * sizeof *ones);
  MPI_Request requests[ALL];
  int got = -1;
  /* Some are late. */
  if (any(&w->own, 16) == 0) usleep(any(&w->own, 300));
  for (int k = 0; k < under_way; ++k) {
    ones[k].kind = kind < 0 ? (int)any(&w->common, 5) : kind;
    ones[k].root = kind == 1 ? 0 : (int)any(&w->common, (unsigned)ranks);
    ones[k].number = number + k;
    begin(w, &ones[k], &requests[k]);
  }
  MPI_Irecv(&got, 1, MPI_INT, (rank + ranks - 1) % ranks, 7, w->comm, &requests[under_way]);
  MPI_Isend(&number, 1, MPI_INT, (rank + 1) % ranks, 7, w->comm, &requests[under_way + 1]);
  const int n = under_way + MESSAGES;
  for (int left = 1; left;) {
    end_some(w, n, requests);
    left = 0;
    for (int k = 0; k < n; ++k) left |= requests[k] != MPI_REQUEST_NULL;
  }
  for (int k = 0; k < under_way; ++k) check(w, &ones[k]);
  ++w->checks;
  w->wrong += got != number;
  free(ones);
}

#if MPI_VERSION >= 4
/* The same persistent requests again and again. */
static void again(struct worker* w) {
  struct one ones[2] = {{.kind = 0}, {.kind = 1}};
  MPI_Request requests[2];
  MPI_Allreduce_init(ones[0].in, ones[0].out, COUNT, MPI_LONG, MPI_SUM, w->comm, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(ones[1].out, COUNT, MPI_LONG, 0, w->comm, MPI_INFO_NULL, &requests[1]);
  for (int number = 0; number < calls; ++number) {
    for (int k = 0; k < 2; ++k) {
      struct one* o = &ones[k];
      o->number = number;
      for (int i = 0; i < COUNT; ++i) o->in[i] = 1000L * number + 10 * rank + i, o->out[i] = k && !rank ? o->in[i] : -1;
      if (number % 3 != 0) MPI_Start(&requests[k]);
    }
    if (number % 3 == 0) MPI_Startall(2, requests);
    /* Of requests that are inactive afterwards, Testany says that none is left. */
    for (int flag = 0, at = 0; number % 2 && at != MPI_UNDEFINED;)
      MPI_Testany(2, requests, &at, &flag, MPI_STATUS_IGNORE), at = flag ? at : 0;
    if (number % 2 == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 2; ++k) check(w, &ones[k]);
  }
  for (int k = 0; k < 2; ++k) MPI_Request_free(&requests[k]);
}
#endif

/* What is under way on a communicator ends when the program has freed it. These are calls of which some were compared,
 * but the last ones are carried out by Isthmus: Open MPI 4.1.4 fails there by itself. */
static void freed(struct worker* w) {
  enum { ALONE = 40, LAST = 4 };
  MPI_Comm kept = w->comm;
  struct one* ones = malloc(LAST * sizeof *ones);
  for (int kind = 0; kind < 3; ++kind) {
    MPI_Request requests[LAST];
    MPI_Comm_dup(kept, &w->comm);
    for (int number = 0; number < ALONE + LAST; ++number) {
      struct one* o = &ones[number % LAST];
      *o = (struct one){.kind = kind, .number = number};
      begin(w, o, &requests[number % LAST]);
      if (number >= ALONE) continue;
      MPI_Wait(&requests[number % LAST], MPI_STATUS_IGNORE);
      check(w, o);
    }
    MPI_Comm_free(&w->comm);
    MPI_Waitall(LAST, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < LAST; ++k) check(w, &ones[k]);
  }
  free(ones);
  w->comm = kept;
}

static void* work(void* given) {
  struct worker* w = given;
  for (int kind = -1; kind < 5; ++kind) {
    /* The number that is under way changes: alone, two, as many as there are. */
    for (int number = 0; number < calls;) {
      const int under_way = kind < 0 ? 1 + (int)any(&w->common, MOST) : kind % 2 ? MOST : 1;
      batch(w, number, under_way, kind);
      number += under_way;
    }
  }
#if MPI_VERSION >= 4
  again(w);
#endif
  freed(w);
  pthread_mutex_lock(&sums);
  checks += w->checks;
  wrong += w->wrong;
  pthread_mutex_unlock(&sums);
  return NULL;
}

int main(int argc, char** argv) {
  enum { THREADS = 2 };
  const int several = argc > 3;
  int level;
  MPI_Init_thread(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  calls = atoi(argv[1]);
  struct worker workers[THREADS];
  pthread_t threads[THREADS];
  for (int t = 0; t < (several ? THREADS : 1); ++t) {
    workers[t] = (struct worker){.common = (unsigned)(atoi(argv[2]) + 77 * t), .own = (unsigned)(31 * rank + t)};
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
  }
  if (several)
    for (int t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, &workers[t]);
  if (several)
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
  else work(&workers[0]);
  long all[2], own[2] = {checks, wrong};
  MPI_Reduce(own, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld calls checked, %ld wrong\n", all[0], all[1]);
  MPI_Finalize();
  return wrong != 0;
}
