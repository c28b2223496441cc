/* Programs that end as they should not: the first argument says how. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

static int handled;
static void handle(int number) { handled = number; }

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "never")) return 0;
  if (!strcmp(how, "fails")) return 7;
  signal(SIGTERM, !strcmp(how, "handled") ? handle : SIG_DFL);
  MPI_Init(&argc, &argv);
  begin_known();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 100; i++) {
    int value = 0;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % ranks, 0, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(how, "status")) {
    MPI_Finalize();
    return 3;
  }
  if (!strcmp(how, "abort") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  if (!strcmp(how, "kill") && rank == 0) raise(SIGKILL);
  if (!strcmp(how, "crash") && rank == 0) raise(SIGSEGV);
  if (!strcmp(how, "terminate") && rank == 0) raise(SIGTERM);
  if (!strcmp(how, "exit")) exit(4);
  if (!strcmp(how, "wait")) {
    printf("waiting\n");
    fflush(stdout);
    for (;;) pause();
  }
  if (!strcmp(how, "handled")) {
    raise(SIGTERM);
    CHECK(handled == SIGTERM);
  }
  if (!strcmp(how, "children")) {
    /* Children are no ranks: what they do leaves no trace. */
    CHECK(system("true") == 0);
    pid_t child = fork();
    if (child == 0) exit(0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (*how && strcmp(how, "children") != 0 && strcmp(how, "handled") != 0) MPI_Barrier(MPI_COMM_WORLD);
  if (*how && strcmp(how, "children") != 0 && strcmp(how, "handled") != 0) pause();
  MPI_Finalize();
  return 0;
}
