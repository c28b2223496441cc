/* What upcr.h needs before main. */
#include "internal.h"

typedef struct object {
  isthmus_shared* pointer;
  size_t block_bytes, blocks;
  int times_threads;
  size_t element_bytes;
  const char *name, *type;
} object;

void upcr_startup_shalloc(const object* objects, size_t count);
/* All threads call it with the same objects, some of which other files have named too. */
void upcr_startup_shalloc(const object* objects, size_t count) {
  for (const object* o = objects; o < objects + count; ++o) {
    if (isthmus_upc_is(*o->pointer)) continue;
    const uint64_t blocks = o->times_threads ? o->blocks * isthmus_upc_threads : o->blocks;
    const uint64_t bytes = (blocks + isthmus_upc_threads - 1) / isthmus_upc_threads * o->block_bytes;
    check(isthmus_allocate_all(isthmus_upc_space, bytes ? bytes : 1, &o->pointer->offset), o->name);
    check(isthmus_set(isthmus_upc_space, isthmus_upc_thread, o->pointer->offset, 0, bytes), o->name);
  }
}
