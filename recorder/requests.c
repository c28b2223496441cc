/* Requests: from handles, which MPI gives again and again, to serial numbers. Libraries also give one handle to several
 * requests that are complete at once (MPICH to sends, Open MPI to messages with MPI_PROC_NULL): these come out in the
 * order in which they went in. A handle may also come again before the thread that has completed its last request gets
 * here: a thread takes those first that it has added itself. */
#include "recorder.h"

static struct request** buckets;
static size_t bucket_count, request_count;
static struct request* free_requests;
static uint32_t last_serial;
static _Thread_local char this_thread; /* its address names a thread */

static size_t bucket_of(uint64_t key) { return (size_t)((key * 0x9E3779B97F4A7C15u) >> 20) & (bucket_count - 1); }

static void grow(void) {
  struct request** old = buckets;
  size_t count = bucket_count;
  bucket_count = count ? 4 * count : 256;
  buckets = recorder_allocate(bucket_count * sizeof(struct request*));
  for (size_t i = 0; i < count; i++) {
    for (struct request *r = old[i], *next; r; r = next) {
      next = r->next;
      struct request** bucket = &buckets[bucket_of(r->key)];
      r->next = *bucket;
      *bucket = r;
    }
  }
  recorder_release(old, count * sizeof(struct request*));
}

uint32_t request_serial(void) {
  recorder_lock();
  if (++last_serial == 0) last_serial = 1;
  uint32_t serial = last_serial;
  recorder_unlock();
  return serial;
}

static struct request* request_new(void) {
  if (!free_requests) {
    enum { BLOCK = 64 };
    struct request* block = recorder_allocate(BLOCK * sizeof *block);
    for (int i = 0; i < BLOCK; i++) {
      block[i].next = free_requests;
      free_requests = &block[i];
    }
  }
  struct request* r = free_requests;
  free_requests = r->next;
  *r = (struct request){0};
  return r;
}

struct request* request_add(uint64_t key, int kind) { return request_add_as(key, kind, request_serial()); }

struct request* request_add_as(uint64_t key, int kind, uint32_t serial) {
  recorder_lock();
  if (request_count >= bucket_count) grow();
  struct request* r = request_new();
  r->key = key;
  r->kind = (uint8_t)kind;
  r->active = 1;
  r->serial = serial;
  r->thread = &this_thread;
  r->last = r;
  struct request **bucket = &buckets[bucket_of(key)], *same = *bucket;
  while (same && same->key != key) same = same->next;
  if (same) {
    same->last->same = r;
    same->last = r;
  } else {
    r->next = *bucket;
    *bucket = r;
  }
  request_count++;
  recorder_unlock();
  return r;
}

/* Of the requests with the key of the first one, that which a call of this thread means. */
static struct request* meant(struct request* first) {
  struct request* r = first;
  while (r && r->thread != &this_thread) r = r->same;
  return r ? r : first;
}

struct request* request_find(uint64_t key) {
  recorder_lock();
  struct request* r = bucket_count ? buckets[bucket_of(key)] : NULL;
  while (r && r->key != key) r = r->next;
  r = meant(r);
  recorder_unlock();
  return r;
}

struct request* request_take(uint64_t key) {
  recorder_lock();
  struct request **at = bucket_count ? &buckets[bucket_of(key)] : NULL, *first = at ? *at : NULL;
  while (first && first->key != key) {
    at = &first->next;
    first = first->next;
  }
  struct request* const r = meant(first);
  if (r) {
    if (r != first) {
      struct request* before = first;
      while (before->same != r) before = before->same;
      before->same = r->same;
      if (first->last == r) first->last = before;
    } else if (r->same) {
      r->same->next = r->next;
      r->same->last = r->last == r ? r->same : r->last;
      *at = r->same;
    } else {
      *at = r->next;
    }
    request_count--;
  }
  recorder_unlock();
  return r;
}

void request_drop(struct request* r) {
  if (!r) return;
  if (r->again) {
    recorder_release(r->again->counts, r->again->collective.counts * sizeof *r->again->counts);
    recorder_release(r->again, sizeof *r->again);
  }
  recorder_lock();
  r->next = free_requests;
  free_requests = r;
  recorder_unlock();
}
