// Maps for networks of groups: few hops, and no pair of groups that must carry much more than the others.
#pragma once

#include <cstdint>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

struct GroupedOptions {
  double seconds = 10;  ///< processor time by counted steps, see effort.hpp
  double limit = 2.4;   ///< most bytes between two groups, in the mean over all pairs of groups of a good start
  std::uint64_t seed = 0;
  Map start = {};  ///< of dual_bipartition(), where it was made before
};

/// On a dragonfly all maps that keep partners together have nearly the same hop-bytes, and a few global links with five
/// times the mean load. The dual recursive bipartition is annealed with a price on what two groups exchange beyond the
/// limit. Where there are no groups, only with hop-bytes.
Map grouped(const TaskGraph& graph, const Target& target, const GroupedOptions& options);

}  // namespace isthmus::mapping
