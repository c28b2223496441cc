#include "topology/explicit_graph.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace isthmus {

ExplicitGraph explicit_graph(const Topology& topology) {
  ExplicitGraph out;
  const Vertex n = topology.vertices();
  out.adjacency.offsets.reserve(n + 1);
  out.adjacency.offsets.push_back(0);
  out.links.reserve(topology.links());
  for (Vertex v = 0; v < n; ++v) {
    topology.out_links(v, out.links);
    out.adjacency.offsets.push_back(out.links.size());
  }
  out.adjacency.targets.resize(out.links.size());
  out.weights.resize(out.links.size());
  for (std::size_t i = 0; i < out.links.size(); ++i) {
    out.adjacency.targets[i] = topology.link(out.links[i]).to;
    out.weights[i] = topology.bandwidth(out.links[i]);
  }
  return out;
}

DistanceSample sample_distances(const Topology& topology) {
  const ExplicitGraph graph = explicit_graph(topology);
  const Vertex nodes = topology.nodes();
  // About two seconds of search: edges visited over all sources.
  constexpr std::uint64_t budget = 400'000'000;
  const std::uint64_t per_source = graph.links.size() + topology.vertices();
  const auto sources = static_cast<Vertex>(std::clamp<std::uint64_t>(budget / std::max<std::uint64_t>(per_source, 1),
                                                                     std::min<Vertex>(nodes, 16), nodes));
  std::vector<std::uint32_t> hops(topology.vertices());
  std::vector<std::uint32_t> queue;
  std::uint64_t sum = 0;
  std::uint32_t largest = 0;
  for (Vertex i = 0; i < sources; ++i) {
    const auto source = static_cast<Vertex>(static_cast<std::uint64_t>(i) * nodes / sources);
    breadth_first(graph.adjacency, source, hops, queue);
    for (Vertex v = 0; v < nodes; ++v) {
      require(hops[v] != unreachable, topology.kind(), ": ", topology.label(v), " cannot be reached from ",
              topology.label(source));
      sum += hops[v];
      largest = std::max(largest, hops[v]);
    }
  }
  const double pairs = static_cast<double>(sources) * (nodes - 1);
  return {largest, pairs > 0 ? static_cast<double>(sum) / pairs : 0, sources == nodes};
}

}  // namespace isthmus
