/* Runs collectives and says how many messages each rank sent for each: the evidence of the algorithm that ran.
 *
 * Arguments: one "collective=bytes" for each case, bytes as of isthmus.collective. Rank 0 prints
 * "isthmus-library <version>" and, for each case, "isthmus-case <index>" with messages and bytes of every rank.
 *
 * Messages are counted by the variables of Open MPI's monitoring component, or by a library that is loaded before the
 * program (counter.c), where that is there. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_case.h"

extern void isthmus_counter_read(unsigned long long* messages, unsigned long long* bytes) __attribute__((weak));

typedef struct {
  int counted; /* 1: there is a counter */
  int ranks;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handles[2];
  unsigned long* values;
} Counter;

static void fail(const char* why) {
  fprintf(stderr, "isthmus-probe: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static int variable(const char* wanted) {
  int number = 0;
  MPI_T_pvar_get_num(&number);
  for (int i = 0; i < number; i++) {
    char name[256];
    int length = (int)sizeof name, verbosity, class, description = 0, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum values;
    if (MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &values, NULL, &description, &bind, &readonly,
                            &continuous, &atomic) == MPI_SUCCESS &&
        !strcmp(name, wanted)) {
      return i;
    }
  }
  return -1;
}

static void counter_open(Counter* counter) {
  memset(counter, 0, sizeof *counter);
  MPI_Comm_size(MPI_COMM_WORLD, &counter->ranks);
  if (isthmus_counter_read) {
    counter->counted = 1;
    return;
  }
  static const char* names[] = {"pml_monitoring_messages_count", "pml_monitoring_messages_size"};
  static MPI_Comm world;
  world = MPI_COMM_WORLD;
  MPI_T_pvar_session_create(&counter->session);
  for (int i = 0; i < 2; i++) {
    int index = variable(names[i]), count = 0;
    if (index < 0) return;
    if (MPI_T_pvar_handle_alloc(counter->session, index, &world, &counter->handles[i], &count) != MPI_SUCCESS) return;
    if (count > counter->ranks) counter->ranks = count;
    MPI_T_pvar_start(counter->session, counter->handles[i]);
  }
  counter->values = calloc((size_t)counter->ranks, sizeof *counter->values);
  counter->counted = counter->values != NULL;
}

static void counter_read(Counter* counter, unsigned long long sums[2]) {
  sums[0] = sums[1] = 0;
  if (isthmus_counter_read) {
    isthmus_counter_read(&sums[0], &sums[1]);
    return;
  }
  for (int i = 0; i < 2; i++) {
    if (MPI_T_pvar_read(counter->session, counter->handles[i], counter->values) != MPI_SUCCESS)
      fail("counts cannot be read");
    for (int rank = 0; rank < counter->ranks; rank++) sums[i] += counter->values[rank];
  }
}

static int works(Counter* counter) {
  if (!counter->counted) return 0;
  unsigned long long before[2], after[2], sent, all = 0;
  counter_read(counter, before);
  MPI_Barrier(MPI_COMM_WORLD);
  counter_read(counter, after);
  sent = after[0] - before[0];
  MPI_Allreduce(&sent, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all > 0;
}

static void call(const char* kind, int bytes, int ranks, char* in, char* out, int* counts) {
  const MPI_Comm world = MPI_COMM_WORLD;
  if (!strcmp(kind, "barrier")) MPI_Barrier(world);
  else if (!strcmp(kind, "bcast")) MPI_Bcast(out, bytes, MPI_BYTE, 0, world);
  else if (!strcmp(kind, "reduce")) MPI_Reduce(in, out, bytes, MPI_BYTE, MPI_BOR, 0, world);
  else if (!strcmp(kind, "allreduce")) MPI_Allreduce(in, out, bytes, MPI_BYTE, MPI_BOR, world);
  else if (!strcmp(kind, "scan")) MPI_Scan(in, out, bytes, MPI_BYTE, MPI_BOR, world);
  else if (!strcmp(kind, "exscan")) MPI_Exscan(in, out, bytes, MPI_BYTE, MPI_BOR, world);
  else if (!strcmp(kind, "gather")) MPI_Gather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, world);
  else if (!strcmp(kind, "scatter")) MPI_Scatter(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, world);
  else if (!strcmp(kind, "allgather")) MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, world);
  else if (!strcmp(kind, "alltoall")) MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, world);
  else if (!strcmp(kind, "reduce_scatter_block")) MPI_Reduce_scatter_block(in, out, bytes, MPI_BYTE, MPI_BOR, world);
  else if (!strcmp(kind, "reduce_scatter")) {
    for (int i = 0; i < ranks; i++) counts[i] = bytes;
    MPI_Reduce_scatter(in, out, counts, MPI_BYTE, MPI_BOR, world);
  } else fail("unknown collective");
}

int main(int argc, char** argv) {
  int rank, ranks, provided;
  if (!isthmus_counter_read) MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Counter counter;
  counter_open(&counter);
  if (ranks > 1 && !works(&counter)) fail("nothing counts messages here");
  int* counts = malloc((size_t)ranks * sizeof *counts);
  for (int i = 1; i < argc; i++) {
    char kind[64];
    long bytes;
    if (sscanf(argv[i], "%63[a-z_]=%ld", kind, &bytes) != 2) fail("a case is collective=bytes");
    char *in = calloc((size_t)bytes * (size_t)ranks + 1, 1), *out = calloc((size_t)bytes * (size_t)ranks + 1, 1);
    if (!in || !out) fail("not enough memory");
    /* The first call may make communicators and connections. */
    call(kind, (int)bytes, ranks, in, out, counts);
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned long long before[2], after[2];
    counter_read(&counter, before);
    call(kind, (int)bytes, ranks, in, out, counts);
    counter_read(&counter, after);
    print_case(i - 1, before, after);
    free(in);
    free(out);
  }
  if (rank == 0) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    for (int i = 0; i < length; i++) {
      if (version[i] == '\n') version[i] = 0;
    }
    printf("isthmus-library %s\n", version);
  }
  MPI_Finalize();
  if (!isthmus_counter_read) MPI_T_finalize();
  return 0;
}
