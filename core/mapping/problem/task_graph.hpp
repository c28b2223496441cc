// The communication graph as mappers see it: undirected, one weight per pair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/traversal.hpp"

namespace isthmus::mapping {
using namespace graph;

/// Tasks and what they exchange. Symmetric and without loops; the neighbours of a task are in ascending order.
struct TaskGraph {
  Csr links;
  std::vector<double> bytes;  ///< per entry of links.targets: the sum of both directions, the same at both ends
  std::vector<double> load;   ///< work of each task; empty: 1 each

  [[nodiscard]] std::uint32_t tasks() const { return links.vertices(); }
  [[nodiscard]] double load_of(std::uint32_t task) const { return load.empty() ? 1 : load[task]; }
  [[nodiscard]] std::span<const double> bytes_of(std::uint32_t task) const {
    return std::span(bytes).subspan(links.offsets[task], links.offsets[task + 1] - links.offsets[task]);
  }
  /// Bytes of all pairs, each pair once.
  [[nodiscard]] double total_bytes() const;
  [[nodiscard]] double total_load() const;
};

/// The graph of transfers in any order and direction: those of the same pair are added up, those within a task and of
/// 0 bytes are left out. Throws InvalidInput for tasks out of range and for negative or not finite bytes or loads.
TaskGraph task_graph(std::uint32_t tasks, std::span<const std::uint32_t> from, std::span<const std::uint32_t> to,
                     std::span<const double> bytes, std::vector<double> load = {});

/// The graph of groups of tasks: `group[t]` < `groups`; bytes between groups and loads are added up.
TaskGraph quotient(const TaskGraph& graph, std::span<const std::uint32_t> group, std::uint32_t groups);

}  // namespace isthmus::mapping
