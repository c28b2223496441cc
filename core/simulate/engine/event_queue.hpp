// The queue of coming events, in the order (time, sequence number): a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan,
// "Faster algorithms for the shortest path problem", 1990). Simulated time never goes back, so an event moves through
// at most 64 buckets, each move a sequential copy; events of the same time stay in the order in which they came.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <queue>
#include <vector>

#include "base/assert.hpp"

namespace isthmus::simulate {

/// Kinds of events.
enum class EventType : std::uint8_t {
  operation,    ///< an operation may start
  message,      ///< the head of the send's message arrives
  landed,       ///< so much of it is there that the receiver's CPU can handle it
  wake,         ///< a resource (in `rank`) with waiting events becomes free
  matched,      ///< a receive that was posted ahead is done (in `what`: which, see Engine::later_)
  put_arrives,  ///< bytes of a put at the target's interface
  put_done,
  get_asks,     ///< request of a get at the target's interface
  get_arrives,  ///< bytes of a get at the interface of the rank that asked for them
  get_done,
  network,  ///< something happens in the network
};

struct Event {
  std::int64_t time;    ///< picoseconds
  std::uint64_t order;  ///< sequence number and, in the lowest bits, the type
  std::uint32_t rank;   ///< where it happens
  std::uint32_t other;  ///< of an operation its peer; of a message, put or get the rank whose operation it is
  std::uint64_t what;   ///< index into Schedule::ops; above it the kind of operation (see OperationTable), two bits

  static constexpr int type_bits = 4;
  static constexpr int op_bits = 48;
  static constexpr std::uint64_t leading_bit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t called_bit = std::uint64_t{1} << 62;
  [[nodiscard]] EventType type() const { return static_cast<EventType>(order & ((1U << type_bits) - 1)); }
  [[nodiscard]] std::uint64_t sequence() const { return order >> type_bits; }
  [[nodiscard]] std::uint64_t op() const { return what & ((std::uint64_t{1} << op_bits) - 1); }
  /// Does it wait at a resource on behalf of those behind it (see Resources)?
  [[nodiscard]] bool leading() const { return (what & leading_bit) != 0; }
  void lead() { what |= leading_bit; }
  /// Is it a send that has stood aside until its receive was posted (see Engine::stands_aside)?
  [[nodiscard]] bool called() const { return (what & called_bit) != 0; }
  /// `what` for an event that follows from this one.
  [[nodiscard]] std::uint64_t subject() const { return what & ~(leading_bit | called_bit); }
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
    const int b = bucket_of(event.time);
    Bucket& bucket = buckets_[b];
    const std::uint64_t bit = std::uint64_t{1} << b;
    if ((filled_ & bit) == 0) {
      filled_ |= bit;
      bucket.least = event.time;
      bucket.mixed = false;
    } else if (event.time != bucket.least) {
      bucket.mixed = true;
      if (event.time < bucket.least) bucket.least = event.time;
    }
    bucket.events.push_back(event);
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
    if (head_ == current_.size()) {
      // New events of this very time come before the next time, and among them those with old numbers.
      if (!early_.empty() && (filled_ & 1) == 0) return pop_early(event);
      if (!refill()) return false;
    }
    if (!early_.empty() && early_.top().order < current_[head_].order) return pop_early(event);
    event = current_[head_++];
    return true;
  }

  /// The event that comes `ahead` places later unless something intervenes, or nullptr: for prefetching.
  [[nodiscard]] const Event* peek(std::size_t ahead) const {
    return head_ + ahead < current_.size() ? &current_[head_ + ahead] : nullptr;
  }
  /// Calls visit(event) for every event that is to come, in no particular order.
  template <class Visitor>
  void visit(Visitor&& visitor) const {
    for (std::size_t i = head_; i < current_.size(); ++i) visitor(current_[i]);
    for (int b = 0; b < 64; ++b)
      if ((filled_ >> b & 1) != 0)
        for (const Event& e : buckets_[b].events) visitor(e);
    for (auto early = early_; !early.empty(); early.pop()) visitor(early.top());
  }

 private:
  using Events = std::vector<Event>;
  struct Bucket {
    std::int64_t least = 0;
    bool mixed = false;  // events of several times
    Events events;
  };
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

  /// Makes the events of the next time the current ones.
  bool refill() {
    current_.clear();
    head_ = 0;
    // Events of this very time that came meanwhile.
    if ((filled_ & 1) != 0) {
      current_.swap(buckets_[0].events);
      filled_ &= ~std::uint64_t{1};
      return true;
    }
    if (filled_ == 0) return false;
    Bucket& from = buckets_[std::countr_zero(filled_)];
    filled_ &= filled_ - 1;
    now_ = from.least;
    if (!from.mixed) {
      current_.swap(from.events);
    } else {
      for (const Event& e : from.events) {
        if (e.time == now_) current_.push_back(e);
        else push(e);
      }
      from.events.clear();
      if (from.events.capacity() > keep) Events().swap(from.events);
    }
    if (disordered_) restore_order();
    return true;
  }

  void restore_order() {
    const auto before = [](const Event& a, const Event& b) { return a.order < b.order; };
    if (!std::is_sorted(current_.begin(), current_.end(), before)) std::sort(current_.begin(), current_.end(), before);
  }

  /// Buckets that held more events than this give their memory back when they have been emptied.
  static constexpr std::size_t keep = 1 << 16;

  std::int64_t now_ = 0;
  Bucket buckets_[64];        // [b]: times that differ from now_ in bit b - 1 and in no higher one; [0]: now
  std::uint64_t filled_ = 0;  // bit b: bucket b holds events
  Events current_;            // of now_, from head_ on
  std::size_t head_ = 0;
  std::priority_queue<Event, Events, Later> early_;  // of now_, with old sequence numbers
  bool disordered_ = false;
};

}  // namespace isthmus::simulate
