/* The process: whether it is recorded, its memory, its one lock. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

struct process process = {.rank = -1, .ranks = -1};
atomic_bool recorder_on;
atomic_llong recorder_memory;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void recorder_lock(void) {
  if (process.threads) pthread_mutex_lock(&mutex);
}

void recorder_unlock(void) {
  if (process.threads) pthread_mutex_unlock(&mutex);
}

void* recorder_allocate(size_t bytes) {
  void* block = calloc(1, bytes ? bytes : 1);
  /* A recorder that cannot keep its books would mislead; the program itself may live on. */
  if (!block) abort();
  atomic_fetch_add_explicit(&recorder_memory, (long long)bytes, memory_order_relaxed);
  return block;
}

void* recorder_grow(void* old, size_t old_bytes, size_t bytes) {
  void* block = recorder_allocate(bytes);
  if (old) {
    memcpy(block, old, old_bytes);
    recorder_release(old, old_bytes);
  }
  return block;
}

void recorder_release(void* block, size_t bytes) {
  if (!block) return;
  atomic_fetch_sub_explicit(&recorder_memory, (long long)bytes, memory_order_relaxed);
  free(block);
}

static void in_child(void) {
  /* A forked child is no rank: the files that it sees mapped are its parent's. */
  atomic_store(&recorder_on, false);
  depth = 0;
  here = NULL;
  atomic_store(&all_threads, NULL);
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }
