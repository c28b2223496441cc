// Random graphs of tasks, random maps and whole networks as targets, for tests of graph maps.
#pragma once

#include <numeric>

#include "base/rng.hpp"
#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::test {
using namespace mapping;

/// `edges` random pairs with 1 to `most` bytes.
inline TaskGraph random_tasks(std::uint32_t tasks, std::uint32_t edges, std::uint32_t most, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::uint32_t> from(edges);
  std::vector<std::uint32_t> to(edges);
  std::vector<double> bytes(edges);
  for (std::uint32_t e = 0; e < edges; ++e) {
    from[e] = rng.below(tasks);
    to[e] = rng.below(tasks);
    bytes[e] = 1 + rng.below(most);
  }
  return task_graph(tasks, from, to, bytes);
}

inline std::vector<Vertex> nodes_of(const Topology& network) {
  std::vector<Vertex> nodes(network.nodes());
  std::iota(nodes.begin(), nodes.end(), 0U);
  return nodes;
}

/// Tasks in random slots.
inline Map random_map(std::uint32_t tasks, const Target& target, std::uint64_t seed) {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t p = 0; p < target.places(); ++p) slots.insert(slots.end(), target.capacity(p), p);
  Rng rng(seed);
  for (auto i = static_cast<std::uint32_t>(slots.size()); i-- > 1;) std::swap(slots[i], slots[rng.below(i + 1)]);
  return {slots.begin(), slots.begin() + tasks};
}

}  // namespace isthmus::test
