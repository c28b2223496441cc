/* Calls that do not match, in the checking mode: prints the words of the error; the team is of use afterwards. */
#include <isthmus/isthmus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t in[256], out[256];

int main(int arguments, char** given) {
  const char* what = given[4];
  const uint32_t rank = (uint32_t)atoi(given[2]), ranks = (uint32_t)atoi(given[3]);
  const int odd = rank == ranks - 1; /* the one that errs */
  int64_t counts[64];
  isthmus_team* team;
  isthmus_operation *first, *second;
  isthmus_job job;
  isthmus_call call;
  uint32_t r;
  int status;
  (void)arguments;
  memset(&job, 0, sizeof job);
  job.size = sizeof job;
  job.name = given[1];
  job.rank = rank;
  job.ranks = ranks;
  job.check = 1;
  if (isthmus_join(&job, &team) != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
  memset(&call, 0, sizeof call);
  call.size = sizeof call;
  call.kind = ISTHMUS_ALLREDUCE;
  call.element = ISTHMUS_I64;
  call.count = 5;
  if (isthmus_run(team, &call, in, out) != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 2;
  if (!strcmp(what, "kind")) call.kind = odd ? ISTHMUS_ALLREDUCE : ISTHMUS_ALLTOALL;
  if (!strcmp(what, "count")) call.count = odd ? 6 : 5;
  if (!strcmp(what, "type")) call.element = odd ? ISTHMUS_F64 : ISTHMUS_I64;
  if (!strcmp(what, "operator")) call.operation = odd ? ISTHMUS_MAX : ISTHMUS_MIN;
  if (!strcmp(what, "algorithm")) call.algorithm = odd ? "ring" : NULL;
  if (!strcmp(what, "root")) {
    call.kind = ISTHMUS_BCAST;
    call.root = odd;
  }
  if (!strcmp(what, "bytes")) { /* the same bytes of other elements are no mistake */
    call.kind = ISTHMUS_BCAST;
    call.element = odd ? ISTHMUS_U8 : ISTHMUS_I64;
    call.count = odd ? 40 : 5;
  }
  if (!strcmp(what, "block")) {
    call.kind = ISTHMUS_ALLGATHER;
    for (r = 0; r < ranks; ++r) counts[r] = 2 + r;
    if (odd) counts[1] = 7;
    call.counts = counts;
    call.counts_length = ranks;
  }
  if (!strcmp(what, "amount")) {
    call.kind = ISTHMUS_ALLTOALL;
    for (r = 0; r < 2 * ranks; ++r) counts[r] = 3;
    if (odd) counts[0] = 4;
    call.counts = counts;
    call.counts_length = 2 * ranks;
  }
  if (!strcmp(what, "neighbour")) {
    call.kind = ISTHMUS_NEIGHBOR_ALLTOALL;
    counts[0] = (rank + 1) % ranks;
    counts[1] = 2;
    counts[2] = 0;
    counts[3] = (rank + ranks - 1) % ranks;
    counts[4] = 0;
    counts[5] = 2;
    call.counts = counts;
    call.counts_length = odd ? 3 : 6; /* expects nothing */
  }
  if (!strcmp(what, "order")) {
    isthmus_call other = call;
    other.kind = ISTHMUS_BARRIER;
    if (isthmus_begin(team, odd ? &call : &other, in, out, &first) != ISTHMUS_IN_PROGRESS) return 3;
    if (isthmus_begin(team, odd ? &other : &call, in, out + 9, &second) != ISTHMUS_IN_PROGRESS) return 3;
    status = isthmus_wait(second);
    if (status == ISTHMUS_INVALID) printf("%s\n", isthmus_last_error());
    status = isthmus_wait(first);
  } else {
    status = isthmus_run(team, &call, in, out);
  }
  if (status == ISTHMUS_INVALID) printf("%s\n", isthmus_last_error());
  else if (status != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 4;
  memset(&call, 0, sizeof call);
  call.size = sizeof call;
  call.kind = ISTHMUS_ALLREDUCE;
  call.element = ISTHMUS_I64;
  call.count = 1;
  in[0] = rank;
  if (isthmus_run(team, &call, in, out) != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 5;
  if (out[0] != (int64_t)ranks * (ranks - 1) / 2) return 6;
  return isthmus_leave(team);
}
