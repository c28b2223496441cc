#include "mapping/regular/skeleton.hpp"
#include "base/interruption.hpp"

#include <algorithm>

namespace isthmus::mapping {
namespace {

/// For every directed edge, how many vertices the closed neighbourhoods of its ends have in common.
std::vector<std::uint32_t> common_neighbours(const Csr& graph) {
  const std::uint32_t n = graph.vertices();
  std::vector<std::uint32_t> common(graph.targets.size(), 0);
  std::vector<std::uint64_t> cursor(graph.offsets.begin(), graph.offsets.end() - 1);
  std::vector<std::uint32_t> mark(n, unreachable);
  for (std::uint32_t x = 0; x < n; ++x) {
    if ((x & 0x3F) == 0) interruption_point();
    for (const std::uint32_t y : graph.row(x)) mark[y] = x;
    mark[x] = x;
    for (std::uint64_t e = graph.offsets[x]; e < graph.offsets[x + 1]; ++e) {
      const std::uint32_t y = graph.targets[e];
      if (y < x) continue;
      std::uint32_t count = 1;  // y itself
      for (const std::uint32_t z : graph.row(y)) count += mark[z] == x;
      common[e] = count;
      // Rows ascend and x does: the edge back is the next of y's row that has not been met.
      common[cursor[y]++] = count;
    }
  }
  return common;
}

/// Keeps the edges that `kept` says, and the vertices `vertices`, renumbered.
Csr subgraph(const Csr& graph, const std::vector<bool>& kept, const std::vector<std::uint32_t>& vertices,
             const std::vector<std::uint32_t>& number) {
  Csr out;
  out.offsets.push_back(0);
  for (const std::uint32_t v : vertices) {
    for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      if (kept[e]) out.targets.push_back(number[graph.targets[e]]);
    }
    out.offsets.push_back(out.targets.size());
  }
  return out;
}
}  // namespace

Skeleton cartesian_skeleton(const Csr& graph, bool join_twins) {
  constexpr std::uint64_t budget = 1'000'000'000;  // pairs of edges looked at
  const std::uint32_t n = graph.vertices();
  Skeleton out{{}, std::vector<std::uint32_t>(n, unreachable), 0};
  std::uint64_t work = 0;
  for (std::uint32_t v = 0; v < n; ++v) work += graph.row(v).size() * graph.row(v).size();
  if (work > budget) return out;
  const std::vector<std::uint32_t> common = common_neighbours(graph);
  const auto closed = [&](std::uint32_t v) { return static_cast<std::uint32_t>(graph.row(v).size() + 1); };

  std::vector<std::uint32_t> first_of_class;
  std::vector<std::uint32_t> members;
  for (std::uint32_t v = 0; v < n; ++v) {
    if (out.twin[v] != unreachable) continue;
    const auto c = static_cast<std::uint32_t>(first_of_class.size());
    out.twin[v] = c;
    first_of_class.push_back(v);
    members.push_back(1);
    for (std::uint64_t e = graph.offsets[v]; join_twins && e < graph.offsets[v + 1]; ++e) {
      const std::uint32_t w = graph.targets[e];
      if (common[e] != closed(v) || common[e] != closed(w)) continue;
      out.twin[w] = c;
      ++members[c];
    }
  }
  if (std::any_of(members.begin(), members.end(), [&](std::uint32_t m) { return m != members[0]; })) return out;
  out.size = members[0];

  // Dispensable edges among the first vertices of the classes; sizes of all neighbourhoods scale alike.
  std::vector<bool> kept(graph.targets.size(), false);
  std::vector<std::uint32_t> with_x(n, 0);  // common neighbours with x, of x's neighbours
  for (const std::uint32_t x : first_of_class) {
    interruption_point();
    for (std::uint64_t e = graph.offsets[x]; e < graph.offsets[x + 1]; ++e) with_x[graph.targets[e]] = common[e];
    for (std::uint64_t e = graph.offsets[x]; e < graph.offsets[x + 1]; ++e) {
      const std::uint32_t y = graph.targets[e];
      if (first_of_class[out.twin[y]] != y) continue;
      bool dispensable = false;
      for (std::uint64_t f = graph.offsets[y]; f < graph.offsets[y + 1] && !dispensable; ++f) {
        const std::uint32_t z = graph.targets[f];
        const std::uint32_t xz = with_x[z];
        if (xz == 0) continue;
        const std::uint32_t yz = common[f];
        const bool up = xz == closed(x) && yz == closed(z) && closed(x) < closed(z) && closed(z) < closed(y);
        const bool down = yz == closed(y) && xz == closed(z) && closed(y) < closed(z) && closed(z) < closed(x);
        dispensable = (xz > common[e] || up) && (yz > common[e] || down);
      }
      kept[e] = !dispensable;
    }
    for (const std::uint32_t w : graph.row(x)) with_x[w] = 0;
  }
  out.graph = subgraph(graph, kept, first_of_class, out.twin);
  return out;
}

}  // namespace isthmus::mapping
