// Multilevel maps: tasks and machine are coarsened together.
#pragma once

#include <cstdint>

#include "mapping/target.hpp"
#include "mapping/task_graph.hpp"

namespace isthmus {

struct MultilevelOptions {
  double sweeps = 2000;          ///< proposals per task, over all starts; every level gets as many in all
  std::uint32_t starts = 4;      ///< maps made with half of the sweeps, of which the best is annealed with the others
  std::uint32_t coarsest = 256;  ///< coarsening ends before there are fewer places
  unsigned threads = 1;          ///< the result is the same for any number
  std::uint64_t seed = 0;
};

/// On the places of a whole grid: tasks are paired along heavy edges to exactly the machine's grid halved along one
/// axis, and so on; the coarsest graph is annealed from nothing, which settles how the whole lies in the machine, and
/// every level is annealed from the one above at a temperature that keeps that. Where the whole ends up is a matter of
/// luck, so there are several starts. On other targets the start is the dual recursive bipartition.
Map multilevel(const TaskGraph& graph, const Target& target, const MultilevelOptions& options);

}  // namespace isthmus
