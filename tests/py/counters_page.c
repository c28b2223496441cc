/* Reads a counter from a page that is made up, as the kernel would change it. */
#include "counters_page.h"

#include <assert.h>
#include <string.h>

static struct perf_event_mmap_page page;
static uint64_t register_value;
static uint32_t register_asked;
static int moves;

static uint64_t fixed(uint32_t index) {
  register_asked = index;
  return register_value;
}

/* The kernel takes the thread off the processor while the register is read: what it says then is none of this
 * counter's. */
static uint64_t moving(uint32_t index) {
  register_asked = index;
  if (!moves) return 7;
  moves--;
  page.lock += 2;
  page.offset += 1000;
  page.index++;
  return 0x123456;
}

int main(void) {
  int64_t value = 0;
  page.cap_user_rdpmc = 1;
  page.pmc_width = 48;
  page.index = 3;
  page.offset = 1ll << 50;
  register_value = 41;
  assert(page_value(&page, fixed, &value) && value == (1ll << 50) + 41 && register_asked == 2);
  /* A counter that the kernel started below zero, so that it overflows in time; bits above its width say nothing. */
  register_value = (0xabcdull << 48) | ((1ull << 48) - 5);
  assert(page_value(&page, fixed, &value) && value == (1ll << 50) - 5);
  page.pmc_width = 32;
  register_value = 0x80000000;
  assert(page_value(&page, fixed, &value) && value == (1ll << 50) - (1ll << 31));
  page.pmc_width = 64;
  register_value = ~0ull;
  assert(page_value(&page, fixed, &value) && value == (1ll << 50) - 1);
  /* Changed three times on the way: the last state counts. */
  page.offset = 0;
  page.index = 1;
  moves = 3;
  assert(page_value(&page, moving, &value) && value == 3007 && register_asked == 3);
  /* Not on the processor; not allowed. */
  page.index = 0;
  assert(!page_value(&page, fixed, &value));
  page.index = 1;
  page.cap_user_rdpmc = 0;
  assert(!page_value(&page, fixed, &value));
  return 0;
}
