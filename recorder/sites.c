/* Places in the program: return addresses and lines of Python, numbered per thread. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "paths.h"

struct site {
  uint64_t address; /* or the key of a frame of Python, which is none */
  uint32_t id;
};

struct search {
  uintptr_t pc;
  struct module found;
};

static int module_of(struct dl_phdr_info* info, size_t size, void* data) {
  struct search* search = data;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type != PT_LOAD || search->pc < begin || search->pc - begin >= info->dlpi_phdr[i].p_memsz)
      continue;
    /* Its program headers are at another place than those of any other. */
    search->found = (struct module){(uint64_t)(uintptr_t)info->dlpi_phdr, info->dlpi_name};
    return 1;
  }
  return 0;
}

struct module module_at(uintptr_t pc) {
  /* dladdr() would look through all symbols of the module, which takes a tenth of a millisecond in large ones. */
  struct search search = {pc, {0, ""}};
  dl_iterate_phdr(module_of, &search);
  return search.found;
}

static void site_write(uint32_t id, uint64_t address, uint64_t offset, const char* path, const char* symbol) {
  size_t path_bytes = strlen(path) + 1, symbol_bytes = strnlen(symbol, 4096);
  struct trace_site* record = record_reserve(TRACE_SITE, sizeof *record + path_bytes + symbol_bytes + 1);
  if (!record) return;
  record->id = id;
  record->address = address;
  record->offset = offset;
  char* text = (char*)(record + 1);
  memset(text, 0, 8 * (size_t)record->head.words - sizeof *record);
  memcpy(text, path, path_bytes);
  memcpy(text + path_bytes, symbol, symbol_bytes);
  record_commit(here->header->last_ns);
}

static void site_write_address(uint32_t id, uint64_t address) {
  Dl_info info;
  struct link_map* module = NULL;
  char executable[4096] = "";
  const char *path = "", *symbol = "";
  uint64_t offset = address;
  /* A return address may be the first of the next function. */
  if (dladdr1((const void*)(uintptr_t)(address - 1), &info, (void**)&module, RTLD_DL_LINKMAP)) {
    path = info.dli_fname ? info.dli_fname : "";
    symbol = info.dli_sname ? info.dli_sname : "";
    if (module) offset = address - (uint64_t)module->l_addr;
    /* The program's own name may be relative to a directory that it has left. */
    if (module && !module->l_name[0] && readlink("/proc/self/exe", executable, sizeof executable - 1) > 0)
      path = executable;
  }
  site_write(id, address, offset, path, symbol);
}

static void site_write_python(uint32_t id, const struct python_frame* frame) {
  char file[4096], function[512];
  const int line = python_place(frame, file, function, sizeof file, sizeof function);
  site_write(id, 0, line > 0 ? (uint64_t)line : 0, file, function);
}

static struct site* slot_of(struct thread* thread, uint64_t address) {
  uint32_t mask = thread->site_slots - 1;
  uint32_t i = (uint32_t)(address * 0x9E3779B97F4A7C15u >> 32) & mask;
  while (thread->sites[i].id && thread->sites[i].address != address) i = (i + 1) & mask;
  return &thread->sites[i];
}

static void sites_grow(struct thread* thread) {
  struct site* old = thread->sites;
  uint32_t slots = thread->site_slots;
  thread->site_slots = slots ? 2 * slots : 256;
  thread->sites = recorder_allocate(thread->site_slots * sizeof *old);
  for (uint32_t i = 0; i < slots; i++)
    if (old[i].id) *slot_of(thread, old[i].address) = old[i];
  recorder_release(old, slots * sizeof *old);
}

static struct site* site_slot(uint64_t key) {
  struct thread* thread = here;
  if (UNLIKELY(2 * thread->site_count >= thread->site_slots)) sites_grow(thread);
  return slot_of(thread, key);
}

uint32_t site_of(const void* address) {
  struct site* slot = site_slot((uint64_t)(uintptr_t)address);
  if (UNLIKELY(!slot->id)) {
    slot->address = (uint64_t)(uintptr_t)address;
    slot->id = ++here->site_count;
    site_write_address(slot->id, slot->address);
  }
  return slot->id;
}

uint32_t site_of_python(const struct python_frame* frame) {
  struct site* slot = site_slot(frame->key);
  if (!slot->id) {
    slot->address = frame->key;
    slot->id = ++here->site_count;
    site_write_python(slot->id, frame);
  }
  return slot->id;
}
