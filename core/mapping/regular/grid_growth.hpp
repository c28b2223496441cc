// Coordinates that spread over a graph that is nearly a grid.
#pragma once

#include <optional>
#include <vector>

#include "graph/traversal.hpp"
#include "mapping/regular/grid_cells.hpp"
#include "mapping/regular/grid_guess.hpp"

namespace isthmus::mapping {
using namespace graph;

/// Positions of vertices on a grid without bounds.
struct GridLayout {
  std::size_t dimensions = 0;
  std::vector<Position> steps;  ///< to the neighbours of a cell
  std::vector<Position> at;
  std::vector<bool> placed;
  Cells cells;
};

/// Positions for the vertices of `graph` (rows ascending, at most 64 neighbours each) as far as they follow from each
/// other; nothing where no large part has any. `steps` counts the work, and growth ends when it passes `most`.
///
/// A patch begins with a vertex, some neighbours of which are at right angles to each other. Whoever has most placed
/// neighbours is next: to the free cell that is beside most of them and beside few others, if no other cell is nearly
/// as good. A neighbour of a vertex that has one free cell beside it belongs there. Where edges are missing, growth
/// waits until other sides have come round. Patches that cannot reach each other so are joined by the symmetry of the
/// grid and the shift under which most edges between them are steps.
///
/// `bold`, with diagonals: where growth waits for ever, it goes on with whoever is a little surer of a cell than of
/// others; what has edges that are no steps in the end is taken off, and the rest is joined anew.
std::optional<GridLayout> grow_grid(const Csr& graph, const GridGuess& guess, std::uint64_t seed, std::uint64_t& steps,
                                    std::uint64_t most, bool bold = false);

}  // namespace isthmus::mapping
