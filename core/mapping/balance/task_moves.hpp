// Annealing of single tasks among places that hold many.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

struct TaskMoveOptions {
  double seconds = 10;  ///< processor time by counted steps, see effort.hpp
  double hot = 1.2;     ///< temperatures in mean bytes of a task, as in AnnealOptions
  double cold = 0.05;
  double group_limit = 0;  ///< bytes between two groups, 0: no limit
  std::uint64_t seed = 0;
};

/// Moves tasks to the places of their partners and beside them where load allows it, or swaps them with a task there,
/// by Metropolis' rule, after enforce_limits(): no place has more load than its `limit`, or than enforce_limits()
/// leaves.
Map move_tasks(const TaskGraph& graph, const Target& target, std::span<const double> limit, const Map& start,
               const TaskMoveOptions& options);

}  // namespace isthmus::mapping
