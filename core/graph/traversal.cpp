#include "graph/traversal.hpp"

#include <algorithm>

namespace isthmus::graph {

void breadth_first(const Csr& graph, std::uint32_t source, std::span<std::uint32_t> hops,
                   std::vector<std::uint32_t>& queue) {
  std::fill(hops.begin(), hops.end(), unreachable);
  queue.clear();
  queue.push_back(source);
  hops[source] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t v = queue[head];
    for (const std::uint32_t w : graph.row(v)) {
      if (hops[w] != unreachable) continue;
      hops[w] = hops[v] + 1;
      queue.push_back(w);
    }
  }
}

DistanceSample sample_distances(const Csr& graph, std::uint32_t sources, std::uint32_t targets) {
  constexpr std::uint64_t budget = 500'000'000;  // vertices and edges visited
  const std::uint64_t each = graph.targets.size() + graph.vertices() + 1;
  const auto searched = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(budget / each, std::min<std::uint32_t>(sources, 16), sources));
  std::vector<std::uint32_t> hops(graph.vertices());
  std::vector<std::uint32_t> queue;
  std::uint64_t sum = 0;
  std::uint32_t largest = 0;
  for (std::uint32_t i = 0; i < searched; ++i) {
    breadth_first(graph, static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * sources / searched), hops, queue);
    for (std::uint32_t v = 0; v < targets; ++v) {
      sum += hops[v];
      largest = std::max(largest, hops[v]);
    }
  }
  const double pairs = static_cast<double>(searched) * targets;
  return {largest, pairs > 0 ? static_cast<double>(sum) / pairs : 0, searched == sources};
}

}  // namespace isthmus::graph
