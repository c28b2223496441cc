// Neighbours of a vertex that are at right angles to each other, as along the dimensions of a grid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/traversal.hpp"
#include "mapping/regular/grid_cells.hpp"

namespace isthmus::mapping {
using namespace graph;

/// Vertices that both have as a neighbour, `v` not among them; `most` are enough.
std::uint32_t common(const Csr& graph, std::uint32_t a, std::uint32_t b, std::uint32_t v, std::uint32_t most);

struct Beginning {
  std::uint32_t vertex;
  Position at;
};

/// Bits of the neighbours of v with which each of them has another neighbour in common.
std::vector<std::uint64_t> squares_at(const Csr& graph, std::uint32_t v);

/// Neighbours at right angles to each other, as many as can be found greedily, then those that are opposite: at right
/// angles to all but one. `squares[i]`: bit j is set where neighbours i and j are at right angles.
std::vector<Beginning> cross(std::span<const std::uint32_t> row, const std::vector<std::uint64_t>& squares,
                             std::size_t dimensions);

/// On grids with diagonals: the neighbours along one dimension have most neighbours in common with v, and of them those
/// that are no neighbours of each other are opposite.
std::vector<Beginning> cross_of_box(const Csr& graph, std::uint32_t v, std::size_t dimensions);

}  // namespace isthmus::mapping
