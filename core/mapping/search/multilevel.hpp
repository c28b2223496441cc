// Multilevel maps: tasks and machine are coarsened together.
#pragma once

#include <cstdint>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

struct MultilevelOptions {
  double seconds = 10;           ///< processor time by counted steps, see effort.hpp
  std::uint32_t starts = 3;      ///< maps made with a third of the time; the best is annealed with the others
  std::uint32_t coarsest = 256;  ///< coarsening ends before there are fewer places
  unsigned threads = 1;          ///< the result is the same for any number
  std::uint64_t seed = 0;
  Map start = {};  ///< of dual_bipartition(), where it was made before
};

/// Where the whole ends up in the machine is settled early and stays, so there are several starts, in turn:
/// the dual recursive bipartition; a map of coarsened tasks on a coarsened machine, where tasks are paired along heavy
/// edges to exactly the grid halved along one axis, and so on, the coarsest graph is annealed from nothing, and every
/// level is annealed from the one above at a temperature that keeps its shape; and growing by max_heap_map. Targets
/// whose grid has holes or odd extents leave out the second; starts that would take half of the time to make are left
/// out, too.
Map multilevel(const TaskGraph& graph, const Target& target, const MultilevelOptions& options);

}  // namespace isthmus::mapping
