#include "oracles.hpp"

#include <algorithm>
#include <queue>

namespace isthmus::testing {

Links::Links(const Topology& topology)
    : out(topology.vertices()), global(topology.links()), forwards(topology.vertices(), true) {
  for (LinkId id = 0; id < topology.links(); ++id) {
    const Link link = topology.link(id);
    out[link.from].emplace_back(id, link.to);
    global[id] = topology.link_classes()[topology.link_class(id)].name == "global";
  }
  // A host of an imported network has no router inside, however many switches it is cabled to.
  if (topology.kind() == "graph" && topology.switches() > 0) {
    std::fill_n(forwards.begin(), topology.nodes(), false);
  }
}

std::vector<std::uint32_t> hops_to(const Links& links, Vertex to, std::uint32_t most_global) {
  // Backwards over (vertex, global links used from there on); one layer where they are not limited.
  const std::size_t n = links.out.size();
  const bool limited = most_global != no_path;
  const std::size_t layers = limited ? most_global + 1 : 1;
  std::vector<std::vector<std::pair<Vertex, bool>>> in(n);
  for (Vertex v = 0; v < n; ++v) {
    for (const auto& [id, w] : links.out[v]) in[w].emplace_back(v, limited && links.global[id]);
  }
  std::vector<std::uint32_t> hops(n * layers, no_path);
  std::queue<std::size_t> queue;
  hops[to * layers] = 0;
  queue.push(to * layers);
  while (!queue.empty()) {
    const std::size_t at = queue.front();
    queue.pop();
    const std::size_t vertex = at / layers;
    if (vertex != to && !links.forwards[vertex]) continue;
    for (const auto& [from, global] : in[vertex]) {
      const std::size_t used = at % layers + (global ? 1 : 0);
      if (used >= layers) continue;
      const std::size_t next = from * layers + used;
      if (hops[next] != no_path) continue;
      hops[next] = hops[at] + 1;
      queue.push(next);
    }
  }
  std::vector<std::uint32_t> least(n);
  for (std::size_t v = 0; v < n; ++v) {
    least[v] = *std::min_element(hops.begin() + static_cast<std::ptrdiff_t>(v * layers),
                                 hops.begin() + static_cast<std::ptrdiff_t>((v + 1) * layers));
  }
  return least;
}

bool acyclic(std::size_t count, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  // Kahn: remove vertices that nothing leads to until none is left.
  std::vector<std::vector<std::size_t>> out(count);
  std::vector<std::size_t> in(count, 0);
  for (const auto& [from, to] : edges) {
    out[from].push_back(to);
    ++in[to];
  }
  std::vector<std::size_t> free;
  for (std::size_t v = 0; v < count; ++v) {
    if (in[v] == 0) free.push_back(v);
  }
  std::size_t removed = 0;
  for (; !free.empty(); ++removed) {
    const std::size_t v = free.back();
    free.pop_back();
    for (const std::size_t w : out[v]) {
      if (--in[w] == 0) free.push_back(w);
    }
  }
  return removed == count;
}

}  // namespace isthmus::testing
