/* What a rank gives or gets: blocks of elements in its memory, and the same bytes one after the other. */
#include <string.h>

#include "interpose.h"

struct block {
  char* at;
  int64_t count;
  struct type type;
};

static struct block block_of(const struct side* s, int i) {
  struct block b = {.count = s->counts.at ? int_at(s->counts, i) : s->count, .type = s->type};
  if (s->types.at) b.type = type_of(type_at(s->types, i));
  if (s->ranks && s->ranks[i] == MPI_PROC_NULL) b.count = 0;
  const int64_t elements = s->displs.at ? int_at(s->displs, i) : i * s->count;
  b.at = s->base + (s->types.at ? elements : elements * b.type.extent);
  return b;
}

int64_t side_block(const struct side* s, int i) {
  const struct block b = block_of(s, i);
  return b.count * b.type.size;
}

bool side_place(const struct side* s, int i, char** at) {
  const struct block b = block_of(s, i);
  *at = b.at;
  return b.type.dense || b.count == 0;
}

int64_t side_bytes(const struct side* s) {
  int64_t sum = 0;
  if (!s->counts.at && !s->ranks) return s->blocks * s->count * s->type.size;
  for (int i = 0; i < s->blocks; ++i) sum += side_block(s, i);
  return sum;
}

bool side_lies(const struct side* s, void** at) {
  *at = s->base;
  if (!s->counts.at && !s->ranks && !s->types.at) return s->type.dense;
  char* next = NULL;
  for (int i = 0; i < s->blocks; ++i) {
    const struct block b = block_of(s, i);
    if (b.count == 0 || b.type.size == 0) continue;
    if (!b.type.dense || (next && next != b.at)) return false;
    if (!next) *at = b.at;
    next = b.at + b.count * b.type.size;
  }
  return true;
}

void side_pack_block(const struct side* s, int i, void* to) {
  const struct block b = block_of(s, i);
  type_pack(&b.type, b.at, b.count, to);
}

void side_pack(const struct side* s, void* to) {
  char* at = to;
  if (!s->displs.at && !s->ranks) return type_pack(&s->type, s->base, s->blocks * s->count, to);
  for (int i = 0; i < s->blocks; ++i) {
    const struct block b = block_of(s, i);
    type_pack(&b.type, b.at, b.count, at);
    at += b.count * b.type.size;
  }
}

void side_unpack(const struct side* s, const void* from) {
  const char* at = from;
  if (!s->displs.at && !s->ranks) return type_unpack(&s->type, from, s->base, s->blocks * s->count);
  for (int i = 0; i < s->blocks; ++i) {
    const struct block b = block_of(s, i);
    type_unpack(&b.type, at, b.at, b.count);
    at += b.count * b.type.size;
  }
}
