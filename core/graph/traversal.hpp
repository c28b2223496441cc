// Compressed adjacency and breadth-first search.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace isthmus::graph {

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

struct DistanceSample {
  std::uint32_t largest;
  double mean;  ///< over sources and all vertices below `targets`, the sources themselves among them
  bool exact;   ///< every source was searched
};

/// Distances from the vertices below `sources` to those below `targets`: from all sources, or from evenly spaced ones
/// where that would take more than a second or two. `largest` is `unreachable` if some pair is.
DistanceSample sample_distances(const Csr& graph, std::uint32_t sources, std::uint32_t targets);

}  // namespace isthmus::graph
