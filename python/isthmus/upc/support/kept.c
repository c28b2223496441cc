/* Rows that loops read again before anything could have changed them for this thread: they are kept from one loop to
 * the next. isthmus upcc says where that is: no synchronisation, no strict access, no call of a function that is not
 * known, and no write to the same array. */
#include <stdlib.h>

#include "internal.h"
#include "isthmus_upc_rows.h"

enum { entries = 4096, most = 64 << 20, line = 64 };

/* What the elements of a row are: where the first one is, how one comes to the next, and how many there are. */
typedef struct key {
  uint64_t base, offset;
  uint32_t base_rank, base_phase, rank, phase, bytes, block;
  int64_t first, step, total, count;
} key;

static struct {
  key key;
  char* data; /* NULL: nothing is here */
} table[entries];
static uint32_t used[entries], count;
static char* memory;
static size_t taken;
static int keeping;

void isthmus_upc_keep(const void* const* pointers, uint32_t many) {
  keeping = 0;
  if (!((isthmus_space_head*)isthmus_upc_space)->far) return;
  for (uint32_t i = 0; i < many; ++i)
    if (isthmus_upc_leads_to_shared(pointers[i])) return;
  if (!memory && !(memory = malloc(most))) return;
  for (uint32_t i = 0; i < count; ++i) table[used[i]].data = NULL;
  count = 0, taken = 0, keeping = 1;
}
void isthmus_upc_keep_end(void) { keeping = 0; }

static uint64_t mixed(const key* of) {
  uint64_t words[sizeof *of / sizeof(uint64_t)], hash = 0;
  memcpy(words, of, sizeof words);
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

char* isthmus_upc_kept(const isthmus_upc_row* row, isthmus_shared begin, int64_t first, int64_t many, int* is_new) {
  if (!keeping) return NULL;
  key wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.base = row->at.offset, wanted.base_rank = row->at.rank, wanted.base_phase = row->at.phase;
  wanted.offset = begin.offset, wanted.rank = begin.rank, wanted.phase = begin.phase;
  wanted.bytes = row->bytes, wanted.block = row->block;
  wanted.first = first, wanted.step = row->step, wanted.total = row->total, wanted.count = many;
  uint32_t at = (uint32_t)(mixed(&wanted) % entries);
  for (; table[at].data; at = (at + 1) % entries)
    if (!memcmp(&table[at].key, &wanted, sizeof wanted)) {
      *is_new = 0;
      return table[at].data;
    }
  const size_t bytes = ((size_t)many * row->bytes + line - 1) / line * line;
  if (count >= entries / 2 || bytes > most - taken) return NULL;
  table[at].key = wanted, table[at].data = memory + taken;
  used[count++] = at, taken += bytes, *is_new = 1;
  return table[at].data;
}
