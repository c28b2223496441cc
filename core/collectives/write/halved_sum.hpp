// The sum of a reduce_scatter of which ranks give away one half after the other.
#pragma once

#include <cstdint>

#include "collectives/write/rounds.hpp"

namespace isthmus::collectives {

/// The bytes of a vector that a rank gives away or keeps.
struct Kept {
  std::uint64_t begin;
  std::uint64_t end;
  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

/// A reduce_scatter's sum on one rank: the input to begin with, then scratch laid out like it. What comes in first goes
/// to its place there, so that the input is only read.
class HalvedSum {
 public:
  HalvedSum(Rounds& rounds, const CollectiveCall& call) : rounds_(rounds), all_(Blocks(call).all()) {}
  [[nodiscard]] Slice now(std::uint64_t offset) const { return begun_ ? at_scratch(offset) : at_input(offset); }

  /// Gives away one part of the sum for the other part of another's. `last`: the kept part is the result.
  void exchange(Rank peer, Kept given, Kept kept, ReduceOrder order, bool last = false) {
    rounds_.send(peer, given.bytes(), now(given.begin));
    take(peer, kept, order, last);
  }
  void take(Rank peer, Kept kept, ReduceOrder order, bool last = false) {
    const Slice sum = now(kept.begin);
    const Slice target = last ? at_output() : at_scratch(kept.begin);
    const bool aside = begun_ && !last;
    rounds_.recv(peer, kept.bytes(), aside ? at_scratch(all_) : target);
    if (aside) {
      rounds_.reduce(kept.bytes(), at_scratch(all_), target, order);
    } else {
      rounds_.reduce(kept.bytes(), sum, target, order == ReduceOrder::after ? ReduceOrder::before : ReduceOrder::after);
    }
    begun_ = true;
  }

 private:
  Rounds& rounds_;
  std::uint64_t all_;
  bool begun_ = false;
};

}  // namespace isthmus::collectives
