/* Collectives that move, section 7.3.1 of UPC 1.3's collectives. */
#include "internal.h"
#include "manner.h"

void upc_all_broadcast(isthmus_shared to, isthmus_shared from, size_t bytes, int flags) {
  const isthmus_manner manner = manner_of(flags);
  check(isthmus_broadcast(isthmus_upc_space, &manner, to.offset, from.rank, from.offset, bytes), "upc_all_broadcast");
}
void upc_all_scatter(isthmus_shared to, isthmus_shared from, size_t bytes, int flags) {
  const isthmus_manner manner = manner_of(flags);
  check(isthmus_scatter(isthmus_upc_space, &manner, to.offset, from.rank, from.offset, bytes), "upc_all_scatter");
}
void upc_all_gather(isthmus_shared to, isthmus_shared from, size_t bytes, int flags) {
  const isthmus_manner manner = manner_of(flags);
  check(isthmus_gather(isthmus_upc_space, &manner, to.rank, to.offset, from.offset, bytes), "upc_all_gather");
}
void upc_all_gather_all(isthmus_shared to, isthmus_shared from, size_t bytes, int flags) {
  const isthmus_manner manner = manner_of(flags);
  check(isthmus_gather_all(isthmus_upc_space, &manner, to.offset, from.offset, bytes), "upc_all_gather_all");
}
void upc_all_exchange(isthmus_shared to, isthmus_shared from, size_t bytes, int flags) {
  const isthmus_manner manner = manner_of(flags);
  check(isthmus_exchange_all(isthmus_upc_space, &manner, to.offset, from.offset, bytes), "upc_all_exchange");
}
void upc_all_permute(isthmus_shared to, isthmus_shared from, isthmus_shared perm, size_t bytes, int flags) {
  const isthmus_manner manner = manner_of(flags);
  int next = 0;
  if (manner.enter == ISTHMUS_SYNC_ALL) check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_permute");
  perm = isthmus_shared_add(perm, (int64_t)isthmus_upc_thread - perm.rank, sizeof next, 1, isthmus_upc_threads);
  check(isthmus_get(isthmus_upc_space, &next, perm.rank, perm.offset, sizeof next), "upc_all_permute");
  check(isthmus_permute(isthmus_upc_space, &manner, to.offset, from.offset, bytes, (uint32_t)next), "upc_all_permute");
}
