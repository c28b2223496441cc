// Maps of recognised patterns.
#pragma once

#include <optional>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"
#include "mapping/regular/fold.hpp"
#include "mapping/regular/structure.hpp"

namespace isthmus::mapping {

/// The grid of a structure, with the mean bytes of a step along every factor; nothing for a tree.
std::optional<TaskGrid> task_grid(const TaskGraph& graph, const Structure& structure);

/// The best fold of the structure's grid into the box round the target's places: of the cheapest in closed form the one
/// with the least hop-bytes, and of those that are equal there the one with the least maximum link load. Where tasks
/// and places differ in number, extents are rounded up and axes cut to match; tasks that hit holes make their
/// neighbours move up (NodeBox::settle). Nothing where nothing fits or more than half of the box is holes.
std::optional<Map> fold_map(const TaskGraph& graph, const Target& target, const Structure& structure);

}  // namespace isthmus::mapping
