// The queue of coming events, in the order (time, sequence number): a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan,
// "Faster algorithms for the shortest path problem", 1990). Simulated time never goes back, so an event moves through at
// most 64 buckets, each move a sequential copy; events of the same time stay in the order in which they came.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/assert.hpp"

namespace isthmus {

/// What is to happen.
enum class EventType : std::uint8_t {
  operation,    ///< an operation may start
  message,      ///< the message of the send `op` of rank `source` arrives
  wake,         ///< a resource (in `rank`) with waiting events becomes free
  matched,      ///< a receive that was posted ahead is done (in `op`: which, see Engine::Pending)
  put_arrives,  ///< bytes of a put of rank `source` at the target's interface
  put_done,
  get_asks,     ///< request of a get of rank `source` at the target's interface
  get_arrives,  ///< bytes of a get at the interface of the rank that asked for them
  get_done,
};

struct Event {
  std::int64_t time;    ///< picoseconds
  std::uint64_t order;  ///< sequence number and, in the lowest bits, the type
  std::uint32_t rank;    ///< where it happens
  std::uint32_t source;  ///< whose operation it is
  std::uint64_t op;      ///< index into Schedule::ops

  static constexpr int type_bits = 4;
  [[nodiscard]] EventType type() const { return static_cast<EventType>(order & ((1U << type_bits) - 1)); }
  [[nodiscard]] std::uint64_t sequence() const { return order >> type_bits; }
  static std::uint64_t make_order(std::uint64_t sequence, EventType type) {
    return sequence << type_bits | static_cast<std::uint8_t>(type);
  }
};
static_assert(sizeof(Event) == 32);

class EventQueue {
 public:
  /// A new event, with a sequence number above all before; its time is not before that of the last event popped.
  void push(const Event& event) {
    ISTHMUS_ASSERT(event.time >= now_);
    const int bucket = bucket_of(event.time);
    buckets_[bucket].push_back(event);
    filled_ |= std::uint64_t{1} << bucket;
  }
  /// An event with an old sequence number.
  void push_again(const Event& event) {
    if (event.time == now_) {
      early_.push(event);
    } else {
      push(event);
      disordered_ = true;
    }
  }

  /// Takes the next event; false when there is none.
  bool pop(Event& event) {
    if (head_ == buckets_[0].size()) {
      if (!early_.empty()) return pop_early(event);
      if (!refill()) return false;
    } else if (!early_.empty() && early_.top().order < buckets_[0][head_].order) {
      return pop_early(event);
    }
    event = buckets_[0][head_++];
    return true;
  }

  /// The event that comes `ahead` places later unless something intervenes, or nullptr: for prefetching.
  [[nodiscard]] const Event* peek(std::size_t ahead) const {
    return head_ + ahead < buckets_[0].size() ? &buckets_[0][head_ + ahead] : nullptr;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return a.order > b.order; }
  };

  [[nodiscard]] int bucket_of(std::int64_t time) const {
    return std::bit_width(static_cast<std::uint64_t>(time ^ now_));
  }

  bool pop_early(Event& event) {
    event = early_.top();
    early_.pop();
    return true;
  }

  /// Moves the events of the next time into bucket 0.
  bool refill() {
    buckets_[0].clear();
    head_ = 0;
    filled_ &= ~std::uint64_t{1};
    if (filled_ == 0) return false;
    const int lowest = std::countr_zero(filled_);
    filled_ &= filled_ - 1;
    std::vector<Event>& from = buckets_[lowest];
    now_ = from[0].time;
    for (const Event& e : from) now_ = std::min(now_, e.time);
    if (lowest == 1 || from.size() == 1) {
      // All events of bucket 1 have the same time.
      buckets_[0].swap(from);
    } else {
      for (const Event& e : from) {
        const int bucket = bucket_of(e.time);
        buckets_[bucket].push_back(e);
        filled_ |= std::uint64_t{1} << bucket;
      }
      from.clear();
      if (from.capacity() > keep) std::vector<Event>().swap(from);
    }
    filled_ |= 1;
    if (disordered_) restore_order();
    return true;
  }

  void restore_order() {
    auto& events = buckets_[0];
    const auto before = [](const Event& a, const Event& b) { return a.order < b.order; };
    if (!std::is_sorted(events.begin(), events.end(), before)) std::sort(events.begin(), events.end(), before);
  }

  /// Buckets that held more events than this give their memory back when they have been emptied.
  static constexpr std::size_t keep = 1 << 16;

  std::int64_t now_ = 0;
  std::vector<Event> buckets_[64];  // [b]: times that differ from now_ in bit b - 1 and in no higher one
  std::uint64_t filled_ = 0;        // bit b: bucket b holds events
  std::size_t head_ = 0;            // in bucket 0
  std::priority_queue<Event, std::vector<Event>, Later> early_;  // of this very time, with old sequence numbers
  bool disordered_ = false;
};

}  // namespace isthmus
