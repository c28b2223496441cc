/* Processes that call MPI past the recorder: nothing is recorded of them, and why is noted for whoever looks for it, in
 * "PID.unseen" in the directory of the recording. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

/* Whether the path is of an MPI library proper. */
static bool is_mpi(const char* path) {
  const char* base = strrchr(path, '/');
  base = base ? base + 1 : path;
  static const char* const names[] = {"libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_cray.so"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (!strncmp(base, names[i], strlen(names[i]))) return true;
  return false;
}

struct other {
  const char* ours;
  char path[4096];
};

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct other* other = data;
  if (!info->dlpi_name || !is_mpi(info->dlpi_name) || !strcmp(info->dlpi_name, other->ours)) return 0;
  snprintf(other->path, sizeof other->path, "%s", info->dlpi_name);
  return 1;
}

__attribute__((destructor)) static void at_exit(void) {
  const char* directory = getenv("ISTHMUS_DIRECTORY");
  if (lifetime_seen || !directory || directory[0] != '/') return;
  Dl_info info;
  int called = 0;
  PMPI_Initialized(&called);
  if (!called) PMPI_Finalized(&called);
  struct other other = {.ours = ""};
  if (dladdr((const void*)(uintptr_t)&PMPI_Initialized, &info) && info.dli_fname) other.ours = info.dli_fname;
  dl_iterate_phdr(look, &other);
  if (!called && !other.path[0]) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/%ld.unseen", directory, (long)getpid());
  FILE* file = fopen(path, "we");
  if (!file) return;
  fprintf(file, "%s\n%s\n", called ? "handle" : "other", called ? other.ours : other.path);
  fclose(file);
}
