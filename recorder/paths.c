/* Call paths: which frames a call came through, numbered per thread as nodes of a tree, each written once.
 *
 * A call costs a step of the stack for each frame (see unwind.c), the frames of Python too if there are any (python.c),
 * and one look into a table of the paths known by a hash over all of them. */
#include <stdlib.h>
#include <string.h>

#include "paths.h"

/* Numbers of paths by hashes, of rules by addresses: open addressing, half full at most. */
struct known {
  uint64_t key;
  uint32_t path;
};

struct paths {
  struct rule* rules;
  uint32_t rule_slots, rule_count;
  struct known *known, *nodes;
  uint32_t known_slots, known_count, node_slots, node_count;
  uintptr_t stack_begin, stack_end;
  bool looked; /* for the stack */
};

/* A program whose every call has another path (deep recursion) is recorded by the place of the calls from there on. */
enum { NODES_MOST = 1 << 16, KNOWN_MOST = 1 << 18 };
#define MIX 0x9E3779B97F4A7C15u

static bool wanted(void) {
  static int answer = -1;
  if (answer < 0) {
    const char* text = getenv("ISTHMUS_PATHS");
    answer = !text || strcmp(text, "0") != 0;
  }
  return answer;
}

/* ---- Tables ---- */

static struct known* slot_of(struct known* table, uint32_t slots, uint64_t key) {
  uint32_t i = (uint32_t)(key * MIX >> 32) & (slots - 1);
  while (table[i].key && table[i].key != key) i = (i + 1) & (slots - 1);
  return &table[i];
}

static void grow(struct known** table, uint32_t* slots) {
  struct known* old = *table;
  const uint32_t before = *slots;
  *slots = before ? 2 * before : 256;
  *table = recorder_allocate(*slots * sizeof *old);
  for (uint32_t i = 0; i < before; i++)
    if (old[i].key) *slot_of(*table, *slots, old[i].key) = old[i];
  recorder_release(old, before * sizeof *old);
}

static uint32_t node_of(struct paths* paths, uint32_t parent, uint32_t site) {
  if (UNLIKELY(2 * paths->node_count >= paths->node_slots)) grow(&paths->nodes, &paths->node_slots);
  struct known* node = slot_of(paths->nodes, paths->node_slots, (uint64_t)parent << 32 | site);
  if (LIKELY(node->path)) return node->path;
  node->key = (uint64_t)parent << 32 | site;
  node->path = ++paths->node_count;
  struct trace_path* record = record_reserve(TRACE_PATH, sizeof *record);
  if (record) {
    record->id = node->path;
    record->parent = parent;
    record->site = site;
    record->unused = 0;
    record_commit(here->header->last_ns);
  }
  return node->path;
}

/* ---- The stack ---- */

#if ON_X86_64

static bool is_c_library(const char* path) {
  const char* name = strrchr(path, '/');
  name = name ? name + 1 : path;
  return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5) || !strncmp(name, "libpthread", 10) ||
         !strncmp(name, "ld-linux", 8);
}

static struct rule* rule_slot(struct rule* rules, uint32_t slots, uintptr_t pc) {
  uint32_t i = (uint32_t)(pc * MIX >> 32) & (slots - 1);
  while (rules[i].pc && rules[i].pc != pc) i = (i + 1) & (slots - 1);
  return &rules[i];
}

static __attribute__((noinline)) struct rule* rule_new(struct paths* paths, uintptr_t pc) {
  if (2 * paths->rule_count >= paths->rule_slots) {
    struct rule* old = paths->rules;
    const uint32_t slots = paths->rule_slots;
    paths->rule_slots = slots ? 2 * slots : 256;
    paths->rules = recorder_allocate(paths->rule_slots * sizeof *old);
    for (uint32_t i = 0; i < slots; i++)
      if (old[i].pc) *rule_slot(paths->rules, paths->rule_slots, old[i].pc) = old[i];
    recorder_release(old, slots * sizeof *old);
  }
  struct rule* rule = rule_slot(paths->rules, paths->rule_slots, pc);
  unwind_rule(rule, pc);
  const struct module module = module_at(pc - 1);
  rule->interpreter = module.base && python_has(module.base);
  rule->outside = is_c_library(module.path);
  paths->rule_count++;
  return rule;
}

static inline const struct rule* rule_of(struct paths* paths, uintptr_t pc) {
  if (LIKELY(paths->rule_slots)) {
    struct rule* rule = rule_slot(paths->rules, paths->rule_slots, pc);
    if (LIKELY(rule->pc)) return rule;
  }
  return rule_new(paths, pc);
}

/* Return addresses from that of the call on; `frame` is the wrapper's. Where the interpreter runs Python, its frames
 * take the place of what called it. */
static unsigned walk(struct paths* paths, const void* address, const uintptr_t* frame, uintptr_t* pcs,
                     struct python_frame* python, unsigned* pythons) {
  uintptr_t bp = frame[0], pc = frame[1], sp = (uintptr_t)(frame + 2);
  const uintptr_t low = sp, high = paths->stack_end - sizeof sp;
  unsigned n = 0;
  bool asked = false;
  (void)address;
  *pythons = 0;
  if (UNLIKELY(sp < paths->stack_begin || sp > high)) {
    /* A coroutine's stack, whose end nobody knows. */
    pcs[0] = pc;
    return 1;
  }
  for (;;) {
    const struct rule* rule = rule_of(paths, pc);
    if (UNLIKELY(rule->outside) && n) break;
    if (UNLIKELY(rule->interpreter) && n && !asked) {
      asked = true;
      *pythons = python_frames(python, PATH_FRAMES - n);
      if (*pythons) break;
    }
    pcs[n++] = pc;
    if (UNLIKELY(rule->from == FROM_NOWHERE || n == PATH_FRAMES)) break;
    uintptr_t cfa = (rule->from == FROM_SP ? sp : bp) + (uintptr_t)(intptr_t)rule->cfa;
    if (UNLIKELY(rule->from == FROM_BP_WORD)) {
      if (cfa < low || cfa > high || cfa % sizeof cfa) break;
      cfa = *(const uintptr_t*)cfa;
    }
    const uintptr_t at = cfa + (uintptr_t)(intptr_t)rule->pc_offset;
    if (UNLIKELY(cfa <= sp || at < low || at > high || at % sizeof at)) break;
    pc = *(const uintptr_t*)at;
    if (rule->bp != BP_SAME) {
      const uintptr_t saved = (rule->bp == BP_AT_CFA ? cfa : bp) + (uintptr_t)(intptr_t)rule->bp_offset;
      if (UNLIKELY(saved < low || saved > high || saved % sizeof saved)) break;
      bp = *(const uintptr_t*)saved;
    }
    sp = cfa;
    if (UNLIKELY(!pc)) break;
  }
  return n;
}

#else

static unsigned walk(struct paths* paths, const void* address, const uintptr_t* frame, uintptr_t* pcs,
                     struct python_frame* python, unsigned* pythons) {
  (void)paths, (void)frame;
  pcs[0] = (uintptr_t)address;
  *pythons = python_has(0) ? python_frames(python, PATH_FRAMES - 1) : 0;
  return 1;
}

#endif

static __attribute__((noinline)) uint32_t path_new(struct paths* paths, uint64_t key, const uintptr_t* pcs, unsigned n,
                                                   const struct python_frame* python, unsigned pythons) {
  uint32_t path = 0;
  if (paths->node_count >= NODES_MOST || paths->known_count >= KNOWN_MOST) {
    n = 1;
    pythons = 0;
  }
  for (unsigned i = pythons; i-- > 0;) path = node_of(paths, path, site_of_python(&python[i]));
  for (unsigned i = n; i-- > 0;) path = node_of(paths, path, site_of((const void*)pcs[i]));
  if (paths->known_count < KNOWN_MOST) {
    if (2 * paths->known_count >= paths->known_slots) grow(&paths->known, &paths->known_slots);
    *slot_of(paths->known, paths->known_slots, key) = (struct known){key, path};
    paths->known_count++;
  }
  return path;
}

uint32_t path_of(const void* address, const void* frame) {
  struct thread* thread = here;
  struct paths* paths = thread->paths;
  if (UNLIKELY(!paths)) paths = thread->paths = recorder_allocate(sizeof *paths);
  if (UNLIKELY(!wanted())) return node_of(paths, 0, site_of(address));
  if (UNLIKELY(!paths->looked)) {
    paths->looked = true;
    here->header->paths = ON_X86_64 ? TRACE_PATHS_FOLLOWED : TRACE_PATHS_PLACES;
    if (!unwind_stack(&paths->stack_begin, &paths->stack_end)) paths->stack_begin = paths->stack_end = 0;
  }
  uintptr_t pcs[PATH_FRAMES];
  struct python_frame python[PATH_FRAMES];
  unsigned pythons;
  const unsigned n = walk(paths, address, frame, pcs, python, &pythons);
  uint64_t key = 1;
  for (unsigned i = 0; i < n; i++) key = (key ^ pcs[i]) * MIX, key ^= key >> 29;
  for (unsigned i = 0; i < pythons; i++) key = (key ^ python[i].key) * MIX, key ^= key >> 29;
  if (!key) key = 1;
  if (LIKELY(paths->known_slots)) {
    const struct known* known = slot_of(paths->known, paths->known_slots, key);
    if (LIKELY(known->key)) return known->path;
  }
  return path_new(paths, key, pcs, n, python, pythons);
}

void paths_attach(struct thread* thread) {
  /* Its file may go on with another thread, which has another stack. */
  if (thread->paths) thread->paths->looked = false;
}
