// Coordinates for graphs that are nearly grids.
#pragma once

#include <optional>
#include <span>

#include "mapping/regular/product.hpp"

namespace isthmus::mapping {

struct GridFit {
  Product product;
  bool diagonals;  ///< edges may lead along several dimensions at once
};

/// Coordinates of the vertices of a grid, with or without diagonals, from which some vertices or edges are missing and
/// to which a few edges were added (ocean models without their land, domains with holes, meshes with lost pairs), and
/// the extents of the box round them; a dimension is periodic where many edges lead from its end to its beginning.
/// Nothing where they do not follow from each other (grow_grid()) or the box would be more than `emptiest` times as
/// large as the graph, or where that takes more than `most` steps; `steps` counts them. With `bold`, grids of
/// two dimensions with diagonals only, of which more may be missing.
std::optional<GridFit> fit_grid(const Csr& graph, std::uint64_t seed, std::uint64_t& steps, std::uint64_t most,
                                bool bold = false, double emptiest = 4);

}  // namespace isthmus::mapping
