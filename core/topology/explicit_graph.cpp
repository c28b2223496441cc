#include "topology/explicit_graph.hpp"

namespace isthmus::topology {

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

}  // namespace isthmus::topology
