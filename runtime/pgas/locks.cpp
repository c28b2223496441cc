// Locks as queues of ranks, each of which waits at a place of its own (Mellor-Crummey and Scott, Algorithms for
// scalable synchronization on shared-memory multiprocessors, ACM TOCS 9(1), 1991). The word of a lock names the last in
// the queue.
#include <isthmus/isthmus_pgas.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

using Word = std::uint64_t;  // 0: nobody

Word word_of(std::uint32_t rank, std::uint32_t node) { return (Word{rank} + 1) << 32 | node; }

LockNode& node_of(isthmus_space& space, Word word) {
  return space.segments.control(static_cast<Rank>((word >> 32) - 1)).nodes[word & 0xFFFFFFFF];
}

std::atomic_ref<Word> last_of(isthmus_space& space, const char* call, isthmus_mutex mutex) {
  require(mutex.offset % sizeof(Word) == 0, call, ": there is no lock at offset ", mutex.offset);
  return std::atomic_ref<Word>(*reinterpret_cast<Word*>(space.near(call, mutex.rank, mutex.offset, sizeof(Word))));
}

bool same(isthmus_mutex a, isthmus_mutex b) { return a.rank == b.rank && a.offset == b.offset; }

std::vector<isthmus_space::Held>::iterator held_by(isthmus_space& space, isthmus_mutex mutex) {
  return std::find_if(space.held.begin(), space.held.end(),
                      [&](const isthmus_space::Held& one) { return same(one.mutex, mutex); });
}

void clear(isthmus_space& space, isthmus_mutex mutex) { last_of(space, "isthmus_mutex_make", mutex).store(0); }

int lock(isthmus_space& space, const char* call, isthmus_mutex mutex, bool may_wait) {
  space.outside(call);
  std::atomic_ref<Word> last = last_of(space, call, mutex);
  require(held_by(space, mutex) == space.held.end() || !may_wait, call, ": rank ", space.head.rank,
          " has this lock already");
  const std::uint32_t number = space.free_node();
  const Word own = word_of(space.head.rank, number);
  LockNode& node = node_of(space, own);
  node.next.store(0, std::memory_order_relaxed);
  node.waits.store(1, std::memory_order_relaxed);
  Word before = 0;
  if (may_wait) {
    before = last.exchange(own, std::memory_order_acq_rel);
  } else if (!last.compare_exchange_strong(before, own, std::memory_order_acq_rel)) {
    return ISTHMUS_IN_PROGRESS;
  }
  space.held.push_back({mutex, number});
  if (before == 0) return ISTHMUS_DONE;
  node_of(space, before).next.store(own, std::memory_order_release);
  space.wait_until([&] { return node.waits.load(std::memory_order_acquire) == 0; });
  return ISTHMUS_DONE;
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_mutex_make_all(isthmus_space* space, isthmus_mutex* mutex) {
  if (mutex == nullptr) return guarded([]() -> int { throw InvalidInput("mutex is NULL"); });
  *mutex = {};
  const int status = isthmus_allocate_all(space, sizeof(Word), &mutex->offset);
  if (status < 0) return status;
  return guarded_space(space, [&] {
    // All of them set it to 0, and nobody locks it before all have.
    clear(*space, *mutex);
    space->barrier.notify(nullptr);
    space->wait_until([&] { return space->barrier.go_on(); });
    space->barrier.end();
    return ISTHMUS_DONE;
  });
}

int isthmus_mutex_make(isthmus_space* space, isthmus_mutex* mutex) {
  return guarded_space(space, [&] {
    require(mutex != nullptr, "mutex is NULL");
    space->outside("isthmus_mutex_make");
    *mutex = {space->head.rank, space->allocate_local(sizeof(Word))};
    clear(*space, *mutex);
    return ISTHMUS_DONE;
  });
}

int isthmus_mutex_free(isthmus_space* space, isthmus_mutex mutex) {
  return guarded_space(space, [&] {
    space->outside("isthmus_mutex_free");
    require(last_of(*space, "isthmus_mutex_free", mutex).load() == 0, "isthmus_mutex_free: a rank has the lock");
    space->release(mutex.rank, mutex.offset);
    return ISTHMUS_DONE;
  });
}

int isthmus_lock(isthmus_space* space, isthmus_mutex mutex) {
  return guarded_space(space, [&] { return lock(*space, "isthmus_lock", mutex, true); });
}

int isthmus_try_lock(isthmus_space* space, isthmus_mutex mutex) {
  return guarded_space(space, [&] { return lock(*space, "isthmus_try_lock", mutex, false); });
}

int isthmus_unlock(isthmus_space* space, isthmus_mutex mutex) {
  return guarded_space(space, [&] {
    space->outside("isthmus_unlock");
    const auto found = held_by(*space, mutex);
    require(found != space->held.end(), "isthmus_unlock: rank ", space->head.rank, " does not have this lock");
    const Word own = word_of(space->head.rank, found->node);
    LockNode& node = node_of(*space, own);
    space->held.erase(found);
    Word next = node.next.load(std::memory_order_acquire);
    if (next == 0) {
      Word last = own;
      if (last_of(*space, "isthmus_unlock", mutex).compare_exchange_strong(last, 0, std::memory_order_acq_rel))
        return ISTHMUS_DONE;
      // Another rank is just about to say that it waits.
      space->wait_until([&] { return (next = node.next.load(std::memory_order_acquire)) != 0; });
    }
    node_of(*space, next).waits.store(0, std::memory_order_release);
    return ISTHMUS_DONE;
  });
}

}  // extern "C"
