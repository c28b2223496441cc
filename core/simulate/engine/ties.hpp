// Does a result depend on the order of simultaneous events of different ranks?
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulate/engine/event_queue.hpp"

namespace isthmus::simulate {

/// Watches what concerns every rank, or its interface. Events of one rank at one time are told apart by their sequence
/// numbers; if two of them were put into the queue at the same time by different ranks, these numbers follow from the
/// numbering of the ranks and not from what the ranks do.
class Ties {
 public:
  void watch(std::size_t ranks) { seen_.resize(ranks); }
  [[nodiscard]] bool found() const { return found_; }

  /// It is `time` now; sequence numbers from `next` on are given out later than those before.
  void now(std::int64_t time, std::uint64_t next) {
    if (time == time_ && !epochs_.empty()) return;
    time_ = time;
    if (epochs_.empty() || epochs_.back() != next) epochs_.push_back(next);
  }
  /// The event is looked at; it concerns `where`.
  void look(const Event& event, std::uint32_t where) {
    const bool foreign = is_foreign(event);
    Seen& seen = at(where);
    for (const One& other : seen.events)
      if (other.sequence != event.sequence() && (foreign || other.foreign)) compare(other.sequence, event.sequence());
    if (seen.touched) found_ = true;
    seen.events.push_back({event.sequence(), foreign});
  }
  /// The rank's state is changed by another one (rendezvous).
  void touch(std::uint32_t rank) {
    Seen& seen = at(rank);
    if (!seen.events.empty() || seen.touched) found_ = true;
    seen.touched = true;
  }
  /// One of two events that wait for the same resource goes first.
  void choose(const Event& a, const Event& b) {
    if (is_foreign(a) || is_foreign(b)) compare(a.sequence(), b.sequence());
  }
  /// While the event with this number happens, a receive is posted or a send stands aside: operation `op`.
  void place(std::uint64_t op, std::uint64_t sequence) { places_[op] = {time_, sequence}; }
  /// And now the send or receive that belongs to it comes.
  void meet_place(std::uint64_t op, std::uint64_t sequence) {
    const auto found = places_.find(op);
    if (found == places_.end()) return;
    if (found->second.first == time_) compare(found->second.second, sequence);
    places_.erase(found);
  }
  void compare(std::uint64_t a, std::uint64_t b) { found_ = found_ || epoch(a) == epoch(b); }

 private:
  /// Does it come from another rank?
  static bool is_foreign(const Event& e) {
    return e.type() == EventType::message || e.type() == EventType::landed ||
           (e.type() == EventType::operation && e.called());
  }
  struct One {
    std::uint64_t sequence;
    bool foreign;
  };
  struct Seen {
    std::int64_t time = -1;
    bool touched = false;
    std::vector<One> events;
  };
  Seen& at(std::uint32_t rank) {
    Seen& seen = seen_[rank];
    if (seen.time != time_) {
      seen.time = time_;
      seen.touched = false;
      seen.events.clear();
    }
    return seen;
  }
  [[nodiscard]] std::ptrdiff_t epoch(std::uint64_t sequence) const {
    return std::upper_bound(epochs_.begin(), epochs_.end(), sequence) - epochs_.begin();
  }
  std::int64_t time_ = -1;
  std::vector<Seen> seen_;
  std::vector<std::uint64_t> epochs_;
  std::unordered_map<std::uint64_t, std::pair<std::int64_t, std::uint64_t>>
      places_;  // of operations: when, and by what
  bool found_ = false;
};

}  // namespace isthmus::simulate
