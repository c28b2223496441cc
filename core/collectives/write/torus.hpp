// Ranks on a torus.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schedule/collective.hpp"

namespace isthmus::collectives {
using namespace schedule;

/// Extents of the torus over which the ranks of a call lie, the last varying fastest.
struct TorusPlan : Plan {
  std::vector<Rank> dims;
};

/// The extents of the options; without, as equal ones as there are, `count` of them. Throws InvalidInput where they do
/// not hold as many places as there are ranks.
std::shared_ptr<const TorusPlan> plan_torus(const CollectiveCall& call, std::size_t count);

inline const TorusPlan& torus_of(const CollectiveCall& call) { return static_cast<const TorusPlan&>(*call.plan); }

/// The rank so many steps further on along a dimension, whose places are `stride` apart.
inline Rank along(Rank rank, std::uint64_t stride, std::uint64_t extent, std::uint64_t steps) {
  const std::uint64_t at = rank / stride % extent;
  const std::uint64_t to = at + steps < extent ? at + steps : at + steps - extent;
  return static_cast<Rank>(rank + to * stride - at * stride);
}

}  // namespace isthmus::collectives
