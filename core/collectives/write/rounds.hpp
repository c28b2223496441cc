// Building blocks of collective algorithms: rounds of operations, ranks around a circle, blocks of bytes.
#pragma once

#include <cstdint>

#include "schedule/collective.hpp"

namespace isthmus::collectives {
using namespace schedule;

/// Operations in rounds, as code with blocking calls has them: those of one round are posted together, in their order,
/// when all of the round before are done. One buffer for what comes in is then enough, as in MPI implementations.
class Rounds {
 public:
  explicit Rounds(Emitter& out) : out_(out) {}
  void send(Rank to, std::uint64_t bytes, Slice from = {}) { post(out_.send(to, bytes, from)); }
  void recv(Rank from, std::uint64_t bytes, Slice to = {}) { post(out_.recv(from, bytes, to)); }
  /// Ends the round and is a round of its own; of 0 bytes it only ends the round.
  void reduce(std::uint64_t bytes, Slice from = {}, Slice to = {}, ReduceOrder order = ReduceOrder::after) {
    next();
    if (bytes != 0) post(out_.reduce(bytes, from, to, order));
    next();
  }
  void copy(std::uint64_t bytes, Slice from = {}, Slice to = {}) {
    next();
    if (bytes != 0) post(out_.copy(bytes, from, to));
    next();
  }
  /// Several in one round, of parts of memory that do not meet; of 0 bytes nothing.
  void reduce_too(std::uint64_t bytes, Slice from, Slice to, ReduceOrder order = ReduceOrder::after) {
    if (bytes != 0) post(out_.reduce(bytes, from, to, order));
  }
  void copy_too(std::uint64_t bytes, Slice from, Slice to) {
    if (bytes != 0) post(out_.copy(bytes, from, to));
  }
  /// Ends the round; nothing where it is empty.
  void next() {
    if (first_ == end_) return;
    before_first_ = first_;
    before_end_ = end_;
    first_ = end_;
  }

 private:
  // Emitters number consecutively, so that a round is a range.
  void post(std::uint32_t op) {
    if (first_ == end_) first_ = op;
    end_ = op + 1;
    out_.require(op, before_first_, before_end_);
  }

  Emitter& out_;
  std::uint32_t before_first_ = 0;  // the round before: [before_first_, before_end_)
  std::uint32_t before_end_ = 0;
  std::uint32_t first_ = 0;  // this round: [first_, end_)
  std::uint32_t end_ = 0;
};

/// The rank `steps` <= ranks places up or down the circle of all ranks, seen from the caller's. No division: schedules
/// have tens of millions of these.
inline Rank above(const CollectiveCall& call, std::uint64_t steps) {
  const std::uint64_t at = std::uint64_t{call.rank} + steps;
  return static_cast<Rank>(at < call.ranks ? at : at - call.ranks);
}
inline Rank below(const CollectiveCall& call, std::uint64_t steps) {
  return static_cast<Rank>(call.rank >= steps ? call.rank - steps : std::uint64_t{call.rank} + call.ranks - steps);
}

/// The circle of ranks with the root in place 0.
class FromRoot {
 public:
  explicit FromRoot(const CollectiveCall& call, Rank root) : ranks_(call.ranks), root_(root), me_(below(call, root)) {}
  [[nodiscard]] std::uint64_t me() const { return me_; }
  Rank operator()(std::uint64_t place) const {
    const std::uint64_t at = place + root_;
    return static_cast<Rank>(at < ranks_ ? at : at - ranks_);
  }

 private:
  std::uint64_t ranks_;
  std::uint64_t root_;
  std::uint64_t me_;
};

/// Bytes of every rank's block and where it begins when all follow each other: the counts of the call, or equal ones.
class Blocks {
 public:
  explicit Blocks(const CollectiveCall& call) : call_(call) {}
  std::uint64_t operator()(std::uint64_t rank) const {
    return call_.counts.empty() ? call_.bytes : static_cast<std::uint64_t>(call_.counts[rank]);
  }
  /// Where the block of `rank` <= ranks begins.
  [[nodiscard]] std::uint64_t offset(std::uint64_t rank) const {
    return call_.counts.empty() ? rank * call_.bytes : call_.offsets[rank];
  }
  /// Bytes of `count` blocks around the circle, from the block of `first`.
  [[nodiscard]] std::uint64_t sum(std::uint64_t first, std::uint64_t count) const {
    if (call_.counts.empty()) return count * call_.bytes;
    if (first >= call_.ranks) first -= call_.ranks;
    const std::uint64_t end = first + count;
    if (end <= call_.ranks) return offset(end) - offset(first);
    return all() - offset(first) + offset(end - call_.ranks);
  }
  [[nodiscard]] std::uint64_t all() const { return offset(call_.ranks); }

 private:
  const CollectiveCall& call_;
};

}  // namespace isthmus::collectives
