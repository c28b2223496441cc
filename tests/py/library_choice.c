/* Prints the algorithm that the library takes for each line "KIND ELEMENT COUNT" of the standard input, and carries the
 * last of them out:  choice JOB RANK RANKS [TABLE] */
#include <isthmus/isthmus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char* words) { printf("said: %s\n", words); }

int main(int argc, char** argv) {
  isthmus_job job;
  isthmus_team* team;
  int kind, element;
  unsigned long long count;
  memset(&job, 0, sizeof job);
  job.size = sizeof job;
  job.name = argv[1];
  job.rank = (uint32_t)atoi(argv[2]);
  job.ranks = (uint32_t)atoi(argv[3]);
  job.say = say;
  job.table = argc > 4 ? argv[4] : NULL;
  if (isthmus_join(&job, &team) != ISTHMUS_DONE) {
    printf("%s\n", isthmus_last_error());
    return 1;
  }
  while (scanf("%d %d %llu", &kind, &element, &count) == 3) {
    isthmus_call call;
    const char* algorithm;
    memset(&call, 0, sizeof call);
    call.size = sizeof call;
    call.kind = (isthmus_kind)kind;
    call.element = (isthmus_element)element;
    call.count = count;
    if (isthmus_choice(team, &call, &algorithm) != ISTHMUS_DONE) algorithm = isthmus_last_error();
    printf("%s\n", algorithm);
    if (count < 1000) {
      static double input[8000], output[8000];
      if (isthmus_run(team, &call, input, output) != ISTHMUS_DONE) return 1;
    }
  }
  return isthmus_leave(team);
}
