// A queue of small events in the order of their times, and of their coming where times are equal: the radix heap of
// event_queue.hpp without events that come back. The last few buckets are sorted at once instead, so that the events to
// come are known some time ahead and their data can be fetched.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/assert.hpp"

namespace isthmus::simulate {

/// `E` has a member `std::int64_t time`, not negative.
template <class E>
class TimeQueue {
 public:
  static constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::max();

  /// A new event, not before the one popped last.
  void push(const E& event) {
    const int b = std::bit_width(static_cast<std::uint64_t>(event.time ^ now_));
    if (b <= sorted_bits_) insert(event);
    else push_to(b, event);
  }
  /// When the next event comes; nothing if there is none.
  [[nodiscard]] std::int64_t next() const {
    if (head_ < current_.size()) return current_[head_].time;
    return filled_ == 0 ? nothing : buckets_[std::countr_zero(filled_)].least;
  }
  /// Takes the next event, which there must be. `soon(event)` is told every event some time before it comes.
  template <class Soon>
  E pop(Soon&& soon) {
    if (head_ == current_.size()) refill(soon);
    return current_[head_++];
  }
  /// The event that comes `ahead` places later unless something intervenes, or nullptr: for prefetching.
  [[nodiscard]] const E* peek(std::size_t ahead) const {
    return head_ + ahead < current_.size() ? &current_[head_ + ahead] : nullptr;
  }

 private:
  struct Bucket {
    std::int64_t least = 0;
    std::vector<E> events;
  };

  void push_to(int b, const E& event) {
    Bucket& bucket = buckets_[b];
    const std::uint64_t bit = std::uint64_t{1} << b;
    if ((filled_ & bit) == 0) {
      filled_ |= bit;
      bucket.least = event.time;
    } else if (event.time < bucket.least) {
      bucket.least = event.time;
    }
    bucket.events.push_back(event);
  }

  void insert(const E& event) {
    ISTHMUS_ASSERT(head_ == 0 || event.time >= current_[head_ - 1].time);
    std::size_t at = current_.size();
    current_.push_back(event);
    for (; at > head_ && current_[at - 1].time > event.time; --at) current_[at] = current_[at - 1];
    current_[at] = event;
    if (at + 1 < current_.size() && current_.size() - head_ > longest) spread();
  }
  /// Too many to be kept in order: back to buckets, but for those of the next time.
  void spread() {
    std::vector<E> rest(current_.begin() + static_cast<std::ptrdiff_t>(head_), current_.end());
    // Something of the time that has been reached may still come.
    if (head_ > 0) now_ = current_[head_ - 1].time;
    current_.clear();
    head_ = 0;
    sorted_bits_ = 0;
    for (const E& e : rest) push(e);
  }

  template <class Soon>
  void refill(Soon&& soon) {
    current_.clear();
    head_ = 0;
    Bucket& from = buckets_[std::countr_zero(filled_)];
    filled_ &= filled_ - 1;
    now_ = from.least;
    current_.swap(from.events);
    if (current_.size() <= few) {
      sort();
      sorted_bits_ = std::bit_width(static_cast<std::uint64_t>(now_ ^ current_.back().time));
      for (const E& e : current_) soon(e);
      return;
    }
    // Events of a later time go to nearer buckets.
    sorted_bits_ = 0;
    std::size_t kept = 0;
    for (const E& e : current_) {
      if (e.time == now_) current_[kept++] = e;
      else push_to(std::bit_width(static_cast<std::uint64_t>(e.time ^ now_)), e);
    }
    current_.resize(kept);
    if (from.events.capacity() > keep) std::vector<E>().swap(from.events);
  }
  void sort() {
    for (std::size_t i = 1; i < current_.size(); ++i) {
      const E e = current_[i];
      std::size_t at = i;
      for (; at > 0 && current_[at - 1].time > e.time; --at) current_[at] = current_[at - 1];
      current_[at] = e;
    }
  }

  static constexpr std::size_t few = 48;        // sorted by insertion
  static constexpr std::size_t longest = 256;   // kept sorted by insertion
  static constexpr std::size_t keep = 1 << 16;  // buckets with room for more events than this give it back

  std::int64_t now_ = 0;      // not after any event
  Bucket buckets_[64];        // [b]: times that differ from now_ in bit b - 1 and in no higher one
  std::uint64_t filled_ = 0;  // bit b: bucket b holds events
  std::vector<E> current_;    // sorted, from head_ on: all whose times differ from now_ in the lowest bits only
  std::size_t head_ = 0;
  int sorted_bits_ = 0;  // how many
};

}  // namespace isthmus::simulate
