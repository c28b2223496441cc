// Factoring a graph into the paths, cycles and complete graphs whose Cartesian product it is.
#pragma once

#include <optional>
#include <vector>

#include "graph/traversal.hpp"

namespace isthmus::mapping {
using namespace graph;

enum class FactorKind : std::uint8_t {
  path,         ///< an open dimension of a grid
  cycle,        ///< a periodic dimension
  complete,     ///< everybody with everybody
  independent,  ///< nobody with anybody: copies of the same structure
  tree,         ///< the only factor of a tree; its coordinate is a depth-first number
};

struct Factor {
  FactorKind kind;
  std::uint32_t extent;
  bool operator==(const Factor&) const = default;
};

/// Vertex v has the coordinates coordinates[v * factors.size()] ...
struct Product {
  std::vector<Factor> factors;
  std::vector<std::uint32_t> coordinates;
};

/// The factors of a connected graph of at least two vertices, symmetric, without loops and multiple edges; nothing if
/// it is no product of paths, cycles and complete graphs. Exact: every edge is checked, so what is returned is an
/// isomorphism. Factors are prime: a cycle of 4 appears as two paths of 2.
///
/// After Imrich and Peterin, "Recognizing Cartesian products in linear time" (2007): breadth-first from a vertex of
/// least degree, which is an end of every path; the directions at the root belong to the same factor unless they span a
/// square; every other vertex gets its coordinates from two neighbours nearer to the root. Time is linear in the edges.
std::optional<Product> factor_product(const Csr& graph);

}  // namespace isthmus::mapping
