#include "graph/order.hpp"

#include <algorithm>

#include "base/prefetch.hpp"

namespace isthmus::graph {
namespace {

void sort_row(std::uint32_t* begin, std::uint32_t* end) {
  if (end - begin > 16) {
    std::sort(begin, end);
    return;
  }
  for (std::uint32_t* i = begin; i < end; ++i) {
    const std::uint32_t value = *i;
    std::uint32_t* j = i;
    for (; j > begin && j[-1] > value; --j) *j = j[-1];
    *j = value;
  }
}
}  // namespace

BreadthFirstOrder breadth_first_order(const Csr& graph, std::uint32_t root) {
  constexpr std::size_t ahead = 8;  // rows are anywhere in memory: start to load them early
  BreadthFirstOrder out;
  std::vector<std::uint32_t> rank(graph.vertices(), unreachable);
  out.vertex.reserve(graph.vertices());
  out.graph.offsets.reserve(graph.offsets.size());
  out.graph.targets.reserve(graph.targets.size());
  out.graph.offsets.push_back(0);
  out.vertex.push_back(root);
  rank[root] = 0;
  out.level = {0};
  std::uint32_t next_level = 0;
  for (std::uint32_t head = 0; head < out.vertex.size(); ++head) {
    if (head == next_level) {
      next_level = static_cast<std::uint32_t>(out.vertex.size());
      out.level.push_back(next_level);
    }
    if (head + 2 * ahead < out.vertex.size()) prefetch_line(&graph.offsets[out.vertex[head + 2 * ahead]]);
    if (head + ahead < out.vertex.size()) {
      prefetch_line(graph.targets.data() + graph.offsets[out.vertex[head + ahead]]);
    }
    for (const std::uint32_t w : graph.row(out.vertex[head])) {
      if (rank[w] == unreachable) {
        rank[w] = static_cast<std::uint32_t>(out.vertex.size());
        out.vertex.push_back(w);
      }
      out.graph.targets.push_back(rank[w]);
    }
    sort_row(out.graph.targets.data() + out.graph.offsets.back(), out.graph.targets.data() + out.graph.targets.size());
    out.graph.offsets.push_back(out.graph.targets.size());
  }
  return out;
}

std::uint32_t least_degree_vertex(const Csr& graph) {
  std::uint32_t best = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const std::uint64_t degree = graph.offsets[v + 1] - graph.offsets[v];
    if (degree < least) {
      least = degree;
      best = v;
    }
  }
  return best;
}

std::uint32_t components(const Csr& graph, std::vector<std::uint32_t>& component) {
  component.assign(graph.vertices(), unreachable);
  std::vector<std::uint32_t> queue;
  std::uint32_t count = 0;
  for (std::uint32_t root = 0; root < graph.vertices(); ++root) {
    if (component[root] != unreachable) continue;
    queue.assign(1, root);
    component[root] = count;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const std::uint32_t w : graph.row(queue[head])) {
        if (component[w] != unreachable) continue;
        component[w] = count;
        queue.push_back(w);
      }
    }
    ++count;
  }
  return count;
}

}  // namespace isthmus::graph
