/* Bandwidth of memory as STREAM counts it (McCalpin): copy 16, scale 16, add 24, triad 24 bytes for each element.
 * Threads run on cores of one NUMA domain, arrays lie in another: whoever first writes to a page has it. Values are
 * seconds per byte, until the last thread is through. */
#include <pthread.h>
#include <stdlib.h>

#include "node.h"

typedef struct {
  int core, memory_core;
  size_t first, last;
  int op, count;
  bool filling;
} Share;

static double *a, *b, *c;
static size_t elements;
static int threads;
static Share* share;
static pthread_barrier_t gate;
static double* begun;

static void fill(size_t first, size_t last) {
  for (size_t i = first; i < last; i++) {
    a[i] = 1;
    b[i] = 2;
    c[i] = 0;
  }
}

static void turn(int op, size_t first, size_t last) {
  const double factor = 3;
  double* restrict x = a, * restrict y = b, * restrict z = c;
  switch (op) {
    case 0:
      for (size_t i = first; i < last; i++) z[i] = x[i];
      break;
    case 1:
      for (size_t i = first; i < last; i++) y[i] = factor * z[i];
      break;
    case 2:
      for (size_t i = first; i < last; i++) z[i] = x[i] + y[i];
      break;
    default:
      for (size_t i = first; i < last; i++) x[i] = y[i] + factor * z[i];
  }
}

static void* run(void* given) {
  const Share* s = given;
  if (s->filling) {
    pin(s->memory_core);
    fill(s->first, s->last);
    return NULL;
  }
  pin(s->core);
  for (int i = 0; i < s->count; i++) {
    pthread_barrier_wait(&gate);
    if (s == share) begun[i] = now();
    turn(s->op, s->first, s->last);
  }
  pthread_barrier_wait(&gate);
  return NULL;
}

static void all(bool filling, int op, int count) {
  pthread_t* thread = malloc(sizeof *thread * (size_t)threads);
  for (int t = 0; t < threads; t++) {
    share[t].filling = filling;
    share[t].op = op;
    share[t].count = count;
    pthread_create(&thread[t], NULL, run, &share[t]);
  }
  for (int t = 0; t < threads; t++) pthread_join(thread[t], NULL);
  free(thread);
}

static const char* prepare_stream(Item* item) {
  const long most = item_integer(item, "threads");
  const int domain = (int)item_integer(item, "numa_core"), memory = (int)item_integer(item, "numa_memory");
  if (core_of_domain(domain, 0) < 0) return "there is no core that this process may use in this NUMA domain";
  if (core_of_domain(domain, (int)most - 1) < 0) return "there are not so many cores in this NUMA domain";
  if (core_of_domain(memory, 0) < 0) return "no thread can be run beside this memory, to place it there";
  const size_t bytes = (size_t)item_integer(item, "bytes");
  a = malloc(bytes);
  b = malloc(bytes);
  c = malloc(bytes);
  const bool enough = a && b && c;
  free(a);
  free(b);
  free(c);
  return enough ? NULL : "there is not enough memory";
}

/* Threads and arrays are made anew in each batch: items take turns, and so many arrays do not fit side by side. */
static int stream(const Item* item, int count, double* values) {
  const char* const ops[] = {"copy", "scale", "add", "triad"};
  const double bytes_each[] = {16, 16, 24, 24};
  int op = 0;
  while (!item_is(item, "op", ops[op])) op++;
  const size_t bytes = (size_t)item_integer(item, "bytes");
  elements = bytes / sizeof(double);
  threads = (int)item_integer(item, "threads");
  a = malloc(bytes);
  b = malloc(bytes);
  c = malloc(bytes);
  share = calloc((size_t)threads, sizeof *share);
  begun = malloc(sizeof *begun * (size_t)(count + 2));
  if (!a || !b || !c || !share || !begun) return 0;
  for (int t = 0; t < threads; t++) {
    const int memory = (int)item_integer(item, "numa_memory");
    share[t].core = core_of_domain((int)item_integer(item, "numa_core"), t);
    share[t].memory_core = core_of_domain(memory, t);
    if (share[t].memory_core < 0) share[t].memory_core = core_of_domain(memory, 0);
    share[t].first = elements * (size_t)t / (size_t)threads;
    share[t].last = elements * (size_t)(t + 1) / (size_t)threads;
  }
  all(true, op, 0);
  pthread_barrier_init(&gate, NULL, (unsigned)threads);
  /* From gate to gate; the first turn warms up, the end of the last is not seen. */
  all(false, op, count + 2);
  pthread_barrier_destroy(&gate);
  keep(a[elements / 2] + b[elements / 2] + c[elements / 2]);
  for (int i = 0; i < count; i++) values[i] = (begun[i + 2] - begun[i + 1]) / (bytes_each[op] * (double)elements);
  free(a);
  free(b);
  free(c);
  free(share);
  free(begun);
  return count;
}

/* Seconds per byte that is copied from one buffer to another, on one core. Both begin at a page: where the second
 * begins some bytes further in its page than the first, "rep movsb" of Zen 3 takes ten times as long. */
enum { ALIGNMENT = 4096 };
static char* from;
static char* to;

static const char* prepare_memcpy(Item* item) {
  const char* reason = pin_item(item);
  const size_t bytes = (size_t)item_integer(item, "bytes");
  if (reason) return reason;
  if (bytes == 0) return "no bytes take no time";
  char* memory = malloc(2 * (bytes + ALIGNMENT));
  free(memory);
  return memory ? NULL : "there is not enough memory";
}

static int copy(const Item* item, int count, double* values) {
  const size_t bytes = (size_t)item_integer(item, "bytes");
  (void)pin_item(item);
  const size_t space = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  from = aligned_alloc(ALIGNMENT, space);
  to = aligned_alloc(ALIGNMENT, space);
  if (!from || !to) return 0;
  for (size_t i = 0; i < bytes; i++) from[i] = to[i] = (char)i;
  int trips = 1;
  for (int i = -1; i < count; i++) {
    const double begin = now();
    for (int k = 0; k < trips; k++) {
      __builtin_memcpy(to, from, bytes);
      __asm__ volatile("" : : "r"(to) : "memory");
    }
    const double each = elapsed(begin) / trips;
    if (i < 0) trips = trips_for(each);
    else values[i] = each / (double)bytes;
  }
  keep(to[bytes / 2]);
  free(from);
  free(to);
  return count;
}

const NodeCode code_stream = {prepare_stream, stream};
const NodeCode code_memcpy = {prepare_memcpy, copy};
