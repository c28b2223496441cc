/* Locks, section 7.2.4 of UPC 1.3: the place of a mutex is the pointer. */
#include "internal.h"

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
/* A lock may be freed while a thread has it: where that is another one, its memory is left alone, as it still writes.
 */
void upc_lock_free(isthmus_shared lock) {
  if (!isthmus_upc_is(lock)) return;
  const isthmus_mutex mutex = mutex_of(lock, "upc_lock_free");
  if (isthmus_mutex_free(isthmus_upc_space, mutex) >= 0) return;
  if (isthmus_unlock(isthmus_upc_space, mutex) >= 0)
    check(isthmus_mutex_free(isthmus_upc_space, mutex), "upc_lock_free");
}
void upc_all_lock_free(isthmus_shared lock) {
  check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_lock_free");
  if (!isthmus_upc_thread) upc_lock_free(lock);
}
void upc_lock(isthmus_shared lock) {
  check(isthmus_lock(isthmus_upc_space, mutex_of(lock, "upc_lock")), "upc_lock");
  isthmus_upc_fence();
}
int upc_lock_attempt(isthmus_shared lock) {
  const int status = isthmus_try_lock(isthmus_upc_space, mutex_of(lock, "upc_lock_attempt"));
  check(status, "upc_lock_attempt");
  isthmus_upc_fence();
  return status == ISTHMUS_DONE;
}
void upc_unlock(isthmus_shared lock) {
  isthmus_upc_fence();
  check(isthmus_unlock(isthmus_upc_space, mutex_of(lock, "upc_unlock")), "upc_unlock");
}
