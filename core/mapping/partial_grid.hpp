// Coordinates for graphs that are nearly grids.
#pragma once

#include <optional>
#include <span>

#include "mapping/product.hpp"

namespace isthmus {

/// Coordinates of the vertices of a grid from which some vertices or edges are missing and to which a few edges were
/// added (ocean models without their land, domains with holes), and the extents of the box round them; a dimension is
/// periodic where many edges lead from its end to its beginning. Nothing where no frame is found or the box would be
/// more than `emptiest` times as large as the graph.
///
/// From a vertex whose neighbours form opposite pairs, positions spread to those where two neighbours or more agree;
/// along a line only where nothing else is left, since a vertex's opposite neighbours have no second neighbour in
/// common while others complete a square. Edges on no square are not followed.
std::optional<Product> fit_grid(const Csr& graph, double emptiest = 4);

}  // namespace isthmus
