// The best of all maps of a few tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// A map with the fewest hop-bytes of all, by branch and bound: tasks in the order of a greedy growth, bounded by what
/// each of the others pays at least to those placed, and by the shortest distance for all other edges. None where that
/// takes more than `most_steps` looks at a place, of which a second has some hundred millions. `sent` has the bytes
/// from task t to u at [t * tasks + u]: with it hop-bytes go by the routes in the direction of each message, without it
/// by the distances of the target, which is the same where these are symmetric.
std::optional<Map> exact_map(const TaskGraph& graph, const Target& target, std::uint64_t most_steps,
                             std::span<const double> sent = {});

}  // namespace isthmus::mapping
