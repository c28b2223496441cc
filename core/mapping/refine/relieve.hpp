// Less load on the hottest links, under the routes that messages take.
#pragma once

#include <cstdint>
#include <limits>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

struct RelieveOptions {
  double rise = 0.01;                                        ///< hop-bytes may grow by this part
  double trials = 50;                                        ///< swaps tried per task, at most
  double seconds = std::numeric_limits<double>::infinity();  ///< at most, by counted steps, see effort.hpp
  std::uint64_t seed = 0;
  double until = 0;  ///< stops when the hottest link has no more than this part of its load at the start
};

/// Swaps tasks that send over the hottest links with others near them or near their partners where that takes load from
/// links beyond a level, which is lowered from the maximum step by step. Load is over bandwidth; terminal links of
/// nodes with one task, whose load is that of the task wherever it goes, do not count. Tasks change places with tasks
/// of the same load only.
Map relieve(const TaskGraph& graph, const Target& target, const Map& start, const RelieveOptions& options);

}  // namespace isthmus::mapping
