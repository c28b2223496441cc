// Any number of ranks on a power of two of places.
#pragma once

#include <bit>
#include <cstdint>

#include "collectives/write/rounds.hpp"

namespace isthmus::collectives {

/// The ranks that exchange. Of the first 2 * excess ranks, the even ones hand over to the odd one above them; what
/// is left is a power of two of places.
struct PowerOfTwo {
  PowerOfTwo(Rank rank, Rank ranks)
      : places(std::bit_floor(ranks)),
        excess(ranks - places),
        paired(rank < 2 * std::uint64_t{excess}),
        outside(paired && rank % 2 == 0),
        place(paired ? rank / 2 : rank - excess) {}

  /// The rank that takes over from a member outside, or hands over to a paired one; `me`: the member's own number.
  [[nodiscard]] Rank neighbour(Rank me) const { return outside ? me + 1 : paired ? me - 1 : me; }
  /// The rank in a place.
  [[nodiscard]] Rank rank(std::uint32_t p) const { return p < excess ? 2 * p + 1 : p + excess; }
  /// The first rank whose part a place holds; the parts of neighbouring places are neighbours.
  [[nodiscard]] std::uint64_t first(std::uint64_t p) const { return p < excess ? 2 * p : p + excess; }

  std::uint32_t places;
  std::uint32_t excess;
  bool paired;
  bool outside;
  std::uint32_t place;
};

/// The side on which what comes from another place is added, so that the order of ranks is kept.
inline ReduceOrder order_from(std::uint64_t place, std::uint64_t me) {
  return place < me ? ReduceOrder::before : ReduceOrder::after;
}

}  // namespace isthmus::collectives
