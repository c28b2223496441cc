// A stencil with diagonals, reduced to the stencil without them.
#pragma once

#include <vector>

#include "graph/traversal.hpp"

namespace isthmus::mapping {
using namespace graph;

struct Skeleton {
  Csr graph;                        ///< classes of twins, and the edges between them that are kept
  std::vector<std::uint32_t> twin;  ///< the class of every vertex
  std::uint32_t size;               ///< vertices per class
};

/// The Cartesian skeleton of a connected graph, rows ascending: vertices with the same closed neighbourhood (twins) are
/// one, and an edge goes where both its ends have more in common with a third vertex, or a chain of neighbourhoods
/// leads from one end over the third to the other. The skeleton of a strong product (9- and 27-point stencils) is the
/// Cartesian product of its factors' skeletons, at boundaries too (Hammack and Imrich, "On Cartesian skeletons of
/// graphs", 2009; here neighbourhoods are compared by their sizes, which is the same in strong products). Where classes
/// of twins differ in size, or counting would take long, the graph is empty. Without `join_twins` all vertices stay.
Skeleton cartesian_skeleton(const Csr& graph, bool join_twins = true);

}  // namespace isthmus::mapping
