/* Loops in blocks: rows of elements are got before a strip of iterations and put after it; where memory is shared and
 * the elements lie one behind the other nothing is moved. The next strip is got, and the last one put, meanwhile. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"
#include "isthmus_upc_rows.h"
#include "starts.h"

enum { parts = 3 };
enum { near_strip = 1024, most_strip = 1 << 17, most_bytes = 64 << 20, payload = 7168 };
/* Numbers of active messages, the last of which there are. */
enum { asks = 252, brings = 253, puts = 254, arrived = 255 };

static char* arena;
static size_t arena_bytes;

static isthmus_space_head* head(void) { return (isthmus_space_head*)isthmus_upc_space; }

/* -- one loop in blocks or not -- */

int isthmus_upc_leads_to_shared(const void* pointer) {
  const char* const at = pointer;
  for (uint32_t rank = 0; rank < isthmus_upc_threads; ++rank) {
    const char* const memory = head()->shared[rank];
    if (memory && at >= memory && at < memory + head()->extent) return 1;
  }
  return 0;
}

typedef struct reach {
  int64_t low, high;
} reach;
/* Numbers of the elements of a row: first and last. */
static reach numbers_of(const isthmus_upc_row* row, int64_t count) {
  const int64_t one = row->first + row->from * row->step, other = row->first + (count - 1 + row->to) * row->step;
  const reach found = {one < other ? one : other, one < other ? other : one};
  return found;
}
/* Offsets, on whatever thread: of whole blocks. */
static reach offsets_of(const isthmus_upc_row* row, int64_t count) {
  const reach numbers = numbers_of(row, count);
  const int64_t block = row->block, bytes = row->bytes, base = (int64_t)row->at.offset;
  reach found = {base + numbers.low * bytes, base + (numbers.high + 1) * bytes};
  if (block) { /* numbers from where the first block of thread 0 begins */
    const int64_t round = block * isthmus_upc_threads, before = row->at.phase + block * row->at.rank;
    const int64_t begin = base - row->at.phase * bytes;
    found.low = begin + isthmus_upc_floor(numbers.low + before, round) * block * bytes;
    found.high = begin + (isthmus_upc_floor(numbers.high + before, round) + 1) * block * bytes;
  }
  return found;
}
static int are_apart(const isthmus_upc_row* one, const isthmus_upc_row* other, int same, int64_t count) {
  if (same) {
    const reach a = numbers_of(one, count), b = numbers_of(other, count);
    if (a.high < b.low || b.high < a.low) return 1;
    const int64_t by = one->step < 0 ? -one->step : one->step;
    if (by && one->step == other->step && (one->first - other->first) % by) return 1;
  }
  const reach a = offsets_of(one, count), b = offsets_of(other, count);
  return a.high <= b.low || b.high <= a.low;
}

/* -- where elements lie -- */

static isthmus_shared place_of(const isthmus_upc_row* row, int64_t element) {
  return isthmus_shared_add(row->at, row->first + element * row->step, row->bytes, row->block, isthmus_upc_threads);
}

/* A row of one thread, at equal distances. */
typedef struct run {
  int64_t element, every, count; /* which of them */
  isthmus_shared at;
  int64_t stride; /* in bytes */
} run;

/* How often the threads come round: so many elements further is the same thread, and so many bytes further there. */
static int64_t period_of(const isthmus_upc_row* row, int64_t* stride) {
  const int64_t block = row->block, threads = isthmus_upc_threads, step = row->step;
  *stride = step * row->bytes;
  if (!block || threads == 1 || !step) return 1;
  const int64_t round = block * threads;
  int64_t one = round, other = step < 0 ? -step : step;
  while (other) {
    const int64_t rest = one % other;
    one = other, other = rest;
  }
  const int64_t period = round / one;
  *stride = step * period / threads * row->bytes;
  return period;
}
/* Elements from this one on whose block is the same. */
static int64_t same_block(const isthmus_upc_row* row, isthmus_shared at) {
  const int64_t step = row->step;
  if (!row->block || !step) return INT64_MAX;
  return step > 0 ? ((int64_t)row->block - 1 - at.phase) / step + 1 : (int64_t)at.phase / -step + 1;
}

/* Where elements from..to lie one behind the other in memory that is shared with this thread. */
static char* whole(const isthmus_upc_row* row, int64_t from, int64_t to) {
  const isthmus_shared first = place_of(row, from);
  int64_t stride;
  const int64_t count = to - from + 1;
  if (count > 1 && (row->step != 1 || same_block(row, first) < count) &&
      (period_of(row, &stride) != 1 || stride != row->bytes))
    return NULL;
  return isthmus_near(isthmus_upc_space, first.rank, first.offset, (size_t)count * row->bytes);
}

/* -- transfers -- */

static void spread(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count, uint32_t bytes) {
  if (to_stride == bytes && from_stride == bytes) {
    memcpy(to, from, (size_t)count * bytes);
    return;
  }
#define EACH(type)                                                            \
  for (int64_t i = 0; i < count; ++i, to += to_stride, from += from_stride) { \
    type value;                                                               \
    memcpy(&value, from, sizeof value);                                       \
    memcpy(to, &value, sizeof value);                                         \
  }
  if (bytes == 8) EACH(uint64_t)
  else if (bytes == 4) EACH(uint32_t)
  else
    for (int64_t i = 0; i < count; ++i, to += to_stride, from += from_stride) memcpy(to, from, bytes);
#undef EACH
}

static void* pointer_of(uint64_t number) { return (void*)(uintptr_t)number; }
static uint64_t number_of(const void* pointer) { return (uint64_t)(uintptr_t)pointer; }

static void asked(isthmus_token* token, const uint64_t* a, uint32_t count, void* bytes, size_t size, void* data) {
  char part[payload];
  (void)count, (void)bytes, (void)size, (void)data;
  spread(part, (int64_t)a[6], isthmus_upc_own + a[3], (int64_t)a[4], (int64_t)a[5], (uint32_t)a[6]);
  const uint64_t back[] = {a[0], a[1], a[2], a[5], a[6]};
  isthmus_reply(token, brings, back, 5, part, a[5] * a[6]);
}
static void brought(isthmus_token* token, const uint64_t* a, uint32_t count, void* bytes, size_t size, void* data) {
  (void)token, (void)count, (void)size, (void)data;
  spread(pointer_of(a[1]), (int64_t)a[2], bytes, (int64_t)a[4], (int64_t)a[3], (uint32_t)a[4]);
  --*(int32_t*)pointer_of(a[0]);
}
static void putting(isthmus_token* token, const uint64_t* a, uint32_t count, void* bytes, size_t size, void* data) {
  (void)count, (void)size, (void)data;
  spread(isthmus_upc_own + a[1], (int64_t)a[2], bytes, (int64_t)a[4], (int64_t)a[3], (uint32_t)a[4]);
  isthmus_reply(token, arrived, a, 1, NULL, 0);
}
static void came(isthmus_token* token, const uint64_t* a, uint32_t count, void* bytes, size_t size, void* data) {
  (void)token, (void)count, (void)bytes, (void)size, (void)data;
  --*(int32_t*)pointer_of(a[0]);
}

/* Events of transfers that need no packing, each with the part of the loop that waits for it. */
static struct {
  isthmus_event* list;
  size_t count, room;
} events[parts];

static isthmus_event* event_of(int part) {
  if (events[part].count == events[part].room) {
    events[part].room = events[part].room ? 2 * events[part].room : 16;
    events[part].list = realloc(events[part].list, events[part].room * sizeof(isthmus_event));
    if (!events[part].list) isthmus_upc_refuse("no memory for a loop in blocks");
  }
  return &events[part].list[events[part].count++];
}

static void move_run(isthmus_upc_loop* loop, const isthmus_upc_row* row, int part, const run* run, int put) {
  const int64_t bytes = row->bytes, own_stride = run->every * bytes;
  char* const own = row->parts[part] + run->element * bytes;
  const uint32_t rank = run->at.rank;
  const int64_t last = (run->count - 1) * run->stride;
  const uint64_t low = run->at.offset + (uint64_t)(last < 0 ? last : 0);
  const size_t reach = (size_t)((last < 0 ? -last : last) + bytes);
  char* const near = isthmus_near(isthmus_upc_space, rank, low, reach);
  if (near) {
    char* const there = near + (run->at.offset - low);
    if (put) spread(there, run->stride, own, own_stride, run->count, row->bytes);
    else spread(own, own_stride, there, run->stride, run->count, row->bytes);
  } else if (run->count == 1 || (run->stride == bytes && own_stride == bytes)) {
    isthmus_event* const event = event_of(part);
    const size_t all = (size_t)(run->count * bytes);
    check(put ? isthmus_begin_put(isthmus_upc_space, rank, run->at.offset, own, all, event)
              : isthmus_begin_get(isthmus_upc_space, own, rank, run->at.offset, all, event),
          put ? "write of a block" : "read of a block");
  } else if (isthmus_cast(isthmus_upc_space, rank, low) || bytes > payload || low + reach > head()->extent) {
    const size_t extent = (size_t)run->count; /* shared, and counted by a recorder */
    check(put ? isthmus_put_strided(isthmus_upc_space, rank, run->at.offset, &run->stride, own, &own_stride,
                                    (size_t)bytes, &extent, 1)
              : isthmus_get_strided(isthmus_upc_space, own, &own_stride, rank, run->at.offset, &run->stride,
                                    (size_t)bytes, &extent, 1),
          put ? "write of a block" : "read of a block");
  } else {
    const int64_t each = payload / bytes;
    for (int64_t i = 0; i < run->count; i += each) {
      const int64_t count = run->count - i < each ? run->count - i : each;
      const uint64_t offset = run->at.offset + (uint64_t)(i * run->stride);
      ++loop->under_way[part];
      if (put) {
        char packed[payload];
        spread(packed, bytes, own + i * own_stride, own_stride, count, row->bytes);
        const uint64_t a[] = {number_of(&loop->under_way[part]), offset, (uint64_t)run->stride, (uint64_t)count,
                              (uint64_t)bytes};
        check(isthmus_request(isthmus_upc_space, rank, puts, a, 5, packed, (size_t)(count * bytes)),
              "write of a block");
      } else {
        const uint64_t a[] = {number_of(&loop->under_way[part]),
                              number_of(own + i * own_stride),
                              (uint64_t)own_stride,
                              offset,
                              (uint64_t)run->stride,
                              (uint64_t)count,
                              (uint64_t)bytes};
        check(isthmus_request(isthmus_upc_space, rank, asks, a, 7, NULL, 0), "read of a block");
      }
    }
  }
}

/* Elements from..to, of which element `base` is the first in the buffer. */
static void move(isthmus_upc_loop* loop, const isthmus_upc_row* row, int part, int64_t from, int64_t to, int64_t base,
                 int put) {
  if (row->total && !put && row->step) { /* only those that the array has */
    const int64_t a = -row->first, b = row->total - 1 - row->first, step = row->step;
    const int64_t low = step > 0 ? -isthmus_upc_floor(-a, step) : -isthmus_upc_floor(b, -step);
    const int64_t high = step > 0 ? isthmus_upc_floor(b, step) : isthmus_upc_floor(-a, -step);
    if (from < low) from = low;
    if (to > high) to = high;
  } else if (row->total && !put && (row->first < 0 || row->first >= row->total)) {
    return;
  }
  const int64_t count = to - from + 1;
  if (count <= 0) return;
  int64_t stride;
  const int64_t period = period_of(row, &stride);
  const isthmus_shared begin = place_of(row, from);
  const int64_t in_block = row->block && row->step ? row->block / (row->step < 0 ? -row->step : row->step) : 0;
  if (period <= 1 || (period <= count && (in_block < 2 || period < count / in_block))) {
    isthmus_shared at = begin;
    for (int64_t i = 0; i < period && i < count; ++i) {
      const run one = {from + i - base, period, (count - i - 1) / period + 1, at, stride};
      move_run(loop, row, part, &one, put);
      at = isthmus_shared_add(at, row->step, row->bytes, row->block, isthmus_upc_threads);
    }
    return;
  }
  isthmus_shared at = begin;
  for (int64_t i = 0; i < count;) {
    int64_t together = same_block(row, at);
    if (together > count - i) together = count - i;
    const run one = {from + i - base, 1, together, at, row->step * (int64_t)row->bytes};
    move_run(loop, row, part, &one, put);
    at = isthmus_shared_add(at, together * row->step, row->bytes, row->block, isthmus_upc_threads);
    i += together;
  }
}

static void await(isthmus_upc_loop* loop, int part) {
  for (size_t i = 0; i < events[part].count; ++i)
    check(isthmus_wait_event(isthmus_upc_space, &events[part].list[i]), "a block");
  events[part].count = 0;
  for (uint32_t looks = 1; __atomic_load_n(&loop->under_way[part], __ATOMIC_RELAXED); ++looks) {
    check(isthmus_poll(isthmus_upc_space), "a block");
    if (looks > 64) sched_yield();
  }
}

/* -- how many strips -- */

static int64_t given_strip;                         /* 0: the model chooses */
static double of_a_message = 2000, of_a_byte = 0.3; /* nanoseconds; measured where threads are far */

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int64_t isthmus_upc_least;

void isthmus_upc_rows_start(void) {
  isthmus_upc_least = head()->far ? 4 : 32;
  const char* const strip = getenv("ISTHMUS_UPC_STRIP");
  if (strip) {
    char* end;
    const long long number = strtoll(strip, &end, 10);
    if (number < 1 || *end) isthmus_upc_refuse("ISTHMUS_UPC_STRIP is '%s' and no number of iterations", strip);
    given_strip = number;
    isthmus_upc_least = 2;
  }
  if (!head()->far) return;
  check(isthmus_handle(isthmus_upc_space, asks, asked, NULL), "start");
  check(isthmus_handle(isthmus_upc_space, brings, brought, NULL), "start");
  check(isthmus_handle(isthmus_upc_space, puts, putting, NULL), "start");
  check(isthmus_handle(isthmus_upc_space, arrived, came, NULL), "start");
}

/* The least of a few times, while all threads handle messages: they are on their way to a barrier. */
void isthmus_upc_rows_measure(void) {
  enum { bytes = 32768 };
  if (!head()->far) return;
  uint64_t offset;
  check(isthmus_allocate_all(isthmus_upc_space, bytes, &offset), "start");
  check(isthmus_set(isthmus_upc_space, isthmus_upc_thread, offset, 0, bytes), "start");
  check(isthmus_barrier(isthmus_upc_space, NULL), "start");
  uint32_t rank = (isthmus_upc_thread + 1) % isthmus_upc_threads;
  while (rank != isthmus_upc_thread && head()->shared[rank]) rank = (rank + 1) % isthmus_upc_threads;
  char* const to = malloc(bytes);
  if (rank != isthmus_upc_thread && to) {
    double times[2] = {1e9, 1e9};
    for (int i = 0; i < 6; ++i) {
      const uint64_t before = now();
      check(isthmus_get(isthmus_upc_space, to, rank, offset, i % 2 ? bytes : 8), "start");
      const double took = (double)(now() - before);
      if (took < times[i % 2]) times[i % 2] = took;
    }
    of_a_message = times[0];
    of_a_byte = times[1] > times[0] ? (times[1] - times[0]) / (bytes - 8) : 0.01;
  }
  free(to);
  check(isthmus_barrier(isthmus_upc_space, NULL), "start");
  if (!isthmus_upc_thread) check(isthmus_release(isthmus_upc_space, 0, offset), "start");
}

/* The first strip is waited for; after it the longer of transfer and iterations counts. A strip costs the sending of
 * its messages, about a quarter of one there and back. */
static int64_t strips_of(double count, double bytes, double messages, double iteration) {
  double best = 0;
  int64_t found = 1;
  for (int64_t strips = 1; strips <= 64; strips *= 2) {
    const double transfer = of_a_message + bytes * of_a_byte / (double)strips;
    const double work = count * iteration / (double)strips + messages * of_a_message / 4;
    const double all = transfer + (double)(strips - 1) * (transfer > work ? transfer : work) + work;
    if (strips == 1 || all < best) best = all, found = strips;
  }
  return found;
}

/* -- strips -- */

static int64_t end_of(const isthmus_upc_loop* loop, int64_t strip) {
  const int64_t end = (strip + 1) * loop->strip;
  return end < loop->count ? end : loop->count;
}

static void begin_strip(isthmus_upc_loop* loop, int64_t strip) {
  const int part = (int)(strip % parts);
  const int64_t begin = strip * loop->strip, end = end_of(loop, strip);
  await(loop, part); /* what was put from here */
  for (uint32_t i = 0; i < loop->row_count; ++i) {
    isthmus_upc_row* const row = &loop->rows[i];
    const int64_t from = begin + row->from, to = row->fixed ? from : end - 1 + row->to;
    if (!row->use) continue;
    char* const there = row->total ? NULL : whole(row, from, to);
    row->copied[part] = there == NULL;
    row->parts[part] = there ? there : row->room + part * row->part_bytes;
    if (there || !(row->use & 1)) continue;
    int is_new = 1;
    char* const kept =
        row->use & 4 ? isthmus_upc_kept(row, place_of(row, from), row->first + from * row->step, to - from + 1, &is_new)
                     : NULL;
    if (kept) row->parts[part] = kept;
    if (is_new) move(loop, row, part, from, to, from, 0);
  }
}

static void end_strip(isthmus_upc_loop* loop, int64_t strip) {
  const int part = (int)(strip % parts);
  const int64_t begin = strip * loop->strip, end = end_of(loop, strip);
  for (uint32_t i = 0; i < loop->row_count; ++i) {
    isthmus_upc_row* const row = &loop->rows[i];
    if ((row->use & 2) && row->copied[part]) move(loop, row, part, begin, end - 1, begin + row->from, 1);
  }
}

/* Whether more strips are: as the model says, unless it was found to be wrong, which is looked at again sometimes. */
static int is_better(isthmus_upc_site* site) {
  enum { again = 32 };
  const int better = !site->took[1] || !site->took[0] || site->took[1] < site->took[0];
  return ++site->runs % again == 0 ? !better : better;
}

/* Whether each element is on a line of the cache of its own: a copy of such a row was slower than accesses that do not
 * leave the memory of the node. */
static int is_wide(const isthmus_upc_row* row) {
  enum { line = 64 };
  int64_t stride;
  const int64_t period = period_of(row, &stride), step = row->step * (int64_t)row->bytes;
  const int64_t next = period <= isthmus_upc_threads ? stride : step;
  return next > line || next < -line;
}

/* Iterations of a strip; 0: the accesses stay as they are, as a row that is written and read at several places would
 * take too much memory, or as nothing would be gained. */
static int64_t strip_of(isthmus_upc_loop* loop) {
  double bytes = 0, messages = 0;
  int64_t most = most_strip;
  int together = 0;
  for (uint32_t i = 0; i < loop->row_count; ++i) {
    const isthmus_upc_row* const row = &loop->rows[i];
    if (!row->use) continue;
    const int64_t to = row->fixed ? row->from : loop->count - 1 + row->to;
    if (!row->total && whole(row, row->from, to)) continue;
    if (!head()->far && !given_strip && !row->fixed && is_wide(row)) return 0;
    if (!row->fixed) bytes += row->bytes * ((row->use & 3) == 3 ? 2 : 1);
    ++messages;
    together |= (row->use & 2) && row->from < row->to;
    if (most > most_bytes / 4 / row->bytes) most = most_bytes / 4 / row->bytes + 1;
  }
  if (messages == 0) return loop->count;
  if (together) return loop->count <= most ? loop->count : 0;
  int64_t strip = given_strip ? given_strip : near_strip;
  if (head()->far && !given_strip) {
    const int64_t fewest = (loop->count + most - 1) / most;
    const int64_t strips = strips_of((double)loop->count, bytes * (double)loop->count, messages, loop->site->iteration);
    loop->more = strips > fewest && is_better(loop->site);
    strip = (loop->count + strips - 1) / strips;
    if (!loop->more) strip = most;
  }
  if (strip > most) strip = most;
  return strip < loop->count ? strip : loop->count;
}

static int take_memory(isthmus_upc_loop* loop) {
  const int64_t strips = (loop->count + loop->strip - 1) / loop->strip;
  size_t bytes = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass && bytes > arena_bytes) {
      free(arena);
      arena = malloc(bytes);
      arena_bytes = arena ? bytes : 0;
      if (!arena) return 0;
    }
    bytes = 0;
    for (uint32_t i = 0; i < loop->row_count; ++i) {
      isthmus_upc_row* const row = &loop->rows[i];
      if (!row->use) continue;
      const int64_t elements = row->fixed ? 1 : loop->strip + row->to - row->from;
      row->part_bytes = ((size_t)elements * row->bytes + 63) / 64 * 64;
      row->room = arena + bytes;
      bytes += row->part_bytes * (size_t)(strips < parts ? strips : parts);
    }
  }
  return 1;
}

int isthmus_upc_rows_begin(isthmus_upc_loop* loop) {
  for (uint32_t i = 0; i < loop->pointer_count; ++i)
    if (isthmus_upc_leads_to_shared(loop->pointers[i])) return 0;
  for (uint32_t i = 0; i < loop->row_count; ++i)
    if ((loop->rows[i].use & 2) && loop->rows[i].step == 0) return 0;
  for (uint32_t i = 0; i < loop->pair_count; ++i) {
    const isthmus_upc_pair pair = loop->pairs[i];
    if (!are_apart(&loop->rows[pair.one], &loop->rows[pair.other], pair.same, loop->count)) return 0;
  }
  loop->strip = strip_of(loop);
  if (!loop->strip || !take_memory(loop)) return 0;
  loop->begun = head()->far ? now() : 0;
  begin_strip(loop, 0);
  return 1;
}

int64_t isthmus_upc_rows_next(isthmus_upc_loop* loop) {
  const int64_t strip = loop->done, begin = strip * loop->strip;
  if (strip) {
    if (loop->started)
      loop->site->iteration = (double)(now() - loop->started) / (double)(end_of(loop, strip - 1) - begin + loop->strip);
    end_strip(loop, strip - 1);
  }
  if (begin >= loop->count) {
    for (int part = 0; part < parts; ++part) await(loop, part);
    if (loop->begun) {
      double* const took = &loop->site->took[loop->more];
      const double each = (double)(now() - loop->begun) / (double)loop->count;
      *took = *took ? (*took + each) / 2 : each;
    }
    return 0;
  }
  if (end_of(loop, strip) < loop->count) begin_strip(loop, strip + 1);
  const int part = (int)(strip % parts);
  await(loop, part);
  for (uint32_t i = 0; i < loop->row_count; ++i) {
    isthmus_upc_row* const row = &loop->rows[i];
    if (row->use) row->now = row->parts[part] - row->from * (int64_t)row->bytes;
  }
  ++loop->done;
  loop->started = head()->far ? now() : 0;
  return end_of(loop, strip) - begin;
}
