/* describe JOB RANK RANKS KIND ELEMENTS ROOT ALGORITHM FILE: writes this rank's part of the schedule of a call, then
 * loads it as an operation of its own and carries that out. */
#include <isthmus/isthmus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int status) {
  if (status >= 0) return;
  fprintf(stderr, "%s\n", isthmus_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  isthmus_job job;
  isthmus_team* team;
  isthmus_call call;
  isthmus_operation* operation;
  size_t bytes, again;
  uint64_t size;
  void *part, *memory;
  FILE* file;
  if (argc != 9) return 2;
  memset(&job, 0, sizeof job);
  job.size = sizeof job;
  job.name = argv[1];
  job.rank = (uint32_t)atoi(argv[2]);
  job.ranks = (uint32_t)atoi(argv[3]);
  memset(&call, 0, sizeof call);
  call.size = sizeof call;
  call.kind = (isthmus_kind)atoi(argv[4]);
  call.element = ISTHMUS_F64;
  call.count = (uint64_t)atoi(argv[5]);
  call.root = (uint32_t)atoi(argv[6]);
  call.algorithm = argv[7];
  expect(isthmus_join(&job, &team));
  expect(isthmus_describe(team, &call, NULL, 0, &bytes));
  part = malloc(bytes);
  expect(isthmus_describe(team, &call, part, bytes, &again));
  if (again != bytes) return 3;
  file = fopen(argv[8], "wb");
  if (file == NULL || fwrite(part, 1, bytes, file) != bytes || fclose(file) != 0) return 4;
  expect(isthmus_load(team, part, bytes, &operation));
  expect(isthmus_buffer(operation, 0, &memory, &size));
  if (isthmus_buffer(operation, 3, &memory, &size) != ISTHMUS_INVALID) return 5;
  expect(isthmus_start(operation, NULL, NULL));
  expect(isthmus_wait(operation));
  expect(isthmus_free(operation));
  if (isthmus_load(team, part, bytes - 1, &operation) != ISTHMUS_INVALID) return 6;
  free(part);
  return isthmus_leave(team);
}
