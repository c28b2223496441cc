/* A thread that goes on with what is under way while the program waits within the MPI library, in a call that cannot be
 * taken apart. It sleeps otherwise, and there is none before it is needed. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "interpose.h"

enum state { NONE, ASLEEP, WORKING, ENDING };
static _Atomic(enum state) state;
static pthread_t thread;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int users; /* threads in such a call */

static void* work(void* unused) {
  (void)unused;
  depth = 1;
  for (;;) {
    pthread_mutex_lock(&mutex);
    while (atomic_load(&state) == ASLEEP) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    if (atomic_load(&state) == ENDING) return NULL;
    lock();
    if (atomic_load(&state) == WORKING) progress(true);
    unlock();
    sched_yield();
  }
}

static void set(enum state now) {
  pthread_mutex_lock(&mutex);
  atomic_store(&state, now);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}

bool aside_begin(void) {
  if (LIKELY(requests_busy == 0)) return false;
  lock();
  if (users++ == 0) {
    if (atomic_load(&state) == NONE) {
      atomic_store(&state, WORKING);
      if (pthread_create(&thread, NULL, work, NULL) != 0) {
        atomic_store(&state, NONE);
        users = 0;
        unlock();
        return false;
      }
    } else {
      set(WORKING);
    }
  }
  unlock();
  return true;
}

void aside_end(bool begun) {
  if (LIKELY(!begun)) return;
  lock();
  /* Under the lock it is in the middle of nothing, and it looks again before it goes on. */
  if (--users == 0) set(ASLEEP);
  unlock();
}

void aside_stop(void) {
  if (atomic_load(&state) == NONE) return;
  set(ENDING);
  pthread_join(thread, NULL);
  atomic_store(&state, NONE);
}
