/* Barriers, section 6.6.1 of UPC 1.3. */
#include "internal.h"

static int open_;
static int had, number;

void isthmus_upc_notify(int given, int id) {
  const int64_t value = id;
  if (open_) isthmus_upc_refuse("upc_notify follows a upc_notify without a upc_wait between them");
  open_ = 1, had = given, number = id;
  check(isthmus_notify(isthmus_upc_space, given ? &value : NULL), "upc_notify");
}

void isthmus_upc_wait(int given, int id) {
  if (!open_) isthmus_upc_refuse("upc_wait without a upc_notify before it");
  open_ = 0;
  if (given && had && id != number) isthmus_upc_refuse("upc_wait has the value %d and its upc_notify %d", id, number);
  check(isthmus_await(isthmus_upc_space), "upc_wait");
}

void isthmus_upc_barrier(int given, int id) {
  const int64_t value = id;
  if (open_) isthmus_upc_refuse("upc_barrier between upc_notify and upc_wait");
  check(isthmus_barrier(isthmus_upc_space, given ? &value : NULL), "upc_barrier");
}
