// A connected graph renumbered by breadth-first search, so that neighbours are near each other in memory.
#pragma once

#include <vector>

#include "graph/traversal.hpp"

namespace isthmus::graph {

struct BreadthFirstOrder {
  Csr graph;                          ///< what was reached, in the new numbers, rows ascending
  std::vector<std::uint32_t> vertex;  ///< new number -> old number
  std::vector<std::uint32_t> level;   ///< level l is [level[l], level[l + 1])
};

/// Renumbers what `root` reaches. Rows of less than a cache line each are sorted by insertion.
BreadthFirstOrder breadth_first_order(const Csr& graph, std::uint32_t root);

/// The vertex of least degree (the first of them), or 0 in an empty graph.
std::uint32_t least_degree_vertex(const Csr& graph);

/// The number of the component of every vertex; components are numbered by their first vertex. Returns their count.
std::uint32_t components(const Csr& graph, std::vector<std::uint32_t>& component);

}  // namespace isthmus::graph
