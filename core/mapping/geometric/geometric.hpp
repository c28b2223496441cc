// Tasks and nodes halved together.
#pragma once

#include <span>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// Recursive geometric bisection: the nodes of a region are cut in two across their longest dimension, the tasks that
/// belong there across the dimension that fewest bytes cross, in proportion; then the halves are taken the way round
/// that brings them closer to where their partners are by now. Any set of nodes will do, holes or not; where the
/// machine has no coordinates, nodes are halved in the order of their numbers. `at`: coordinates of task t from at[t *
/// dimensions]. Throws InvalidInput where tasks do not fit. (Bisection of both sides: Phillips et al., "Mapping to
/// irregular torus topologies", SC 2014; flips: Deveci et al., "Geometric mapping of tasks to processors", 2019.)
Map geometric_map(const TaskGraph& graph, std::span<const double> at, std::size_t dimensions, const Target& target);

}  // namespace isthmus::mapping
