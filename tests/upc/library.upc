/* Memory, locks, copies, barriers: section 7.2 and 6.6.1; upc_tick.h, upc_castable.h, upc_nb.h. */
#include <upc.h>
#include <upc_castable.h>
#include <upc_nb.h>
#include <upc_tick.h>
#include "check.h"

#if __UPC__ != 1 || __UPC_VERSION__ < 201311L || !__UPC_TICK__ || !__UPC_NB__ || !__UPC_CASTABLE__
#error macros
#endif
#if defined(__UPC_STATIC_THREADS__) == defined(__UPC_DYNAMIC_THREADS__)
#error threads
#endif

shared int counter;
upc_lock_t *shared handed;
shared [] char *shared parts[THREADS];

static void locks(void) {
  upc_lock_t* lock = upc_all_lock_alloc();
  for (int i = 0; i < 100; ++i) {
    upc_lock(lock);
    counter++;
    upc_unlock(lock);
  }
  upc_barrier;
  CHECK(counter == 100 * THREADS);
  upc_barrier;
  if (!MYTHREAD) handed = upc_global_lock_alloc();
  upc_barrier;
  while (!upc_lock_attempt(handed)) upc_poll();
  counter--;
  upc_unlock(handed);
  upc_barrier;
  CHECK(counter == 99 * THREADS);
  if (!MYTHREAD) upc_lock_free(handed);
  /* More than the library has room for at a time, all of them freed while the last thread has them. */
  for (int i = 0; i < 150; ++i) {
    upc_barrier;
    if (MYTHREAD == THREADS - 1) upc_lock(handed = upc_global_lock_alloc());
    upc_barrier;
    if (!MYTHREAD) upc_lock_free(handed);
  }
  upc_barrier;
  upc_all_lock_free(lock);
  upc_lock_free(NULL);
}

static void memory(void) {
  shared [8] int* all = upc_all_alloc(2 * THREADS, 8 * sizeof(int));
  for (int i = 0; i < 16 * THREADS; ++i)
    if (upc_threadof(all + i) == MYTHREAD) all[i] = i;
  upc_barrier;
  int got[8], *const mine = (int*)(all + 8 * MYTHREAD);
  const int next = (MYTHREAD + 1) % THREADS;
  CHECK(mine[3] == 8 * MYTHREAD + 3);
  upc_memget(got, all + 8 * next, sizeof got);
  for (int i = 0; i < 8; ++i) {
    CHECK(got[i] == 8 * next + i);
    got[i] = -i;
  }
  upc_memput(all + 8 * (THREADS + next), got, sizeof got);
  upc_barrier;
  CHECK(all[8 * (THREADS + MYTHREAD) + 5] == -5);
  upc_memcpy(all + 8 * MYTHREAD, all + 8 * (THREADS + next), 8 * sizeof(int));
  upc_barrier;
  CHECK(mine[7] == -7);
  upc_memset(all + 8 * next, 0, 4 * sizeof(int));
  upc_barrier;
  CHECK(mine[3] == 0 && mine[4] == -4);
  upc_all_free(all);
  shared int* global = upc_global_alloc(THREADS, sizeof(int));
  global[next] = MYTHREAD;
  CHECK(upc_threadof(&global[next]) == next && global[next] == MYTHREAD);
  upc_free(global);
  upc_free(NULL);
  parts[MYTHREAD] = upc_alloc(100);
  CHECK(upc_threadof(parts[MYTHREAD]) == MYTHREAD && upc_alloc(0) == NULL && upc_all_alloc(0, 5) == NULL);
  parts[MYTHREAD][99] = (char)MYTHREAD;
  upc_barrier;
  CHECK(parts[next][99] == next);
  upc_barrier;
  upc_free(parts[next]);
  CHECK(upc_affinitysize(100, 10, 0) >= 10 && upc_affinitysize(7, 0, 0) == 7);
  size_t total = 0;
  for (int t = 0; t < THREADS; ++t) total += upc_affinitysize(103, 10, t);
  CHECK(total == 103);
}

static void others(void) {
  static shared [16] double there[16 * THREADS];
  double here[16] = {1, 2, 3}, again[16];
  const int next = (MYTHREAD + 1) % THREADS;
  upc_handle_t handle = upc_memput_nb(there + 16 * next, here, sizeof here);
  upc_sync(handle);
  upc_barrier;
  handle = upc_memget_nb(again, there + 16 * MYTHREAD, sizeof again);
  while (!upc_sync_attempt(handle)) continue;
  CHECK(again[2] == 3);
  here[2] = 7;
  upc_barrier;
  upc_memput_nbi(there + 16 * next, here, sizeof here);
  upc_synci();
  upc_barrier;
  CHECK(there[16 * MYTHREAD + 2] == 7);
  const upc_thread_info_t info = upc_thread_info(next);
  double* near = upc_cast(&there[16 * next]);
  CHECK(!(info.guaranteedCastable & UPC_CASTABLE_STATIC) || (near && near[1] == 2));
  const upc_tick_t then = upc_ticks_now();
  CHECK(upc_ticks_to_ns(upc_ticks_now() - then) < 100000000000u);
}

int main(void) {
  locks();
  memory();
  others();
  for (int i = 0; i < 10; ++i) {
    upc_notify i;
    upc_fence;
    upc_wait i;
    upc_barrier i + 1;
    upc_notify;
    upc_wait;
  }
  RIGHT();
  return 0;
}
