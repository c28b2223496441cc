// Whether a graph looks like a grid, from a sample of its vertices.
#pragma once

#include <cstddef>

#include "graph/traversal.hpp"

namespace isthmus::mapping {
using namespace graph;

/// A guess at the grid that a graph may be.
struct GridGuess {
  std::size_t dimensions = 0;  ///< 0: like no grid
  bool box = false;            ///< neighbours along several dimensions at once, too
};

/// Dimensions of the grid that the graph, rows ascending, may be: by neighbours that are at right angles (have a second
/// neighbour in common), or, where there are many triangles, by degrees.
GridGuess guess_grid(const Csr& graph);

}  // namespace isthmus::mapping
