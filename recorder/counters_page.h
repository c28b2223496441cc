/* A counter of the processor, read without the kernel: from the page that the kernel keeps for it (perf_event_open(2),
 * cap_user_rdpmc) and the instruction that reads the processor's register. */
#ifndef ISTHMUS_COUNTERS_PAGE_H
#define ISTHMUS_COUNTERS_PAGE_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* False: the counter is not on the processor, or only the kernel may read it. The kernel changes `lock` before and
 * after it changes the others, which it does when the thread is taken off the processor: then all is read again. */
static inline bool page_value(const struct perf_event_mmap_page* page, uint64_t (*read_register)(uint32_t),
                              int64_t* value) {
  const volatile struct perf_event_mmap_page* now = page;
  uint32_t sequence;
  uint64_t count;
  do {
    sequence = now->lock;
    atomic_signal_fence(memory_order_seq_cst);
    const uint32_t index = now->index;
    if (!now->cap_user_rdpmc || !index) return false;
    /* The register has fewer bits than the count, and a sign. */
    const unsigned missing = 64u - now->pmc_width;
    count = (uint64_t)now->offset + (uint64_t)((int64_t)(read_register(index - 1) << missing) >> missing);
    atomic_signal_fence(memory_order_seq_cst);
  } while (now->lock != sequence);
  *value = (int64_t)count;
  return true;
}

#endif
