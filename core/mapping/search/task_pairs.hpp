// Pairs of tasks that exchange much: what coarsening joins.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// Pairs all tasks of a graph, whose number is even: pair of every task, numbered from 0. Heavy edges first; who is
/// left over takes part in exchanges of partners along paths of three edges, then joins others that are left nearby.
std::vector<std::uint32_t> perfect_pairs(const TaskGraph& graph, std::uint64_t seed);

}  // namespace isthmus::mapping
