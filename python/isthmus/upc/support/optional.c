/* upc_tick.h, upc_castable.h and upc_nb.h. */
#include <time.h>

#include "internal.h"

uint64_t upc_ticks_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
uint64_t upc_ticks_to_ns(uint64_t ticks) { return ticks; }

void upc_poll(void) { check(isthmus_poll(isthmus_upc_space), "upc_poll"); }

void* upc_cast(isthmus_shared p) { return isthmus_upc_local(p); }
typedef struct upc_thread_info_t {
  int guaranteedCastable, probablyCastable;
} upc_thread_info_t;
upc_thread_info_t upc_thread_info(size_t thread) {
  const int near = isthmus_cast(isthmus_upc_space, (uint32_t)thread, 0) ? 15 : 0;
  const upc_thread_info_t info = {near, near};
  return info;
}

void upc_memset(isthmus_shared to, int value, size_t bytes);
void upc_memcpy(isthmus_shared to, isthmus_shared from, size_t bytes);

uint64_t upc_memget_nb(void* to, isthmus_shared from, size_t bytes) {
  isthmus_event event = 0;
  check(isthmus_begin_get(isthmus_upc_space, to, from.rank, from.offset, bytes, &event), "upc_memget_nb");
  return event;
}
uint64_t upc_memput_nb(isthmus_shared to, const void* from, size_t bytes) {
  isthmus_event event = 0;
  check(isthmus_begin_put(isthmus_upc_space, to.rank, to.offset, from, bytes, &event), "upc_memput_nb");
  return event;
}
uint64_t upc_memset_nb(isthmus_shared to, int value, size_t bytes) {
  upc_memset(to, value, bytes);
  return 0;
}
uint64_t upc_memcpy_nb(isthmus_shared to, isthmus_shared from, size_t bytes) {
  upc_memcpy(to, from, bytes);
  return 0;
}
int upc_sync_attempt(uint64_t handle) {
  if (!handle) return 1;
  const int status = isthmus_test_event(isthmus_upc_space, &handle);
  check(status, "upc_sync_attempt");
  return status == ISTHMUS_DONE;
}
void upc_sync(uint64_t handle) {
  if (handle) check(isthmus_wait_event(isthmus_upc_space, &handle), "upc_sync");
}
void upc_memget_nbi(void* to, isthmus_shared from, size_t bytes) {
  check(isthmus_begin_get(isthmus_upc_space, to, from.rank, from.offset, bytes, NULL), "upc_memget_nbi");
}
void upc_memput_nbi(isthmus_shared to, const void* from, size_t bytes) {
  check(isthmus_begin_put(isthmus_upc_space, to.rank, to.offset, from, bytes, NULL), "upc_memput_nbi");
}
void upc_memset_nbi(isthmus_shared to, int value, size_t bytes) { upc_memset(to, value, bytes); }
void upc_memcpy_nbi(isthmus_shared to, isthmus_shared from, size_t bytes) { upc_memcpy(to, from, bytes); }
void upc_synci(void) { check(isthmus_wait_all(isthmus_upc_space), "upc_synci"); }
int upc_synci_attempt(void) {
  upc_synci();
  return 1;
}
