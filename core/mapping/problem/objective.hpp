// The cost of a map.
#pragma once

#include <span>
#include <vector>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// Throws InvalidInput unless the tasks fit.
void require_room(const TaskGraph& graph, const Target& target);

/// Throws InvalidInput unless every task has a place of the target.
void require_places(const TaskGraph& graph, const Target& target, std::span<const std::uint32_t> map);

/// Throws InvalidInput unless every task has a place of the target and no place more tasks than its capacity.
void require_map(const TaskGraph& graph, const Target& target, std::span<const std::uint32_t> map);

/// Bytes times distance, every pair of tasks once.
double hop_bytes(const TaskGraph& graph, const Target& target, std::span<const std::uint32_t> map);

/// Bytes over every link of the topology under its deterministic minimal routes. Half of a pair's bytes would go each
/// way; as is usual for maps, all of them are routed both ways.
std::vector<double> link_loads(const TaskGraph& graph, const Target& target, std::span<const std::uint32_t> map);

}  // namespace isthmus::mapping
