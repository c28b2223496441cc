// The steps of a lock that is a queue of ranks, each of which waits at a place of its own (Mellor-Crummey and Scott,
// Algorithms for scalable synchronization on shared-memory multiprocessors, ACM TOCS 9(1), 1991). The word of a lock
// names the last in the queue.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/pgas/segments.hpp"

namespace isthmus::runtime {

/// Of a lock: 0 or the name of a node.
using LockWord = std::uint64_t;

// Where the memory is shared:
inline LockWord exchange(LockWord& word, LockWord next) {
  return std::atomic_ref<LockWord>(word).exchange(next, std::memory_order_acq_rel);
}
/// What was there; `next` is there now if that is equal to `expected`.
inline LockWord exchange_if(LockWord& word, LockWord expected, LockWord next) {
  std::atomic_ref<LockWord>(word).compare_exchange_strong(expected, next, std::memory_order_acq_rel);
  return expected;
}
inline void tell(std::atomic<LockWord>& part, LockWord value) { part.store(value, std::memory_order_release); }

/// Ways: exchange(next) and exchange_if(expected, next) of the word, tell(node, part, value) of any node, and
/// wait_until(). False: another rank has the lock, and this one does not wait.
template <class Ways>
bool take_lock(const Ways& ways, LockNode& node, LockWord own, bool may_wait) {
  node.next.store(0, std::memory_order_relaxed);
  node.waits.store(1, std::memory_order_relaxed);
  const LockWord before = may_wait ? ways.exchange(own) : ways.exchange_if(0, own);
  if (before == 0) return true;
  if (!may_wait) return false;
  ways.tell(before, &LockNode::next, own);
  ways.wait_until([&] { return node.waits.load(std::memory_order_acquire) == 0; });
  return true;
}

template <class Ways>
void leave_lock(const Ways& ways, LockNode& node, LockWord own) {
  LockWord next = node.next.load(std::memory_order_acquire);
  if (next == 0) {
    if (ways.exchange_if(own, 0) == own) return;
    // Another rank is just about to say that it waits.
    ways.wait_until([&] { return (next = node.next.load(std::memory_order_acquire)) != 0; });
  }
  ways.tell(next, &LockNode::waits, 0);
}

}  // namespace isthmus::runtime
