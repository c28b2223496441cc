/* Flags of collectives as libisthmus has them. */
#ifndef ISTHMUS_UPC_MANNER_H
#define ISTHMUS_UPC_MANNER_H
#include "internal.h"

static inline isthmus_manner manner_of(int flags) {
  const isthmus_manner manner = {
      .size = sizeof manner,
      .enter = flags & 1   ? ISTHMUS_SYNC_MY
               : flags & 2 ? ISTHMUS_SYNC_NONE
                           : ISTHMUS_SYNC_ALL,
      .leave = flags & 4   ? ISTHMUS_SYNC_MY
               : flags & 8 ? ISTHMUS_SYNC_NONE
                           : ISTHMUS_SYNC_ALL,
  };
  return manner;
}
#endif
