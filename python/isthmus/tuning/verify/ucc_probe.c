/* Runs collectives of UCC; MPI starts the ranks and carries what UCC asks for while it makes its team.
 *
 * Arguments: one "collective=bytes" for each case, bytes as of isthmus.collective. Rank 0 prints "isthmus-library" with
 * UCC's version and, for each case, "isthmus-case <index>" with messages and bytes of every rank, counted by a library
 * that is loaded before the program (counter.c). A wrong result ends the program. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucc/api/ucc.h>

#include "probe_case.h"

extern void isthmus_counter_read(unsigned long long* messages, unsigned long long* bytes) __attribute__((weak));

static int rank, ranks;
static ucc_context_h context;
static ucc_team_h team;

static void fail(const char* what, int status) {
  fprintf(stderr, "isthmus-probe: %s: %s\n", what, status < 0 ? ucc_status_string((ucc_status_t)status) : "failed");
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static ucc_status_t exchange(void* in, void* out, size_t bytes, void* info, void** request) {
  MPI_Request* started = malloc(sizeof *started);
  (void)info;
  MPI_Iallgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, started);
  *request = started;
  return UCC_OK;
}

static ucc_status_t exchanged(void* request) {
  int done;
  MPI_Test(request, &done, MPI_STATUS_IGNORE);
  return done ? UCC_OK : UCC_INPROGRESS;
}

static ucc_status_t freed(void* request) {
  free(request);
  return UCC_OK;
}

static void make_team(void) {
  /* One rank is enough to list what holds for all. */
  if (rank) setenv("UCC_LOG_LEVEL", "warn", 1);
  ucc_lib_params_t lib_params = {.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE, .thread_mode = UCC_THREAD_SINGLE};
  ucc_context_params_t context_params = {.mask = UCC_CONTEXT_PARAM_FIELD_OOB};
  ucc_team_params_t team_params = {.mask = UCC_TEAM_PARAM_FIELD_OOB};
  ucc_lib_config_h lib_config;
  ucc_context_config_h context_config;
  ucc_lib_h lib;
  ucc_status_t status;
  ucc_oob_coll_t oob = {.allgather = exchange, .req_test = exchanged, .req_free = freed};
  oob.n_oob_eps = (uint32_t)ranks;
  oob.oob_ep = (uint32_t)rank;
  context_params.oob = team_params.oob = oob;
  if ((status = ucc_lib_config_read(NULL, NULL, &lib_config)) != UCC_OK) fail("ucc_lib_config_read", status);
  if ((status = ucc_init(&lib_params, lib_config, &lib)) != UCC_OK) fail("ucc_init", status);
  if ((status = ucc_context_config_read(lib, NULL, &context_config)) != UCC_OK) fail("ucc_context_config_read", status);
  if ((status = ucc_context_create(lib, &context_params, context_config, &context)) != UCC_OK) {
    fail("ucc_context_create", status);
  }
  if ((status = ucc_team_create_post(&context, 1, &team_params, &team)) != UCC_OK) fail("ucc_team_create_post", status);
  while ((status = ucc_team_create_test(team)) == UCC_INPROGRESS) ucc_context_progress(context);
  if (status != UCC_OK) fail("ucc_team_create_test", status);
}

static const struct {
  const char* name;
  ucc_coll_type_t type;
  int all_in, all_out; /* blocks of all ranks there */
} kinds[] = {
    {"barrier", UCC_COLL_TYPE_BARRIER, 0, 0},   {"bcast", UCC_COLL_TYPE_BCAST, 0, 0},
    {"reduce", UCC_COLL_TYPE_REDUCE, 0, 0},     {"allreduce", UCC_COLL_TYPE_ALLREDUCE, 0, 0},
    {"gather", UCC_COLL_TYPE_GATHER, 0, 1},     {"allgather", UCC_COLL_TYPE_ALLGATHER, 0, 1},
    {"alltoall", UCC_COLL_TYPE_ALLTOALL, 1, 1}, {"reduce_scatter", UCC_COLL_TYPE_REDUCE_SCATTER, 1, 0},
    {"scatter", UCC_COLL_TYPE_SCATTER, 1, 0},
};

static void call(int kind, size_t bytes, uint8_t* in, uint8_t* out) {
  ucc_coll_args_t args = {.coll_type = kinds[kind].type, .op = UCC_OP_BXOR, .root = 0};
  ucc_coll_req_h request;
  ucc_status_t status;
  args.src.info.buffer = in;
  args.dst.info.buffer = out;
  args.src.info.count = bytes * (kinds[kind].all_in ? (size_t)ranks : 1);
  args.dst.info.count = bytes * (kinds[kind].all_out ? (size_t)ranks : 1);
  args.src.info.datatype = args.dst.info.datatype = UCC_DT_UINT8;
  args.src.info.mem_type = args.dst.info.mem_type = UCC_MEMORY_TYPE_HOST;
  if ((status = ucc_collective_init(&args, &request, team)) != UCC_OK) fail(kinds[kind].name, status);
  if ((status = ucc_collective_post(request)) != UCC_OK) fail(kinds[kind].name, status);
  while ((status = ucc_collective_test(request)) == UCC_INPROGRESS) ucc_context_progress(context);
  if (status != UCC_OK) fail(kinds[kind].name, status);
  ucc_collective_finalize(request);
}

static uint8_t value(int owner, size_t place) { return (uint8_t)((size_t)owner * 37 + place * 11 + 5); }

/* Whether the result is what the collective promises this rank. */
static int right(int kind, size_t bytes, const uint8_t* in, const uint8_t* out) {
  ucc_coll_type_t type = kinds[kind].type;
  if ((type == UCC_COLL_TYPE_REDUCE || type == UCC_COLL_TYPE_GATHER) && rank != 0) return 1;
  if (type == UCC_COLL_TYPE_BCAST) out = in;
  size_t size = bytes * (kinds[kind].all_out ? (size_t)ranks : 1);
  for (size_t i = 0; i < size; i++) {
    uint8_t wanted = 0;
    size_t place = kinds[kind].all_in ? (size_t)rank * bytes + i % bytes : i % bytes;
    if (kinds[kind].all_out) wanted = value((int)(i / bytes), place);
    else if (type == UCC_COLL_TYPE_SCATTER || type == UCC_COLL_TYPE_BCAST) wanted = value(0, place);
    else
      for (int r = 0; r < ranks; r++) wanted ^= value(r, place);
    if (out[i] != wanted) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!isthmus_counter_read) fail("nothing counts messages here", 0);
  make_team();
  if (rank == 0) printf("isthmus-library UCC %s\n", ucc_get_version_string());
  for (int i = 1; i < argc; i++) {
    char name[64];
    unsigned long bytes;
    int kind = 0, count = (int)(sizeof kinds / sizeof kinds[0]);
    if (sscanf(argv[i], "%63[a-z_]=%lu", name, &bytes) != 2) fail("a case is collective=bytes", 0);
    while (kind < count && strcmp(kinds[kind].name, name)) kind++;
    if (kind == count) fail("unknown collective", 0);
    size_t size = bytes * (size_t)ranks;
    uint8_t *in = malloc(size + 1), *out = malloc(size + 1);
    for (size_t j = 0; j < size; j++) in[j] = value(rank, j);
    memset(out, 0, size);
    /* The first call may make connections. */
    call(kind, bytes, in, out);
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned long long before[2], after[2];
    isthmus_counter_read(&before[0], &before[1]);
    call(kind, bytes, in, out);
    isthmus_counter_read(&after[0], &after[1]);
    if (!right(kind, bytes, in, out)) fail(argv[i], UCC_ERR_NO_MESSAGE);
    print_case(i - 1, before, after);
    free(in);
    free(out);
  }
  MPI_Finalize();
  return 0;
}
