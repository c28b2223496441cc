// Where the time of every rank goes.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/prefetch.hpp"
#include "simulate/model/result.hpp"

namespace isthmus::simulate {

/// Sums by rank and Share; with `on` false, nothing at all.
template <bool on>
class Breakdown {
 public:
  explicit Breakdown(Rank ranks) : sums_(on ? std::size_t{ranks} * shares : 0) {}

  void prefetch(Rank rank) const {
    if constexpr (on) {
      const Picoseconds* first = sums_.data() + std::size_t{rank} * shares;
      prefetch_line(first);
      prefetch_line(first + shares - 1);
    }
  }
  void add(Rank rank, Share share, Picoseconds time) {
    if constexpr (on) sums_[std::size_t{rank} * shares + static_cast<std::size_t>(share)] += time;
  }
  /// The stream was idle from `from` until `now` before an operation of its own, when neither the interface nor last
  /// bytes kept it, for `rest`.
  void idle_before_op(Rank rank, Picoseconds from, Picoseconds now, Picoseconds interface_free, Share rest) {
    if constexpr (on) {
      from = told(rank, from);
      if (from >= now) return;
      Picoseconds until = std::clamp(interface_free, from, now);
      add(rank, Share::gap, until - from);
      if (!tails_.empty()) {
        const Picoseconds tail = std::clamp(tails_[rank], until, now);
        add(rank, Share::contention, tail - until);
        until = tail;
      }
      add(rank, rest, now - until);
    }
  }
  /// The stream was idle from `from` until `now`, when it handles a message that was sent and arrived at these times.
  void idle_before_message(Rank rank, Picoseconds from, Picoseconds now, Picoseconds sent, Picoseconds arrived) {
    if constexpr (on) {
      from = told(rank, from);
      if (from >= now) return;
      const Picoseconds sender = std::clamp(sent, from, now);
      const Picoseconds wire = std::clamp(arrived, sender, now);
      add(rank, Share::late_sender, sender - from);
      add(rank, Share::latency, wire - sender);
      add(rank, Share::gap, now - wire);
    }
  }
  /// The same, when the message has waited for an interface that other ranks use too: told now, as later nobody will
  /// know when it came.
  void idle_at_interface(Rank rank, Picoseconds from, Picoseconds now, Picoseconds sent, Picoseconds arrived) {
    if constexpr (on) {
      if (from >= now) return;
      idle_before_message(rank, from, now, sent, arrived);
      if (told_.empty()) told_.resize(sums_.size() / shares);
      told_[rank] = now;
    }
  }
  /// The stream of a sender by rendezvous was idle from `from` until `now`, when its message was matched.
  void late_receiver(Rank rank, Picoseconds from, Picoseconds now, Picoseconds arrived) {
    if constexpr (on) {
      from = told(rank, from);
      if (from >= now) return;
      const Picoseconds wire = std::clamp(arrived, from, now);
      add(rank, Share::latency, wire - from);
      add(rank, Share::late_receiver, now - wire);
    }
  }
  /// The last byte of a message that the rank has taken arrives at this time, late because of other messages.
  void contended_until(Rank rank, Picoseconds tail) {
    if constexpr (on) {
      if (tails_.empty()) tails_.resize(sums_.size() / shares);
      tails_[rank] = std::max(tails_[rank], tail);
    }
  }
  /// The rest of `all`, the time of the rank's streams together.
  void idle_rest(Rank rank, Picoseconds all) {
    if constexpr (on) {
      for (int i = 0; i < shares; ++i) all -= sums_[std::size_t{rank} * shares + static_cast<std::size_t>(i)];
      add(rank, Share::idle, all);
    }
  }
  /// When the last byte that the rank waits for arrives.
  [[nodiscard]] Picoseconds tail(Rank rank) const { return tails_.empty() ? 0 : tails_[rank]; }
  /// From when on idle time since `from` has not been counted yet.
  [[nodiscard]] Picoseconds told(Rank rank, Picoseconds from) const {
    return told_.empty() ? from : std::max(from, told_[rank]);
  }
  [[nodiscard]] const std::vector<Picoseconds>& sums() const { return sums_; }
  std::vector<Picoseconds> take() { return std::move(sums_); }

 private:
  std::vector<Picoseconds> sums_;   // ranks x shares
  std::vector<Picoseconds> tails_;  // of every rank, or empty
  std::vector<Picoseconds> told_;   // of every rank: until when idle time has been counted; or empty
};

}  // namespace isthmus::simulate
