// Graphs of tasks on grids, scrambled and damaged, for tests.
#pragma once

#include <vector>

#include "graph/traversal.hpp"
#include "mapping/problem/task_graph.hpp"
#include "mapping/regular/product.hpp"

namespace isthmus::test {
using namespace graph;
using namespace mapping;

using Extents = std::vector<std::uint32_t>;
using Wraps = std::vector<bool>;

struct Damage {
  double vertices = 0;  ///< share that is missing
  double edges = 0;
  std::uint32_t added = 0;  ///< edges between random vertices
};

/// The product of paths and cycles (with diagonals: the strong product), its vertices renumbered at random.
Csr scrambled_grid(const Extents& extents, const Wraps& wrap, bool diagonals, std::uint64_t seed, Damage damage = {});

/// The Cartesian product of two graphs, its vertices renumbered at random.
Csr scrambled_product(const Csr& a, const Csr& b, std::uint64_t seed);

Csr complete(std::uint32_t vertices);

/// One byte each way.
TaskGraph with_bytes(Csr graph);

/// Is the graph the Cartesian (box: the strong) product of the factors in these coordinates, as far as every pair of
/// vertices says? Paths, cycles, complete graphs and copies.
bool is_product(const Csr& graph, const std::vector<Factor>& factors, const std::vector<std::uint32_t>& coordinates,
                bool box);

}  // namespace isthmus::test
