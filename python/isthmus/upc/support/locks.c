/* Locks, section 7.2.4 of UPC 1.3: the place of a mutex is the pointer. */
#include <stdlib.h>

#include "internal.h"
#include "starts.h"

enum { message = 251, many = 32 };

/* What this thread has, and whether another one has freed it meanwhile. */
static struct {
  isthmus_mutex mutex;
  int freed;
}* held;
static size_t count, room;
static int any_freed;

static void keep(isthmus_mutex mutex) {
  if (count == room) {
    room = room ? 2 * room : 16;
    held = realloc(held, room * sizeof *held);
    if (!held) isthmus_upc_refuse("no memory for a lock");
  }
  held[count].mutex = mutex;
  held[count++].freed = 0;
}
static size_t find(uint32_t rank, uint64_t offset) {
  size_t i = 0;
  while (i < count && (held[i].mutex.rank != rank || held[i].mutex.offset != offset)) ++i;
  return i;
}
static void forget(isthmus_mutex mutex) {
  const size_t i = find(mutex.rank, mutex.offset);
  if (i < count) held[i] = held[--count];
}
static void was_freed(isthmus_token* token, const uint64_t* a, uint32_t words, void* bytes, size_t size, void* data) {
  (void)token, (void)words, (void)bytes, (void)size, (void)data;
  const size_t i = find((uint32_t)a[0], a[1]);
  if (i < count) held[i].freed = any_freed = 1;
}
/* The library has room for a number of locks at a time: those that others freed make way. */
static void make_way(void) {
  if (count >= many) check(isthmus_poll(isthmus_upc_space), "upc_lock");
  if (!any_freed) return;
  any_freed = 0;
  for (size_t i = 0; i < count;) {
    if (!held[i].freed) {
      ++i;
      continue;
    }
    const isthmus_mutex mutex = held[i].mutex;
    held[i] = held[--count];
    check(isthmus_unlock(isthmus_upc_space, mutex), "upc_lock_free");
  }
}
void isthmus_upc_locks_start(void) { check(isthmus_handle(isthmus_upc_space, message, was_freed, NULL), "start"); }

static isthmus_mutex mutex_of(isthmus_shared lock, const char* doing) {
  const isthmus_mutex mutex = {lock.rank, lock.offset};
  if (!isthmus_upc_is(lock)) isthmus_upc_refuse("%s of a null pointer", doing);
  return mutex;
}
static isthmus_shared lock_of(isthmus_mutex mutex) {
  const isthmus_shared lock = {mutex.offset, mutex.rank, 0};
  return lock;
}
isthmus_shared upc_all_lock_alloc(void) {
  isthmus_mutex mutex;
  check(isthmus_mutex_make_all(isthmus_upc_space, &mutex), "upc_all_lock_alloc");
  return lock_of(mutex);
}
isthmus_shared upc_global_lock_alloc(void) {
  isthmus_mutex mutex;
  check(isthmus_mutex_make(isthmus_upc_space, &mutex), "upc_global_lock_alloc");
  return lock_of(mutex);
}
/* A lock may be freed while a thread has it: where that is another one, it is told, and its memory is left alone, as it
 * still writes there. */
void upc_lock_free(isthmus_shared lock) {
  if (!isthmus_upc_is(lock)) return;
  const isthmus_mutex mutex = mutex_of(lock, "upc_lock_free");
  if (isthmus_mutex_free(isthmus_upc_space, mutex) >= 0) return;
  if (isthmus_unlock(isthmus_upc_space, mutex) >= 0) {
    forget(mutex);
    check(isthmus_mutex_free(isthmus_upc_space, mutex), "upc_lock_free");
    return;
  }
  const uint64_t place[] = {mutex.rank, mutex.offset};
  for (uint32_t rank = 0; rank < isthmus_upc_threads; ++rank)
    if (rank != isthmus_upc_thread)
      check(isthmus_request(isthmus_upc_space, rank, message, place, 2, NULL, 0), "upc_lock_free");
}
void upc_all_lock_free(isthmus_shared lock) {
  check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_lock_free");
  if (!isthmus_upc_thread) upc_lock_free(lock);
}
void upc_lock(isthmus_shared lock) {
  const isthmus_mutex mutex = mutex_of(lock, "upc_lock");
  make_way();
  check(isthmus_lock(isthmus_upc_space, mutex), "upc_lock");
  keep(mutex);
  isthmus_upc_fence();
}
int upc_lock_attempt(isthmus_shared lock) {
  const isthmus_mutex mutex = mutex_of(lock, "upc_lock_attempt");
  make_way();
  const int status = isthmus_try_lock(isthmus_upc_space, mutex);
  check(status, "upc_lock_attempt");
  if (status == ISTHMUS_DONE) keep(mutex);
  isthmus_upc_fence();
  return status == ISTHMUS_DONE;
}
void upc_unlock(isthmus_shared lock) {
  isthmus_upc_fence();
  const isthmus_mutex mutex = mutex_of(lock, "upc_unlock");
  check(isthmus_unlock(isthmus_upc_space, mutex), "upc_unlock");
  forget(mutex);
}
