/* Lines of a Python program. MPI is called by a C extension (mpi4py), in most calls without the interpreter's lock, so
 * nothing of CPython's API may be called that counts references or allocates. But a thread's own frames stay as they
 * are while it is in a call: they are read where they are, and a frame's place is looked up once per code and
 * instruction.
 *
 * Where things are differs from version to version of CPython (3.8 and later are known). Offsets in code objects are
 * asked of the type itself; the others, below, are tried on the first stack, with reads that cannot fail, and believed
 * only if what they lead to are code objects. Otherwise there are no frames of Python, and no harm. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paths.h"

/* In a thread state: where the innermost frame is; in a frame: code, caller's frame, instruction. */
struct layout {
  int low, high;        /* minor versions of Python 3 */
  int current, through; /* through >= 0: the thread state has a pointer to where, at `through`, the frame is */
  int code, back, instruction;
  int unit; /* instruction is an int, in units of so many bytes; 0: a pointer into the code */
};
static const struct layout layouts[] = {
    {8, 9, 24, -1, 32, 24, 104, 1}, {10, 10, 24, -1, 32, 24, 96, 2}, {11, 11, 56, 8, 32, 48, 56, 0},
    {12, 12, 56, 0, 0, 8, 56, 0},   {13, 13, 72, -1, 0, 8, 56, 0},   {14, 14, 64, -1, 0, 8, 56, 0},
    {14, 14, 72, -1, 0, 8, 56, 0},
};

static struct {
  _Atomic int looked; /* 0: not found yet, 1: found, 2: frames were read, -1: they cannot be */
  const struct layout* layout;
  const char* code_type;
  uint64_t module; /* whose code the interpreter is */
  int minor, code_begin, file, name, first_line;
  void* (*state)(void);
  int (*line)(const void*, int);
  ssize_t (*length)(const void*);
  uint32_t (*character)(const void*, ssize_t);
} python;

static const char* word(const char* at, int offset) {
  const char* value;
  memcpy(&value, at + offset, sizeof value);
  return value;
}

static int number(const char* at, int offset) {
  int value;
  memcpy(&value, at + offset, sizeof value);
  return value;
}

/* PyMemberDef of a type's attribute: its offset in the object; -1: there is none. */
static int member(const char* type, const char* name) {
  enum { TYPE_MEMBERS = 240 }; /* PyTypeObject.tp_members, in all versions */
  const char* at = word(type, TYPE_MEMBERS);
  for (; at && word(at, 0); at += 40)
    if (!strcmp(word(at, 0), name)) return number(at, 16);
  return -1;
}

static bool look(void) {
  const char* (*version)(void);
  *(void**)&version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
  if (!version) return false;
  *(void**)&python.state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
  *(void**)&python.line = dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
  *(void**)&python.length = dlsym(RTLD_DEFAULT, "PyUnicode_GetLength");
  *(void**)&python.character = dlsym(RTLD_DEFAULT, "PyUnicode_ReadChar");
  python.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  const char* text = version();
  python.minor = !strncmp(text, "3.", 2) ? atoi(text + 2) : 0;
  python.module = module_at((uintptr_t)version).base;
  bool known = false;
  for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
    known = known || (python.minor >= layouts[i].low && python.minor <= layouts[i].high);
  if (!known || !python.state || !python.line || !python.length || !python.character || !python.code_type) return false;
  enum { TYPE_SIZE = 32 }; /* PyTypeObject.tp_basicsize; instructions follow the object */
  python.code_begin = number(python.code_type, TYPE_SIZE);
  python.file = member(python.code_type, "co_filename");
  python.name = member(python.code_type, "co_qualname");
  if (python.name < 0) python.name = member(python.code_type, "co_name");
  python.first_line = member(python.code_type, "co_firstlineno");
  return python.file >= 0 && python.name >= 0 && python.first_line >= 0;
}

bool python_has(uint64_t module) {
  int looked = atomic_load_explicit(&python.looked, memory_order_acquire);
  if (looked == 0) {
    /* The interpreter may be loaded later. */
    if (!dlsym(RTLD_DEFAULT, "Py_GetVersion")) return false;
    recorder_lock();
    looked = atomic_load(&python.looked);
    if (looked == 0) atomic_store(&python.looked, looked = look() ? 1 : -1);
    recorder_unlock();
  }
  return looked > 0 && (!module || module == python.module);
}

/* ---- Trying a layout ---- */

static bool safe_word(int memory, const char* at, const char** value) {
  return pread(memory, value, sizeof *value, (off_t)(uintptr_t)at) == (ssize_t)sizeof *value;
}

/* Later versions have flags in the lowest bits of references. */
static const char* reference(const char* value) { return (const char*)((uintptr_t)value & ~(uintptr_t)7); }

static bool fits(int memory, const struct layout* l, const char* state) {
  const char *frame, *code, *type, *back;
  if (!safe_word(memory, state + l->current, &frame)) return false;
  if (l->through >= 0 && !safe_word(memory, frame + l->through, &frame)) return false;
  for (int i = 0; i < 3 && frame; i++) {
    if (!safe_word(memory, frame + l->code, &code) || !safe_word(memory, frame + l->back, &back)) return false;
    code = reference(code);
    if (!safe_word(memory, code + sizeof(void*), &type) || (i == 0 && type != python.code_type)) return false;
    frame = back;
  }
  return true;
}

static bool try_layouts(const char* state) {
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return false;
  const struct layout* found = NULL;
  for (unsigned i = 0; i < sizeof layouts / sizeof *layouts && !found; i++)
    if (python.minor >= layouts[i].low && python.minor <= layouts[i].high && fits(memory, &layouts[i], state))
      found = &layouts[i];
  close(memory);
  python.layout = found;
  return found != NULL;
}

/* ---- Frames ---- */

static const char* current_frame(const struct layout* l, const char* state) {
  const char* frame = word(state, l->current);
  return l->through >= 0 && frame ? word(frame, l->through) : frame;
}

static __attribute__((noinline)) bool try_now(const char* state) {
  recorder_lock();
  int looked = atomic_load(&python.looked);
  if (looked == 1) atomic_store(&python.looked, looked = try_layouts(state) ? 2 : -1);
  recorder_unlock();
  return looked == 2;
}

unsigned python_frames(struct python_frame* frames, unsigned most) {
  const int looked = atomic_load_explicit(&python.looked, memory_order_acquire);
  if (looked <= 0) return 0;
  const char* state = python.state();
  if (!state || (UNLIKELY(looked == 1) && !try_now(state))) return 0;
  const struct layout* l = python.layout;
  unsigned n = 0;
  for (const char* at = current_frame(l, state); at && n < most; at = word(at, l->back)) {
    const char* code = reference(word(at, l->code));
    /* Between calls from C stand frames that are no functions. */
    if (UNLIKELY(!code || word(code, sizeof(void*)) != python.code_type)) continue;
    const int offset =
        l->unit ? number(at, l->instruction) * l->unit : (int)(word(at, l->instruction) - (code + python.code_begin));
    /* Code may be freed, and other code be where it was. */
    uint64_t key = (uint64_t)(uintptr_t)code ^ (uint64_t)(uint32_t)number(code, python.first_line) << 44;
    key = (key ^ (uint64_t)(uint32_t)offset << 32) * 0x9E3779B97F4A7C15u;
    frames[n++] = (struct python_frame){key | (uint64_t)1 << 63, code, offset};
  }
  return n;
}

/* A string as UTF-8, cut off where there is no more room. */
static void copy_text(const char* text, char* out, size_t room) {
  const ssize_t length = python.length(text);
  size_t n = 0;
  for (ssize_t i = 0; i < length && n + 5 < room; i++) {
    const uint32_t c = python.character(text, i);
    if (c < 0x80) {
      out[n++] = (char)c;
      continue;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out[n++] = (char)((0xff00u >> (more + 1) & 0xff) | c >> 6 * more);
    for (int k = more - 1; k >= 0; k--) out[n++] = (char)(0x80 | (c >> 6 * k & 0x3f));
  }
  out[n] = '\0';
}

int python_place(const struct python_frame* frame, char* file, char* function, size_t file_room, size_t function_room) {
  copy_text(word(frame->code, python.file), file, file_room);
  copy_text(word(frame->code, python.name), function, function_room);
  return python.line(frame->code, frame->offset < 0 ? 0 : frame->offset);
}
