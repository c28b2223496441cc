/* Call paths up to the start of the thread: from one frame of the stack to the next by the unwind tables of the
 * program (.eh_frame), which all compilers write by default and which need no frame pointers.
 *
 * For every return address the tables are read once. What they say there is a rule of a few bytes: where the frame
 * begins, seen from the stack pointer or from rbp, and where the return address and the caller's rbp were saved. A step
 * is a look into a table of rules and two loads. What is not such a rule (signal frames, expressions other than those
 * of functions that align their stack) ends the path, and nothing outside the thread's stack is ever read. */
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "paths.h"

#if ON_X86_64

enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_RETURN = 16 };

/* ---- Numbers as the tables have them ---- */

static uint64_t read_bytes(const uint8_t** at, unsigned bytes) {
  uint64_t value = 0;
  memcpy(&value, *at, bytes);
  *at += bytes;
  return value;
}

/* A number in seven bits a byte; `bits` gets how many there were, the last of which is the sign where there is one. */
static uint64_t read_leb(const uint8_t** at, unsigned* bits) {
  uint64_t value = 0;
  uint8_t byte;
  *bits = 0;
  do {
    byte = *(*at)++;
    if (*bits < 64) value |= (uint64_t)(byte & 0x7f) << *bits;
    *bits += 7;
  } while (byte & 0x80);
  return value;
}

static uint64_t read_uleb(const uint8_t** at) {
  unsigned bits;
  return read_leb(at, &bits);
}

static int64_t read_sleb(const uint8_t** at) {
  unsigned bits;
  uint64_t value = read_leb(at, &bits);
  if (bits < 64 && (value >> (bits - 1) & 1)) value |= ~(uint64_t)0 << bits;
  return (int64_t)value;
}

/* A pointer in one of the encodings DW_EH_PE_...; false: one that is not used for code. */
static bool read_pointer(const uint8_t** at, uint8_t encoding, uint64_t data, uint64_t* value) {
  const uint64_t place = (uint64_t)(uintptr_t)*at;
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: *value = read_bytes(at, 8); break;
    case 0x01: *value = read_uleb(at); break;
    case 0x02: *value = read_bytes(at, 2); break;
    case 0x03: *value = read_bytes(at, 4); break;
    case 0x09: *value = (uint64_t)read_sleb(at); break;
    case 0x0a: *value = (uint64_t)(int16_t)read_bytes(at, 2); break;
    case 0x0b: *value = (uint64_t)(int32_t)read_bytes(at, 4); break;
    default: return false;
  }
  switch (encoding & 0x70) {
    case 0x00: return true;
    case 0x10: *value += place; return true;
    case 0x30: *value += data; return true;
    default: return false;
  }
}

/* ---- The table entry of an address ---- */

struct tables {
  uint64_t pc;
  const uint8_t* header; /* .eh_frame_hdr */
};

static int tables_of(struct dl_phdr_info* info, size_t size, void* data) {
  struct tables* module = data;
  const uint8_t* header = NULL;
  bool inside = false;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uint64_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD) inside = inside || (module->pc >= begin && module->pc < begin + part->p_memsz);
    if (part->p_type == PT_GNU_EH_FRAME) header = (const uint8_t*)(uintptr_t)begin;
  }
  if (inside) module->header = header;
  return inside;
}

/* The FDE of the function around pc by the sorted table of its module; NULL: there is none. */
static const uint8_t* entry_of(uint64_t pc) {
  struct tables module = {.pc = pc};
  if (!dl_iterate_phdr(tables_of, &module) || !module.header) return NULL;
  const uint8_t* at = module.header + 4;
  const uint64_t base = (uint64_t)(uintptr_t)module.header;
  uint64_t frames, count;
  if (module.header[0] != 1 || module.header[3] != 0x3b) return NULL;
  if (!read_pointer(&at, module.header[1], base, &frames) || !read_pointer(&at, module.header[2], base, &count))
    return NULL;
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    int32_t begin;
    memcpy(&begin, at + 8 * middle, 4);
    if (base + (uint64_t)(int64_t)begin <= pc) low = middle + 1;
    else high = middle;
  }
  if (!low) return NULL;
  int32_t offset;
  memcpy(&offset, at + 8 * (low - 1) + 4, 4);
  return module.header + offset;
}

/* ---- What it says ---- */

enum saved { SAME, AT_CFA, AT_BP, UNKNOWN };
struct state {
  uint8_t from; /* enum from */
  int64_t cfa;
  uint8_t bp, pc; /* enum saved */
  int64_t bp_offset, pc_offset;
};

struct entry {
  uint64_t begin, pc, code_align;
  int64_t data_align;
  uint8_t encoding;
  struct state first, now, kept[8];
  unsigned kept_count;
};

static void set_register(struct state* state, uint64_t reg, enum saved saved, int64_t offset) {
  if (reg == REGISTER_BP) {
    state->bp = (uint8_t)saved;
    state->bp_offset = offset;
  } else if (reg == REGISTER_RETURN) {
    state->pc = (uint8_t)saved;
    state->pc_offset = offset;
  }
}

static void set_cfa(struct state* state, uint64_t reg, int64_t offset) {
  state->from = reg == REGISTER_SP ? FROM_SP : reg == REGISTER_BP ? FROM_BP : FROM_NOWHERE;
  state->cfa = offset;
}

/* Expressions: rbp + k, and the word there; nothing else is followed. */
static bool bp_expression(const uint8_t* at, const uint8_t* end, bool word, int64_t* offset) {
  if (at >= end || *at++ != 0x70 + REGISTER_BP) return false;
  *offset = read_sleb(&at);
  if (word && (at >= end || *at++ != 0x06)) return false;
  return at == end;
}

static bool execute(struct entry* e, const uint8_t* at, const uint8_t* end) {
  uint64_t location = e->begin;
  struct state* now = &e->now;
  while (at < end) {
    const uint8_t code = *at++;
    const uint64_t low = code & 0x3f;
    uint64_t reg, moved = 0;
    int64_t offset;
    switch (code & 0xc0) {
      case 0x40: moved = low * e->code_align; break;
      case 0x80: set_register(now, low, AT_CFA, (int64_t)read_uleb(&at) * e->data_align); continue;
      case 0xc0:
        if (low == REGISTER_BP) now->bp = e->first.bp, now->bp_offset = e->first.bp_offset;
        if (low == REGISTER_RETURN) now->pc = e->first.pc, now->pc_offset = e->first.pc_offset;
        continue;
      default: break;
    }
    if (!(code & 0xc0)) switch (code) {
        case 0x00: continue;
        case 0x01:
          if (!read_pointer(&at, e->encoding, 0, &location)) return false;
          if (location > e->pc) return true;
          continue;
        case 0x02: moved = read_bytes(&at, 1) * e->code_align; break;
        case 0x03: moved = read_bytes(&at, 2) * e->code_align; break;
        case 0x04: moved = read_bytes(&at, 4) * e->code_align; break;
        case 0x05:
          reg = read_uleb(&at);
          set_register(now, reg, AT_CFA, (int64_t)read_uleb(&at) * e->data_align);
          continue;
        case 0x06:
          reg = read_uleb(&at);
          if (reg == REGISTER_BP) now->bp = e->first.bp, now->bp_offset = e->first.bp_offset;
          continue;
        case 0x07: set_register(now, read_uleb(&at), UNKNOWN, 0); continue;
        case 0x08: set_register(now, read_uleb(&at), SAME, 0); continue;
        case 0x09:
          set_register(now, read_uleb(&at), UNKNOWN, 0);
          read_uleb(&at);
          continue;
        case 0x0a:
          if (e->kept_count == sizeof e->kept / sizeof e->kept[0]) return false;
          e->kept[e->kept_count++] = *now;
          continue;
        case 0x0b:
          if (!e->kept_count) return false;
          *now = e->kept[--e->kept_count];
          continue;
        case 0x0c:
          reg = read_uleb(&at);
          set_cfa(now, reg, (int64_t)read_uleb(&at));
          continue;
        case 0x0d: set_cfa(now, read_uleb(&at), now->cfa); continue;
        case 0x0e: now->cfa = (int64_t)read_uleb(&at); continue;
        case 0x0f:
          moved = read_uleb(&at);
          now->from = bp_expression(at, at + moved, true, &now->cfa) ? FROM_BP_WORD : FROM_NOWHERE;
          at += moved;
          continue;
        case 0x10:
        case 0x16:
          reg = read_uleb(&at);
          moved = read_uleb(&at);
          if (code == 0x10 && bp_expression(at, at + moved, false, &offset)) set_register(now, reg, AT_BP, offset);
          else set_register(now, reg, UNKNOWN, 0);
          at += moved;
          continue;
        case 0x11:
          reg = read_uleb(&at);
          set_register(now, reg, AT_CFA, read_sleb(&at) * e->data_align);
          continue;
        case 0x12:
          reg = read_uleb(&at);
          set_cfa(now, reg, read_sleb(&at) * e->data_align);
          continue;
        case 0x13: now->cfa = read_sleb(&at) * e->data_align; continue;
        case 0x14:
          set_register(now, read_uleb(&at), UNKNOWN, 0);
          read_uleb(&at);
          continue;
        case 0x15:
          set_register(now, read_uleb(&at), UNKNOWN, 0);
          read_sleb(&at);
          continue;
        case 0x2e: read_uleb(&at); continue;
        default: return false;
      }
    location += moved;
    if (location > e->pc) return true;
  }
  return true;
}

/* The rule of the tables at pc, within a call; false: none that can be followed. */
static bool state_at(uint64_t pc, struct state* state) {
  const uint8_t* at = entry_of(pc);
  if (!at) return false;
  struct entry e = {.pc = pc, .first = {.from = FROM_NOWHERE, .bp = SAME, .pc = UNKNOWN}};
  uint64_t length = read_bytes(&at, 4);
  if (length == 0xffffffff) length = read_bytes(&at, 8);
  const uint8_t* end = at + length;
  const uint8_t* cie = at;
  cie -= read_bytes(&at, 4);
  uint64_t cie_length = read_bytes(&cie, 4);
  if (cie_length == 0xffffffff) cie_length = read_bytes(&cie, 8);
  const uint8_t* cie_end = cie + cie_length;
  cie += 4;
  const uint8_t version = *cie++;
  const char* augmentation = (const char*)cie;
  cie += strlen(augmentation) + 1;
  e.code_align = read_uleb(&cie);
  e.data_align = read_sleb(&cie);
  const uint64_t return_register = version == 1 ? read_bytes(&cie, 1) : read_uleb(&cie);
  if (return_register != REGISTER_RETURN) return false;
  if (augmentation[0] == 'z') {
    const uint64_t bytes = read_uleb(&cie);
    const uint8_t* data = cie;
    uint64_t ignored;
    for (const char* c = augmentation + 1; *c; c++) {
      if (*c == 'R') e.encoding = *data++;
      else if (*c == 'L') data++;
      else if (*c == 'P') {
        const uint8_t encoding = *data++;
        if (!read_pointer(&data, encoding & 0x7f, 0, &ignored)) return false;
      } else if (*c == 'S') return false; /* a signal's frame */
    }
    cie += bytes;
  } else if (augmentation[0]) {
    return false;
  }
  uint64_t range;
  if (!read_pointer(&at, e.encoding, 0, &e.begin) || !read_pointer(&at, e.encoding & 0x0f, 0, &range)) return false;
  if (pc < e.begin || pc >= e.begin + range) return false;
  if (augmentation[0] == 'z') {
    const uint64_t bytes = read_uleb(&at);
    at += bytes;
  }
  e.now = e.first;
  if (!execute(&e, cie, cie_end)) return false;
  e.first = e.now;
  if (!execute(&e, at, end)) return false;
  *state = e.now;
  return true;
}

static bool is_small(int64_t offset) { return offset >= INT32_MIN && offset <= INT32_MAX; }

void unwind_rule(struct rule* rule, uintptr_t pc) {
  struct state s;
  *rule = (struct rule){.pc = pc, .from = FROM_NOWHERE};
  /* Back into the call: a return address may be the first of the next function. */
  if (!state_at(pc - 1, &s) || s.from == FROM_NOWHERE || s.pc != AT_CFA || s.bp == UNKNOWN) return;
  if (!is_small(s.cfa) || !is_small(s.pc_offset) || !is_small(s.bp_offset)) return;
  rule->from = s.from;
  rule->cfa = (int32_t)s.cfa;
  rule->pc_offset = (int32_t)s.pc_offset;
  rule->bp = s.bp == SAME ? BP_SAME : s.bp == AT_CFA ? BP_AT_CFA : BP_AT_BP;
  rule->bp_offset = (int32_t)s.bp_offset;
}

bool unwind_stack(uintptr_t* begin, uintptr_t* end) {
  pthread_attr_t attributes;
  void* low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes)) return false;
  const int error = pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  *begin = (uintptr_t)low;
  *end = *begin + size;
  return !error;
}

#else

bool unwind_stack(uintptr_t* begin, uintptr_t* end) {
  *begin = *end = 0;
  return false;
}

#endif
