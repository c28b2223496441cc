// Recognising regular communication patterns from the graph alone, however tasks are numbered.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "mapping/regular/product.hpp"

namespace isthmus::mapping {

/// Which neighbours on a grid communicate.
enum class Stencil : std::uint8_t {
  star,   ///< along one dimension: 5 points in two dimensions, 7 in three, 9 in four
  box,    ///< along any of them at once: 9 points in two dimensions, 27 in three
  mixed,  ///< some diagonals: 19 points in three dimensions, or a box with some missing
};

struct Structure {
  std::vector<Factor> factors;             ///< largest extent first
  std::vector<std::uint32_t> coordinates;  ///< of vertex v: coordinates[v * factors.size()] ...
  Stencil stencil;
  double explained;  ///< share of the weight on edges that the structure has
};

/// What the graph (symmetric, no loops, no multiple edges) is a product of: grids and tori of any extents, open and
/// periodic, with and without diagonals, rings, hypercubes (all extents 2), rows and columns that exchange all to all,
/// trees, several copies of one of these; grids of which some vertices or edges are missing or too many. `weights`, one
/// a directed edge or none, serve to leave out light edges and for `explained`. Nothing where less than
/// `least_explained` of the weight would be explained, nor where that takes more than about so many seconds, counted in
/// steps as in effort.hpp; `spent` is what it took.
std::optional<Structure> recognise(const Csr& graph, std::span<const double> weights, double least_explained = 0.9,
                                   double seconds = std::numeric_limits<double>::infinity(), double* spent = nullptr);

}  // namespace isthmus::mapping
