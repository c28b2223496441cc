// Loads of places brought within limits.
#pragma once

#include <span>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

struct WithinLimits {
  Map map;
  double factor;  ///< of the limits that are kept: 1, or more where that could not be
};

/// Moves as few tasks as possible away from places beyond their limit: always the one that costs fewest hop-bytes for
/// its load, to a place near by that has room; where there is none, for a lighter task elsewhere; or packs places anew,
/// with those that have most room. Where the limits cannot be kept, the least factor of all of them that can is looked
/// for by halving.
WithinLimits enforce_limits(const TaskGraph& graph, const Target& target, std::span<const double> limit,
                            const Map& start);

}  // namespace isthmus::mapping
