#include "graph/traversal.hpp"

#include <algorithm>

namespace isthmus {

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

Csr reversed(const Csr& graph) {
  const std::uint32_t n = graph.vertices();
  Csr out;
  out.offsets.assign(n + 1, 0);
  out.targets.resize(graph.targets.size());
  for (const std::uint32_t w : graph.targets) ++out.offsets[w + 1];
  for (std::uint32_t v = 0; v < n; ++v) out.offsets[v + 1] += out.offsets[v];
  std::vector<std::uint64_t> next(out.offsets.begin(), out.offsets.end() - 1);
  for (std::uint32_t v = 0; v < n; ++v) {
    for (const std::uint32_t w : graph.row(v)) out.targets[next[w]++] = v;
  }
  return out;
}

}  // namespace isthmus
