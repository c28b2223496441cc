// The C interface of locks.
#include <isthmus/isthmus_pgas.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/error.hpp"
#include "runtime/interface/status.hpp"
#include "runtime/pgas/queue_lock.hpp"
#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {
namespace {

LockWord word_of(std::uint32_t rank, std::uint32_t node) { return (LockWord{rank} + 1) << 32 | node; }

LockNode& node_of(isthmus_space& space, LockWord word) {
  return space.segments.control(space.head.rank).nodes[word & 0xFFFFFFFF];
}

/// A lock, wherever its word and the nodes of those are who wait for it.
class Ways {
 public:
  Ways(isthmus_space& space, const char* call, isthmus_mutex mutex) : space_(space), mutex_(mutex) {
    require(mutex.offset % sizeof(LockWord) == 0, call, ": there is no lock at offset ", mutex.offset);
    near_ = reinterpret_cast<LockWord*>(space.near(call, mutex.rank, mutex.offset, sizeof(LockWord)));
  }
  [[nodiscard]] bool is_near() const { return near_ != nullptr; }
  void clear() const { std::atomic_ref<LockWord>(*near_).store(0); }
  [[nodiscard]] LockWord load() const {
    if (is_near()) return std::atomic_ref<LockWord>(*near_).load();
    return far(ISTHMUS_ATOMIC_READ, 0, 0);
  }
  [[nodiscard]] LockWord exchange(LockWord next) const {
    return is_near() ? runtime::exchange(*near_, next) : far(ISTHMUS_ATOMIC_SWAP, next, 0);
  }
  [[nodiscard]] LockWord exchange_if(LockWord expected, LockWord next) const {
    return is_near() ? runtime::exchange_if(*near_, expected, next) : far(ISTHMUS_ATOMIC_SWAP_IF, next, expected);
  }
  void tell(LockWord node, std::atomic<LockWord> LockNode::* part, LockWord value) const {
    const auto rank = static_cast<Rank>((node >> 32) - 1);
    if (space_.segments.is_near(rank))
      return runtime::tell(space_.segments.control(rank).nodes[node & 0xFFFFFFFF].*part, value);
    // The heads of all segments are alike.
    const Control& alike = space_.segments.control(space_.head.rank);
    const auto* const at = reinterpret_cast<const char*>(&(alike.nodes[node & 0xFFFFFFFF].*part));
    space_.far->store(rank, static_cast<std::uint64_t>(at - reinterpret_cast<const char*>(&alike)), value);
  }
  template <class F>
  void wait_until(const F& is_so) const {
    space_.wait_until(is_so);
  }

 private:
  [[nodiscard]] LockWord far(isthmus_atomic_operator operation, LockWord operand, LockWord expected) const {
    return space_.far->atomic(mutex_.rank, mutex_.offset, ISTHMUS_U64, operation, operand, expected);
  }

  isthmus_space& space_;
  isthmus_mutex mutex_;
  LockWord* near_;
};

bool same(isthmus_mutex a, isthmus_mutex b) { return a.rank == b.rank && a.offset == b.offset; }

std::vector<isthmus_space::Held>::iterator held_by(isthmus_space& space, isthmus_mutex mutex) {
  return std::find_if(space.held.begin(), space.held.end(),
                      [&](const isthmus_space::Held& one) { return same(one.mutex, mutex); });
}

int lock(isthmus_space& space, const char* call, isthmus_mutex mutex, bool may_wait) {
  space.outside(call);
  const Ways ways(space, call, mutex);
  require(held_by(space, mutex) == space.held.end() || !may_wait, call, ": rank ", space.head.rank,
          " has this lock already");
  const std::uint32_t number = space.free_node();
  const LockWord own = word_of(space.head.rank, number);
  space.held.push_back({mutex, number});  // from now on its node is in use, also where it waits in vain
  if (take_lock(ways, node_of(space, own), own, may_wait)) return ISTHMUS_DONE;
  space.held.pop_back();
  return ISTHMUS_IN_PROGRESS;
}

}  // namespace
}  // namespace isthmus::runtime

using namespace isthmus;
using namespace isthmus::runtime;

extern "C" {

int isthmus_mutex_make_all(isthmus_space* space, isthmus_mutex* mutex) {
  if (mutex == nullptr) return guarded([]() -> int { throw InvalidInput("mutex is NULL"); });
  *mutex = {};
  const int status = isthmus_allocate_all(space, sizeof(LockWord), &mutex->offset);
  if (status < 0) return status;
  return guarded_space(space, [&] {
    // Those of its node set it to 0, and nobody locks it before all have.
    if (const Ways ways(*space, "isthmus_mutex_make_all", *mutex); ways.is_near()) ways.clear();
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
    *mutex = {space->head.rank, space->allocate_local(sizeof(LockWord))};
    Ways(*space, "isthmus_mutex_make", *mutex).clear();
    return ISTHMUS_DONE;
  });
}

int isthmus_mutex_free(isthmus_space* space, isthmus_mutex mutex) {
  return guarded_space(space, [&] {
    space->outside("isthmus_mutex_free");
    require(Ways(*space, "isthmus_mutex_free", mutex).load() == 0, "isthmus_mutex_free: a rank has the lock");
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
    const LockWord own = word_of(space->head.rank, found->node);
    space->held.erase(found);
    leave_lock(Ways(*space, "isthmus_unlock", mutex), node_of(*space, own), own);
    return ISTHMUS_DONE;
  });
}

}  // extern "C"
