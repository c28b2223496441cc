// Compressed adjacency and breadth-first search.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace isthmus {

/// Compressed sparse rows: the targets of vertex v are targets[offsets[v]] .. targets[offsets[v + 1] - 1].
struct Csr {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> targets;

  [[nodiscard]] std::uint32_t vertices() const {
    return offsets.empty() ? 0 : static_cast<std::uint32_t>(offsets.size() - 1);
  }
  [[nodiscard]] std::span<const std::uint32_t> row(std::uint32_t v) const {
    return std::span(targets).subspan(offsets[v], offsets[v + 1] - offsets[v]);
  }
};

inline constexpr std::uint32_t unreachable = std::numeric_limits<std::uint32_t>::max();

/// Hops from `source` to every vertex, `unreachable` where there is no path; `queue` is scratch that callers keep.
void breadth_first(const Csr& graph, std::uint32_t source, std::span<std::uint32_t> hops,
                   std::vector<std::uint32_t>& queue);

/// The graph with every edge turned around.
Csr reversed(const Csr& graph);

}  // namespace isthmus
