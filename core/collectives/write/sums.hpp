// A rank's vector while the vectors of others are added to it.
#pragma once

#include <cstdint>

#include "collectives/write/rounds.hpp"

namespace isthmus::collectives {

/// Where the vector of a rank is, where its sum grows and where vectors come in. Inputs are only read: where the sum is
/// not begun by the own vector, the first vector that comes in goes to the place of the sum and the own one is added
/// to it, so that nothing is copied.
class Sum {
 public:
  /// `result`: this rank's sum is the collective's result, in output; otherwise it grows in scratch.
  Sum(const CollectiveCall& call, bool result)
      : bytes_(call.bytes),
        begun_(result && call.in_place),
        own_(begun_ ? at_output() : at_input()),
        sum_(result ? at_output() : at_scratch()),
        room_(at_scratch(result ? 0 : call.bytes)) {}

  /// Has the sum the own vector?
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] Slice own() const { return own_; }
  [[nodiscard]] Slice sum() const { return sum_; }
  /// Scratch that the sum does not use.
  [[nodiscard]] Slice room() const { return room_; }
  /// The vector to send on.
  [[nodiscard]] Slice now() const { return begun_ ? sum_ : own_; }

  /// Where a vector has to come in to be added.
  [[nodiscard]] Slice incoming() const { return begun_ ? room_ : sum_; }

  /// Receives a vector and adds it, in rounds of their own. `order`: of what comes in, beside what is there.
  void take(Rounds& rounds, Rank from, ReduceOrder order = ReduceOrder::after) { take(rounds, from, order, 0, bytes_); }
  /// Receives and adds a part of the vector, which alone is used from then on.
  void take(Rounds& rounds, Rank from, ReduceOrder order, std::uint64_t offset, std::uint64_t bytes) {
    rounds.recv(from, bytes, incoming() + offset);
    rounds.next();
    add_too(rounds, offset, bytes, order);
    rounds.next();
    begin();
  }
  /// Adds a part that has come in; begin() once the first ones are added.
  void add_too(Rounds& rounds, std::uint64_t offset, std::uint64_t bytes, ReduceOrder order) const {
    if (begun_) {
      rounds.reduce_too(bytes, room_ + offset, sum_ + offset, order);
    } else {
      rounds.reduce_too(bytes, own_ + offset, sum_ + offset,
                        order == ReduceOrder::after ? ReduceOrder::before : ReduceOrder::after);
    }
  }
  void begin() { begun_ = true; }
  /// Moves the own vector to the place of the result if nothing came.
  void finish(Rounds& rounds) {
    if (!begun_ && sum_.buffer == output_buffer) rounds.copy(bytes_, own_, sum_);
    begun_ = true;
  }

 private:
  std::uint64_t bytes_;
  bool begun_;
  Slice own_;
  Slice sum_;
  Slice room_;
};

}  // namespace isthmus::collectives
