// Task graphs from patterns, whose rows are sorted already.
#pragma once

#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// The graph of a pattern: partners that task r sends to are peer[first[r]] .. peer[first[r + 1] - 1], ascending. Both
/// directions of a pair are added up; bytes within a task and pairs of 0 bytes are left out. The same as task_graph()
/// of the transfers, several times faster. Throws InvalidInput for rows that are not ascending or lead out of range.
TaskGraph pattern_graph(std::span<const std::uint64_t> first, std::span<const std::uint32_t> peer,
                        std::span<const std::uint64_t> bytes);

}  // namespace isthmus::mapping
