/* Allocation, pointers to shared, and copies: sections 7.2.3 to 7.2.5 of UPC 1.3. */
#include <stdlib.h>

#include "internal.h"

static uint64_t bytes_of(size_t nblocks, size_t nbytes) {
  uint64_t bytes;
  const uint64_t rounds = nblocks / isthmus_upc_threads + (nblocks % isthmus_upc_threads != 0);
  if (__builtin_mul_overflow(rounds, (uint64_t)nbytes, &bytes))
    isthmus_upc_refuse("%zu blocks of %zu bytes are too many", nblocks, nbytes);
  return bytes;
}

isthmus_shared upc_all_alloc(size_t nblocks, size_t nbytes) {
  const uint64_t bytes = bytes_of(nblocks, nbytes);
  uint64_t offset = 0;
  if (bytes) check(isthmus_allocate_all(isthmus_upc_space, bytes, &offset), "upc_all_alloc");
  return isthmus_shared_first(offset);
}
isthmus_shared upc_global_alloc(size_t nblocks, size_t nbytes) {
  const uint64_t bytes = bytes_of(nblocks, nbytes);
  uint64_t offset = 0;
  if (bytes) check(isthmus_allocate_global(isthmus_upc_space, bytes, &offset), "upc_global_alloc");
  return isthmus_shared_first(offset);
}
isthmus_shared upc_alloc(size_t nbytes) {
  isthmus_shared p = {0, 0, 0};
  if (!nbytes) return p;
  check(isthmus_allocate(isthmus_upc_space, nbytes, &p.offset), "upc_alloc");
  p.rank = isthmus_upc_thread;
  return p;
}
isthmus_shared upc_local_alloc(size_t nblocks, size_t nbytes) { return upc_alloc(nblocks * nbytes); }
void upc_free(isthmus_shared p) {
  if (isthmus_upc_is(p)) check(isthmus_release(isthmus_upc_space, p.rank, p.offset), "upc_free");
}
void upc_all_free(isthmus_shared p) {
  check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_free");
  if (!isthmus_upc_thread) upc_free(p);
}

size_t upc_threadof(isthmus_shared p) { return p.rank; }
size_t upc_phaseof(isthmus_shared p) { return p.phase; }
size_t upc_addrfield(isthmus_shared p) { return p.offset; }
isthmus_shared upc_resetphase(isthmus_shared p) { return isthmus_upc_resetphase(p); }
size_t upc_affinitysize(size_t totalsize, size_t nbytes, size_t threadid) {
  if (nbytes == 0) return threadid == 0 ? totalsize : 0;
  const size_t blocks = totalsize / nbytes + (totalsize % nbytes != 0);
  return blocks == 0 ? 0
                     : (blocks / isthmus_upc_threads + (threadid < blocks % isthmus_upc_threads)) * nbytes -
                           (totalsize % nbytes != 0 && (blocks - 1) % isthmus_upc_threads == threadid
                                ? nbytes - totalsize % nbytes
                                : 0);
}

void upc_memget(void* to, isthmus_shared from, size_t bytes) {
  if (bytes) check(isthmus_get(isthmus_upc_space, to, from.rank, from.offset, bytes), "upc_memget");
}
void upc_memput(isthmus_shared to, const void* from, size_t bytes) {
  if (bytes) check(isthmus_put(isthmus_upc_space, to.rank, to.offset, from, bytes), "upc_memput");
}
void upc_memset(isthmus_shared to, int value, size_t bytes) {
  if (bytes) check(isthmus_set(isthmus_upc_space, to.rank, to.offset, value, bytes), "upc_memset");
}
void upc_memcpy(isthmus_shared to, isthmus_shared from, size_t bytes) {
  void* const near = isthmus_near(isthmus_upc_space, from.rank, from.offset, bytes);
  if (near) {
    upc_memput(to, near, bytes);
    return;
  }
  char part[4096];
  for (size_t at = 0; at < bytes; at += sizeof part) {
    const size_t now = bytes - at < sizeof part ? bytes - at : sizeof part;
    check(isthmus_get(isthmus_upc_space, part, from.rank, from.offset + at, now), "upc_memcpy");
    check(isthmus_put(isthmus_upc_space, to.rank, to.offset + at, part, now), "upc_memcpy");
  }
}
