// Which process of a job becomes which rank of a new communicator, so that ranks that exchange much are close.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/places/places.hpp"

namespace isthmus::runtime {

struct Order {
  std::vector<std::uint32_t> rank;  ///< the new rank of every member; the members' own order where none is better
  double before = 0;                ///< hop-bytes of the members' own order
  double after = 0;                 ///< of this one
};

/// What new ranks exchange: from[i] with to[i]. Only the first `ranks` do.
struct Exchanges {
  std::uint32_t ranks = 0;
  std::vector<std::uint32_t> from, to;
  std::vector<double> bytes;
};

/// The best order found for members, which are ranks of the job in the order of their communicator. Fewer hop-bytes
/// than before, or the order as it was. `seconds` is the processor time of searches, counted in steps, so that the
/// result is the same on every computer; 0: a millisecond for each rank that exchanges, at most one second. Throws
/// InvalidInput for members that are repeated, no ranks of the job, or fewer than the exchanges need, and for bytes
/// below 0; Unsupported where the places do not say hops.
Order reorder(const Places& places, std::span<const std::uint32_t> members, const Exchanges& exchanges, double seconds);

}  // namespace isthmus::runtime
