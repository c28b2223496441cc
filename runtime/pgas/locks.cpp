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
  return space.segments.control(space.head.rank).nodes[word & 0xFFFFFFFF];
}

/// Writes into the node of any rank.
void tell(isthmus_space& space, Word word, std::atomic<Word> LockNode::* part, Word value) {
  const auto rank = static_cast<Rank>((word >> 32) - 1);
  if (space.segments.is_near(rank)) {
    (space.segments.control(rank).nodes[word & 0xFFFFFFFF].*part).store(value, std::memory_order_release);
    return;
  }
  // The heads of all segments are alike.
  const Control& alike = space.segments.control(space.head.rank);
  const auto* const at = reinterpret_cast<const char*>(&(alike.nodes[word & 0xFFFFFFFF].*part));
  space.far->store(rank, static_cast<std::uint64_t>(at - reinterpret_cast<const char*>(&alike)), value);
}

/// The word of a lock, wherever it is.
class Last {
 public:
  Last(isthmus_space& space, const char* call, isthmus_mutex mutex) : space_(space), mutex_(mutex) {
    require(mutex.offset % sizeof(Word) == 0, call, ": there is no lock at offset ", mutex.offset);
    near_ = reinterpret_cast<Word*>(space.near(call, mutex.rank, mutex.offset, sizeof(Word)));
  }
  [[nodiscard]] bool is_near() const { return near_ != nullptr; }
  void clear() const { std::atomic_ref<Word>(*near_).store(0); }
  [[nodiscard]] Word load() const {
    if (is_near()) return std::atomic_ref<Word>(*near_).load();
    return far(ISTHMUS_ATOMIC_READ, 0, 0);
  }
  [[nodiscard]] Word exchange(Word next) const {
    if (is_near()) return std::atomic_ref<Word>(*near_).exchange(next, std::memory_order_acq_rel);
    return far(ISTHMUS_ATOMIC_SWAP, next, 0);
  }
  /// What was there; `next` is there now if that is equal to `expected`.
  [[nodiscard]] Word exchange_if(Word expected, Word next) const {
    if (!is_near()) return far(ISTHMUS_ATOMIC_SWAP_IF, next, expected);
    std::atomic_ref<Word>(*near_).compare_exchange_strong(expected, next, std::memory_order_acq_rel);
    return expected;
  }

 private:
  [[nodiscard]] Word far(isthmus_atomic_operator operation, Word operand, Word expected) const {
    return space_.far->atomic(mutex_.rank, mutex_.offset, ISTHMUS_U64, operation, operand, expected);
  }

  isthmus_space& space_;
  isthmus_mutex mutex_;
  Word* near_;
};

bool same(isthmus_mutex a, isthmus_mutex b) { return a.rank == b.rank && a.offset == b.offset; }

std::vector<isthmus_space::Held>::iterator held_by(isthmus_space& space, isthmus_mutex mutex) {
  return std::find_if(space.held.begin(), space.held.end(),
                      [&](const isthmus_space::Held& one) { return same(one.mutex, mutex); });
}

int lock(isthmus_space& space, const char* call, isthmus_mutex mutex, bool may_wait) {
  space.outside(call);
  const Last last(space, call, mutex);
  require(held_by(space, mutex) == space.held.end() || !may_wait, call, ": rank ", space.head.rank,
          " has this lock already");
  const std::uint32_t number = space.free_node();
  const Word own = word_of(space.head.rank, number);
  LockNode& node = node_of(space, own);
  node.next.store(0, std::memory_order_relaxed);
  node.waits.store(1, std::memory_order_relaxed);
  const Word before = may_wait ? last.exchange(own) : last.exchange_if(0, own);
  if (!may_wait && before != 0) return ISTHMUS_IN_PROGRESS;
  space.held.push_back({mutex, number});
  if (before == 0) return ISTHMUS_DONE;
  tell(space, before, &LockNode::next, own);
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
    // Those of its node set it to 0, and nobody locks it before all have.
    if (const Last last(*space, "isthmus_mutex_make_all", *mutex); last.is_near()) last.clear();
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
    Last(*space, "isthmus_mutex_make", *mutex).clear();
    return ISTHMUS_DONE;
  });
}

int isthmus_mutex_free(isthmus_space* space, isthmus_mutex mutex) {
  return guarded_space(space, [&] {
    space->outside("isthmus_mutex_free");
    require(Last(*space, "isthmus_mutex_free", mutex).load() == 0, "isthmus_mutex_free: a rank has the lock");
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
      if (Last(*space, "isthmus_unlock", mutex).exchange_if(own, 0) == own) return ISTHMUS_DONE;
      // Another rank is just about to say that it waits.
      space->wait_until([&] { return (next = node.next.load(std::memory_order_acquire)) != 0; });
    }
    tell(*space, next, &LockNode::waits, 0);
    return ISTHMUS_DONE;
  });
}

}  // extern "C"
