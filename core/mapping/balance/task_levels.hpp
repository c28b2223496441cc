// Many tasks a place: tasks joined level by level, placed where they are few, and moved on every level.
#pragma once

#include <cstdint>
#include <span>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// Are there so many more tasks than places that map_by_levels() joins any, and distances that tell near from far?
bool has_levels(const TaskGraph& graph, const Target& target);

/// Processor time, about, of map_by_levels() before tasks move.
double seconds_of_levels(const TaskGraph& graph, const Target& target);

/// Tasks are joined in pairs along heavy edges until a place has a few of them. There several bipartitions are cheap:
/// each is annealed for a short while, and the best is kept, which decides the shape of all. Then joined tasks come
/// apart level by level, and move_tasks() goes on with single ones. `seconds` are counted in steps, see effort.hpp;
/// `limit` is the load of every place as in move_tasks(), kept on the last level. Empty where joined tasks have few
/// bytes within, as in random graphs: then it gains nothing.
Map map_by_levels(const TaskGraph& graph, const Target& target, std::span<const double> limit, double seconds,
                  std::uint64_t seed);

}  // namespace isthmus::mapping
