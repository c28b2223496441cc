/* upc_io.h on files of the system. What is begun asynchronously is done when it is begun, and told when it is asked
 * for. Memory is a list of runs, of bytes of this process or of shared memory in blocks; a file is a list of runs too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

enum { RDONLY = 1, WRONLY = 2, RDWR = 4, INDIVIDUAL = 8, COMMON = 16, APPEND = 32, CREATE = 64, EXCL = 128 };
enum { STRONG = 256, TRUNC = 512, DELETE = 1024 };
enum { CHUNK = 1 << 20 };
typedef int64_t offset;
typedef struct hint {
  const char *key, *value;
} hint;
typedef struct local_part {
  void* base;
  size_t bytes;
} local_part;
typedef struct shared_part {
  isthmus_shared base;
  size_t block;
  size_t bytes;
} shared_part;
typedef struct file_part {
  offset at;
  size_t bytes;
} file_part;

typedef struct upc_file_t {
  int number, flags, outstanding;
  offset at, result;
  char* name;
  hint* hints;
  size_t count;
} upc_file_t;

static uint64_t slots; /* a number of every thread, by which they agree */

/* The least of what the threads say, or the sum. */
static offset agree(offset mine, int sum) {
  offset all = mine, other;
  if (!slots) check(isthmus_allocate_all(isthmus_upc_space, sizeof mine, &slots), "upc_io");
  check(isthmus_put(isthmus_upc_space, isthmus_upc_thread, slots, &mine, sizeof mine), "upc_io");
  check(isthmus_barrier(isthmus_upc_space, NULL), "upc_io");
  for (uint32_t thread = 0; thread < isthmus_upc_threads; ++thread) {
    if (thread == isthmus_upc_thread) continue;
    check(isthmus_get(isthmus_upc_space, &other, thread, slots, sizeof other), "upc_io");
    if (sum) all += other;
    else if (other < all) all = other;
  }
  check(isthmus_barrier(isthmus_upc_space, NULL), "upc_io");
  return all;
}
static void enter(int flags) {
  isthmus_upc_fence();
  if (!(flags & 2)) check(isthmus_barrier(isthmus_upc_space, NULL), "upc_io");
}
static void leave(int flags) {
  isthmus_upc_fence();
  if (!(flags & 8)) check(isthmus_barrier(isthmus_upc_space, NULL), "upc_io");
}
static offset wrong(int number) {
  errno = number;
  return -1;
}

/* -- files -- */

static int opened(const char* name, int flags, int first) {
  int how = flags & RDONLY ? O_RDONLY : flags & WRONLY ? O_WRONLY : O_RDWR;
  if (first) how |= (flags & CREATE ? O_CREAT : 0) | (flags & EXCL ? O_EXCL : 0) | (flags & TRUNC ? O_TRUNC : 0);
  return open(name, how | O_CLOEXEC, 0666);
}
static int one_of(int bits) { return bits && !(bits & (bits - 1)); }

static int set_hint(upc_file_t* f, const hint* given) {
  for (size_t i = 0; i < f->count; ++i)
    if (!strcmp(f->hints[i].key, given->key)) {
      f->hints[i].value = strdup(given->value);
      return 0;
    }
  f->hints = realloc(f->hints, (f->count + 1) * sizeof *f->hints);
  if (!f->hints) isthmus_upc_refuse("upc_io: there is not enough memory");
  f->hints[f->count].key = strdup(given->key), f->hints[f->count++].value = strdup(given->value);
  return 0;
}

upc_file_t* upc_all_fopen(const char* name, int flags, size_t count, const hint* hints) {
  upc_file_t* const f = calloc(1, sizeof *f);
  struct stat about;
  if (!f) isthmus_upc_refuse("upc_all_fopen: there is not enough memory");
  int error = one_of(flags & (RDONLY | WRONLY | RDWR)) && one_of(flags & (INDIVIDUAL | COMMON)) ? 0 : EINVAL;
  f->number = -1;
  if (!error && !isthmus_upc_thread && (f->number = opened(name, flags, 1)) < 0) error = errno;
  offset worst = agree(-error, 0);
  if (!worst && isthmus_upc_thread && (f->number = opened(name, flags, 0)) < 0) error = errno;
  if (!worst) worst = agree(-error, 0);
  if (worst) {
    if (f->number >= 0) close(f->number);
    free(f);
    errno = (int)-worst;
    return NULL;
  }
  f->flags = flags, f->name = strdup(name);
  for (size_t i = 0; i < count; ++i) set_hint(f, &hints[i]);
  if (flags & APPEND && !fstat(f->number, &about)) f->at = about.st_size;
  check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_fopen");
  return f;
}

int upc_all_fclose(upc_file_t* f) {
  if (!f) return (int)wrong(EBADF);
  if (f->outstanding) return (int)wrong(EBUSY);
  const int error = close(f->number) ? errno : 0;
  const offset worst = agree(-error, 0);
  if (f->flags & DELETE && !isthmus_upc_thread) unlink(f->name);
  for (size_t i = 0; i < f->count; ++i) free((char*)f->hints[i].key), free((char*)f->hints[i].value);
  free(f->hints), free(f->name), free(f);
  check(isthmus_barrier(isthmus_upc_space, NULL), "upc_all_fclose");
  return worst ? (int)wrong((int)-worst) : 0;
}

/* All threads get the error of one of them. */
static offset together(int status) {
  const offset worst = agree(status ? -errno : 0, 0);
  return worst ? wrong((int)-worst) : 0;
}
int upc_all_fsync(upc_file_t* f) { return f->outstanding ? (int)wrong(EBUSY) : (int)together(fsync(f->number)); }

offset upc_all_fget_size(upc_file_t* f) {
  struct stat about;
  enter(0);
  return fstat(f->number, &about) ? -1 : about.st_size;
}
int upc_all_fset_size(upc_file_t* f, offset size) {
  if (f->outstanding) return (int)wrong(EBUSY);
  if (size < 0) return (int)wrong(EINVAL);
  enter(0);
  return (int)together(isthmus_upc_thread ? 0 : ftruncate(f->number, size));
}
int upc_all_fpreallocate(upc_file_t* f, offset size) {
  if (f->outstanding) return (int)wrong(EBUSY);
  if (size < 0) return (int)wrong(EINVAL);
  enter(0);
  const int error = isthmus_upc_thread || !size ? 0 : posix_fallocate(f->number, 0, size);
  errno = error;
  return (int)together(error);
}
offset upc_all_fseek(upc_file_t* f, offset by, int origin) {
  struct stat about;
  if (f->outstanding) return wrong(EBUSY);
  if (fstat(f->number, &about)) return -1;
  const offset base = origin == 0 ? 0 : origin == 1 ? f->at : about.st_size;
  if (origin < 0 || origin > 2 || base + by < 0) return wrong(EINVAL);
  return f->at = base + by;
}

int upc_all_fcntl(upc_file_t* f, int command, void* argument) {
  switch (command) {
    case 1: return f->flags & STRONG;
    case 2: f->flags &= ~STRONG; return 0;
    case 3: f->flags |= STRONG; return 0;
    case 4: return f->flags & (INDIVIDUAL | COMMON);
    case 5:
    case 6:
      if (f->outstanding) return (int)wrong(EBUSY);
      f->flags = (f->flags & ~(INDIVIDUAL | COMMON)) | (command == 5 ? COMMON : INDIVIDUAL);
      f->at = 0;
      return 0;
    case 7: return f->flags;
    case 8: *(const char**)argument = f->name; return 0;
    case 9: *(const hint**)argument = f->hints; return (int)f->count;
    case 10: return set_hint(f, argument);
    case 11: return f->outstanding;
    default: return (int)wrong(EINVAL);
  }
}

/* -- bytes -- */

/* Reads or writes a run; fewer bytes than asked for at the end of the file. */
static offset run(upc_file_t* f, int writing, char* memory, offset at, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t part = writing ? pwrite(f->number, memory + done, bytes - done, at + (offset)done)
                                 : pread(f->number, memory + done, bytes - done, at + (offset)done);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return -1;
    if (part == 0) break;
    done += (size_t)part;
  }
  return (offset)done;
}
/* The same with shared memory: from byte `from` on of a buffer of elements. */
static offset run_shared(upc_file_t* f, int writing, isthmus_shared base, size_t block, size_t size, uint64_t from,
                         offset at, size_t bytes) {
  char* const memory = bytes ? malloc(bytes < CHUNK ? bytes : CHUNK) : NULL;
  size_t done = 0;
  if (bytes && !memory) return wrong(ENOMEM);
  if (block <= base.phase) base.phase = 0;
  while (done < bytes) {
    size_t part = bytes - done < CHUNK ? bytes - done : CHUNK, moved = 0;
    offset got = writing ? 0 : run(f, 0, memory, at + (offset)done, part);
    if (got < 0) goto failed;
    const size_t whole = writing ? part : (size_t)got;
    while (moved < whole) {
      const uint64_t byte = from + done + moved;
      isthmus_shared p = isthmus_shared_add(base, (int64_t)(byte / size), size, (uint32_t)block, isthmus_upc_threads);
      const uint64_t inside = byte % size;
      uint64_t length = whole - moved;
      if (block && (block - p.phase) * size - inside < length) length = (block - p.phase) * size - inside;
      const int status = writing ? isthmus_get(isthmus_upc_space, memory + moved, p.rank, p.offset + inside, length)
                                 : isthmus_put(isthmus_upc_space, p.rank, p.offset + inside, memory + moved, length);
      check(status, "upc_io");
      moved += length;
    }
    if (writing && (got = run(f, 1, memory, at + (offset)done, part)) < 0) goto failed;
    done += (size_t)got;
    if ((size_t)got < part) break;
  }
  free(memory);
  return (offset)done;
failed:
  free(memory);
  return -1;
}
static int refused(const upc_file_t* f, int writing, int kinds) {
  if (f->outstanding) return errno = EBUSY;
  if (f->flags & (writing ? RDONLY : WRONLY)) return errno = EBADF;
  return f->flags & kinds ? 0 : (errno = EINVAL);
}

static offset local(upc_file_t* f, int writing, void* buffer, size_t size, size_t count, int flags) {
  if (refused(f, writing, INDIVIDUAL)) return -1;
  enter(flags);
  const offset done = run(f, writing, buffer, f->at, size * count);
  if (done > 0) f->at += done;
  leave(flags);
  return done;
}
static offset shared(upc_file_t* f, int writing, isthmus_shared buffer, size_t block, size_t size, size_t count,
                     int flags) {
  if (refused(f, writing, INDIVIDUAL | COMMON)) return -1;
  if (!size || !count) size = 1, count = 0;
  enter(flags);
  offset done;
  if (f->flags & INDIVIDUAL) {
    done = run_shared(f, writing, buffer, block, size, 0, f->at, size * count);
  } else { /* every thread moves a part */
    const uint64_t bytes = size * count, each = (bytes + isthmus_upc_threads - 1) / isthmus_upc_threads;
    const uint64_t from = each * isthmus_upc_thread < bytes ? each * isthmus_upc_thread : bytes;
    const uint64_t to = from + each < bytes ? from + each : bytes;
    done = run_shared(f, writing, buffer, block, size, from, f->at + (offset)from, to - from);
    const offset worst = agree(done < 0 ? -errno : 0, 0);
    done = agree(done, 1);
    if (worst) done = wrong((int)-worst);
  }
  if (done > 0) f->at += done;
  leave(flags);
  return done;
}

/* Runs of the file and of memory that are not as long as each other. */
static offset list(upc_file_t* f, int writing, size_t count, const local_part* near, const shared_part* far,
                   size_t files, const file_part* parts, int flags) {
  if (refused(f, writing, INDIVIDUAL | COMMON)) return -1;
  enter(flags);
  offset done = 0;
  size_t m = 0, used = 0;
  for (size_t p = 0; p < files && done >= 0; ++p)
    for (size_t at = 0; at < parts[p].bytes && m < count;) {
      const size_t here = near ? near[m].bytes : far[m].bytes;
      if (used == here) {
        ++m, used = 0;
        continue;
      }
      const size_t left = parts[p].bytes - at, length = here - used < left ? here - used : left;
      const offset moved =
          near ? run(f, writing, (char*)near[m].base + used, parts[p].at + (offset)at, length)
               : run_shared(f, writing, far[m].base, far[m].block, 1, used, parts[p].at + (offset)at, length);
      if (moved < 0) {
        done = -1;
        break;
      }
      done += moved, at += length, used += length;
    }
  const int error = errno;
  leave(flags);
  errno = error;
  return done;
}

static void begun(upc_file_t* f, offset result) {
  if (!f->outstanding) f->result = result, f->outstanding = 1;
}
offset upc_all_fwait_async(upc_file_t* f) {
  if (!f->outstanding) return wrong(EINVAL);
  f->outstanding = 0;
  return f->result;
}
offset upc_all_ftest_async(upc_file_t* f, int* flag) {
  *flag = f->outstanding;
  return upc_all_fwait_async(f);
}

#define BOTH(name, parameters, call)                 \
  offset upc_all_f##name parameters { return call; } \
  void upc_all_f##name##_async parameters { begun(f, call); }
BOTH(read_local, (upc_file_t * f, void* to, size_t size, size_t count, int flags), local(f, 0, to, size, count, flags))
BOTH(write_local, (upc_file_t * f, const void* from, size_t size, size_t count, int flags),
     local(f, 1, (void*)from, size, count, flags))
BOTH(read_shared, (upc_file_t * f, isthmus_shared to, size_t block, size_t size, size_t count, int flags),
     shared(f, 0, to, block, size, count, flags))
BOTH(write_shared, (upc_file_t * f, isthmus_shared from, size_t block, size_t size, size_t count, int flags),
     shared(f, 1, from, block, size, count, flags))
BOTH(read_list_local,
     (upc_file_t * f, size_t count, const local_part* memory, size_t files, const file_part* parts, int flags),
     list(f, 0, count, memory, NULL, files, parts, flags))
BOTH(write_list_local,
     (upc_file_t * f, size_t count, const local_part* memory, size_t files, const file_part* parts, int flags),
     list(f, 1, count, memory, NULL, files, parts, flags))
BOTH(read_list_shared,
     (upc_file_t * f, size_t count, const shared_part* memory, size_t files, const file_part* parts, int flags),
     list(f, 0, count, NULL, memory, files, parts, flags))
BOTH(write_list_shared,
     (upc_file_t * f, size_t count, const shared_part* memory, size_t files, const file_part* parts, int flags),
     list(f, 1, count, NULL, memory, files, parts, flags))
