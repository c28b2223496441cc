// Blocks for all ranks that travel in several hops, in messages of those that have a digit in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/write/phases.hpp"

namespace isthmus::collectives {

/// Operations of one rank in an alltoall if all ranks do the same. Blocks have numbers, which stand for the way that
/// they have to go, and digits of any base each: in the phase of a digit the blocks where it is not 0 move on, those
/// with the same one in a message, in the order of their numbers, and as many come in their place from the other side.
///
/// Messages of a phase are exchanged when all of the phase before are. Blocks are sent from where they came in, or
/// packed; they stay there until their last hop and are then moved to their target. What has come in a message and goes
/// on in another is found by arithmetic, as there are as many blocks as ranks.
///
/// `From` and `To` give the place of a block at the start and that of the one which comes in its stead in the end. They
/// may have a function run(number, step): how many of the blocks number, number + step, ... lie equally far from each
/// other. What a rank does then takes as long as its messages and copies are many, not the blocks.
template <class From, class To>
class DigitExchange {
 public:
  DigitExchange(Emitter& out, std::uint64_t blocks, std::uint64_t bytes, From from, To to)
      : out_(out), blocks_(blocks), bytes_(bytes), from_(std::move(from)), to_(std::move(to)), phases_(out) {}

  /// Begins the phase of the next digit; digits are dealt with from the least significant one on.
  void phase(std::uint64_t base) {
    phases_.next();
    weight_ *= base_;
    base_ = base;
  }
  /// Exchanges the blocks with this digit, 1 to base - 1 in turn.
  void exchange(Rank to, Rank from, std::uint64_t digit) {
    const std::uint64_t first = digit * weight_;
    pieces_.clear();
    const std::uint64_t period = weight_ * base_;
    for (std::uint64_t begin = first; begin < blocks_;) {
      const std::uint64_t whole = begin + weight_ <= blocks_ ? (blocks_ - weight_ - begin) / period + 1 : 0;
      const std::uint64_t count = std::min(whole, run_of(from_, begin, period));
      if (count > 1) add_run(begin, count);
      else add(begin);
      begin += std::max<std::uint64_t>(count, 1) * period;
    }
    const auto [at, by] = phases_.exchange(pieces_, to, from, home(first) ? std::optional(to_(first)) : std::nullopt);
    messages_.push_back({first, weight_, base_, at, by});
  }
  /// Moves blocks to their targets.
  void finish() {
    pieces_.clear();
    move(from_(0), 0, no_operation);
    for (const Message& m : messages_) {
      const std::uint64_t end = std::min(m.first + m.weight, blocks_);
      for (std::uint64_t n = m.first; n < end;) {
        const Slice at = m.at + (n - m.first) * bytes_;
        const Slice target = to_(n);
        const std::uint64_t count = at.buffer == target.buffer ? 1 : std::min(end - n, run_of(to_, n, 1));
        if (count > 1) {
          pieces_.add_run(at, bytes_, m.by, target.offset, count, bytes_, to_(n + 1).offset - target.offset);
        } else {
          move(at, n, m.by);
        }
        n += count;
      }
    }
    pieces_.copy(out_, at_output());
  }

 private:
  /// Blocks came in one behind the other: those from `first` on whose digits beyond are 0, then those with the next
  /// number there.
  struct Message {
    std::uint64_t first;
    std::uint64_t weight;
    std::uint64_t base;
    Slice at;
    std::uint32_t by;
  };

  /// The blocks from `begin` on, whose digits so far are 0 there, up to the next value of this digit.
  void add(std::uint64_t begin) {
    const std::uint64_t end = std::min(begin + weight_, blocks_);
    pieces_.add(from_(begin), bytes_, no_operation);
    for (const Message& m : messages_) {
      if (m.weight == weight_ || begin + m.first >= end) break;
      const std::uint64_t count = std::min(m.weight, end - begin - m.first);
      const std::uint64_t before = begin / (m.weight * m.base) * m.weight;
      pieces_.add(m.at + before * bytes_, count * bytes_, m.by);
    }
  }
  /// Adds this many values of this digit, each a period behind the one before.
  void add_run(std::uint64_t begin, std::uint64_t count) {
    const std::uint64_t period = weight_ * base_;
    const std::uint64_t to = pieces_.bytes();
    const Slice at = from_(begin);
    pieces_.add_run(at, bytes_, no_operation, to, count, from_(begin + period).offset - at.offset, weight_ * bytes_);
    for (const Message& m : messages_) {
      if (m.weight == weight_) break;
      const std::uint64_t before = begin / (m.weight * m.base) * m.weight;
      const std::uint64_t further = period / (m.weight * m.base) * m.weight;
      pieces_.add_run(m.at + before * bytes_, m.weight * bytes_, m.by, to + m.first * bytes_, count, further * bytes_,
                      weight_ * bytes_);
    }
  }
  template <class Places>
  static std::uint64_t run_of(const Places& places, std::uint64_t number, std::uint64_t step) {
    if constexpr (requires { places.run(number, step); }) return places.run(number, step);
    else return 1;
  }
  /// Do the blocks of a message end here, one behind the other?
  [[nodiscard]] bool home(std::uint64_t first) const {
    if (first + weight_ * base_ < blocks_) return false;
    std::uint64_t next = to_(first).offset;
    for (std::uint64_t n = first; n < std::min(first + weight_, blocks_); ++n, next += bytes_) {
      if (to_(n).offset != next) return false;
    }
    return true;
  }
  void move(Slice at, std::uint64_t number, std::uint32_t by) {
    const Slice target = to_(number);
    if (at.buffer != target.buffer || at.offset != target.offset) pieces_.add(at, bytes_, by, target.offset);
  }

  Emitter& out_;
  std::uint64_t blocks_;
  std::uint64_t bytes_;
  From from_;
  To to_;
  std::uint64_t weight_ = 1;
  std::uint64_t base_ = 1;
  std::vector<Message> messages_;  // in the order of their first blocks
  CopyList pieces_;
  Phases phases_;
};

}  // namespace isthmus::collectives
