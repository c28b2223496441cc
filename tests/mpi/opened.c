/* MPI loaded by dlopen, its functions looked up with the handle: nothing can be put between. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = dlopen(argc > 1 ? argv[1] : "libmpi.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(library, "MPI_Init");
  int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
  return init(NULL, NULL) || finalize();
}
