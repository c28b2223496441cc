// Dual recursive bipartitioning: tasks and places are halved together.
#pragma once

#include <cstdint>
#include <span>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// Places are halved across their longest extent (without coordinates: by the numbers of their nodes), tasks by
/// bisection with the pull of tasks outside that have been assigned to regions already, and so on until regions are
/// places (Pellegrini and Roman, "Scotch: a software package for static mapping by dual recursive bipartitioning of
/// process and architecture graphs", HPCN 1996). Capacities are kept exactly; regions get tasks in proportion.
Map dual_bipartition(const TaskGraph& graph, const Target& target, std::uint64_t seed);

/// The same by loads: every place gets load in proportion to its `limit`, and up to it where the tasks allow that; what
/// the limits leave free is spread over the levels (as in SharedMap, ACDA 2025).
Map dual_bipartition_of_loads(const TaskGraph& graph, const Target& target, std::span<const double> limit,
                              std::uint64_t seed);

}  // namespace isthmus::mapping
