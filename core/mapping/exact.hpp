// The best of all maps of a few tasks.
#pragma once

#include <cstdint>
#include <optional>

#include "mapping/target.hpp"
#include "mapping/task_graph.hpp"

namespace isthmus {

/// A map with the fewest hop-bytes of all, by branch and bound: tasks in the order of a greedy growth, bounded by what
/// each of the others pays at least to those placed, and by the shortest distance for all other edges. None where that
/// takes more than `most_steps` looks at a place, of which a second has some hundred millions.
std::optional<Map> exact_map(const TaskGraph& graph, const Target& target, std::uint64_t most_steps);

}  // namespace isthmus
