/* From which call on a class of calls changes sides: ranks of a node agree on it without waiting for each other, as
 * calls that do not wait must not. Each tells what it has measured, in memory that all of them see. Who comes to the
 * first call of a window when all have told decides, by one compare and swap, that the verdict holds from this window
 * on; who comes earlier decides that it does not hold in that one yet. Whoever comes later finds what was decided. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose.h"

enum { RECORDS = 512, ROUNDS = 16, PARTS = 16 /* of a nanosecond */ };
#define HOLDS ((uint64_t)1 << 63)

struct agreed {
  _Atomic uint64_t key; /* 0: free */
  struct round {
    _Atomic uint64_t window; /* with HOLDS: from this one on; without: not before it */
    _Atomic uint64_t sums[SIDES];
    _Atomic uint32_t told, unsure;
  } rounds[ROUNDS];
};
static struct agreed* records;

static void* mapped(int file) {
  void* at = mmap(NULL, RECORDS * sizeof *records, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? NULL : at;
}

/* Memory that is there for good: a page that /dev/shm had no room for would end the program later. */
static int new_file(char* path, size_t room) {
  snprintf(path, room, "/dev/shm/isthmus-agreed-%ld-%llx", (long)getpid(), (unsigned long long)now_ns());
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  if (posix_fallocate(file, 0, RECORDS * sizeof *records) == 0) return file;
  close(file);
  unlink(path);
  return -1;
}

void agreed_begin(MPI_Comm node) {
  char path[96] = "";
  int rank, file = -1, mine, all;
  PMPI_Comm_rank(node, &rank);
  if (rank == 0 && (file = new_file(path, sizeof path)) < 0) path[0] = 0;
  PMPI_Bcast(path, sizeof path, MPI_CHAR, 0, node);
  if (rank != 0 && path[0]) file = open(path, O_RDWR | O_CLOEXEC);
  records = file < 0 ? NULL : mapped(file);
  if (file >= 0) close(file);
  mine = records != NULL;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, node);
  if (rank == 0 && path[0]) unlink(path);
  if (!all) agreed_end();
}

void agreed_end(void) {
  if (records) munmap(records, RECORDS * sizeof *records);
  records = NULL;
}

bool agreed_can(void) { return records != NULL; }

struct agreed* agreed_of(uint64_t key) {
  const uint64_t first = (key * 0x9E3779B97F4A7C15u) >> 32;
  /* Nothing is ever taken out, so that what is full for one rank is full for all. */
  for (uint64_t i = 0; records && i < RECORDS; ++i) {
    struct agreed* a = &records[(first + i) % RECORDS];
    uint64_t found = atomic_load(&a->key);
    if (found == 0 && atomic_compare_exchange_strong(&a->key, &found, key)) return a;
    if (found == key) return a;
  }
  return NULL;
}

bool agreed_tell(struct agreed* a, unsigned round, uint64_t window, const struct bounds* own) {
  if (!a || round >= ROUNDS) return false;
  struct round* r = &a->rounds[round];
  /* This rank has taken the old side in this window, which is to be seen before all have told. */
  uint64_t least = atomic_load(&r->window);
  while (least < window + 1 && !atomic_compare_exchange_weak(&r->window, &least, window + 1)) continue;
  for (int who = 0; who < SIDES; ++who) atomic_fetch_add(&r->sums[who], (uint64_t)(own->ns[who] * PARTS));
  atomic_fetch_add(&r->unsure, own->unsure);
  atomic_fetch_add(&r->told, 1);
  return true;
}

bool agreed_holds(struct agreed* a, unsigned round, uint32_t ranks, uint64_t window, struct bounds* all) {
  struct round* r = &a->rounds[round];
  const bool told = atomic_load(&r->told) == ranks;
  uint64_t least = atomic_load(&r->window);
  while (!(least & HOLDS)) {
    const uint64_t from = least > window ? least : told ? window : window + 1;
    const uint64_t next = told ? from | HOLDS : from;
    if (next == least) break;
    if (atomic_compare_exchange_weak(&r->window, &least, next)) least = next;
  }
  if (!(least & HOLDS) || (least & ~HOLDS) > window) return false;
  for (int who = 0; who < SIDES; ++who) all->ns[who] = (double)atomic_load(&r->sums[who]) / PARTS;
  all->unsure = atomic_load(&r->unsure) > 0;
  return true;
}
