/* Runs a command in which no process may read the memory of another one. */
#include "no_one_copy.h"

#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || !forbid_one_copy()) return 77;
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 1;
}
