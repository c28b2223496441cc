/* Calls that are tuned while the program runs; prints what is said and what is chosen:  online JOB RANK RANKS FILE WHAT
 */
#include <isthmus/isthmus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 1 << 15 };
static double input[most], output[most], before[most];
static int worked, asked;

static void say(const char* words) { printf("said: %s\n", words); }

static int check(int status) {
  if (status >= 0) return status;
  printf("%s\n", isthmus_last_error());
  exit(1);
}

static void work(void* data) {
  volatile double sum = 0;
  for (int i = 0; i < 2000; ++i) sum += i;
  *(int*)data += 1;
}
/* MPI's own, that takes no time, or a very long one. */
static int quick(void* data, const void* in, void* out) {
  (void)in, (void)out;
  *(int*)data += 1;
  return 0;
}
static int slow(void* data, const void* in, void* out) {
  usleep(100000);
  return quick(data, in, out);
}
static int broken(void* data, const void* in, void* out) { return quick(data, in, out) - 1; }

int main(int argc, char** argv) {
  isthmus_job job;
  isthmus_team* team;
  isthmus_call call;
  isthmus_trial trial;
  const char* algorithm;
  if (argc != 6) return 2;
  memset(&job, 0, sizeof job);
  memset(&call, 0, sizeof call);
  memset(&trial, 0, sizeof trial);
  job.size = sizeof job;
  job.name = argv[1];
  job.rank = (uint32_t)atoi(argv[2]);
  job.ranks = (uint32_t)atoi(argv[3]);
  job.say = say;
  job.online = argv[4];
  check(isthmus_join(&job, &team));
  call.size = sizeof call;
  call.element = ISTHMUS_F64;
  trial.size = sizeof trial;
  for (int i = 0; i < most; ++i) input[i] = before[i] = output[i] = i + 1;
  if (!strcmp(argv[5], "run")) {
    const isthmus_kind kinds[] = {ISTHMUS_ALLREDUCE, ISTHMUS_BCAST, ISTHMUS_ALLGATHER};
    for (int k = 0; k < 3; ++k)
      for (uint64_t count = 1; count <= 3000; count *= 50) {
        call.kind = kinds[k];
        call.count = count;
        call.root = job.ranks - 1;
        for (int turn = 0; turn < 3; ++turn) check(isthmus_run(team, &call, input, output));
        for (uint64_t i = 0; i < count && call.kind == ISTHMUS_ALLREDUCE; ++i)
          if (output[i] != job.ranks * input[i]) return 3;
        check(isthmus_choice(team, &call, &algorithm));
        printf("%d %llu %s\n", (int)call.kind, (unsigned long long)count, algorithm);
      }
    return isthmus_leave(team);
  }
  call.kind = ISTHMUS_ALLREDUCE;
  call.count = 100;
  trial.budget_us = 2000;
  trial.data = &asked;
  if (!strcmp(argv[5], "throughput")) trial.objective = ISTHMUS_THROUGHPUT;
  if (!strcmp(argv[5], "exposed")) trial.objective = ISTHMUS_EXPOSED, trial.work = work, trial.data = &worked;
  if (!strcmp(argv[5], "no-work")) trial.objective = ISTHMUS_EXPOSED;
  if (!strcmp(argv[5], "quick")) trial.external = quick;
  if (!strcmp(argv[5], "slow")) trial.external = slow;
  if (!strcmp(argv[5], "broken")) trial.external = broken;
  check(isthmus_tune(team, &call, &trial, input, output));
  if (memcmp(output, before, sizeof output) != 0) return 4;
  if (trial.work && worked == 0) return 5;
  if (trial.external && asked == 0) return 6;
  check(isthmus_choice(team, &call, &algorithm));
  printf("%s\n", algorithm);
  check(isthmus_run(team, &call, input, output));
  return output[99] == job.ranks * 100.0 ? isthmus_leave(team) : 7;
}
