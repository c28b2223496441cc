// How two parts of a grid that were given coordinates apart fit together.
#pragma once

#include <optional>
#include <span>

#include "mapping/regular/grid_cells.hpp"

namespace isthmus::mapping {

/// A symmetry of the grid and a shift.
struct Motion {
  std::array<std::size_t, most_dimensions> axis{};  ///< of the part that becomes axis k of the whole
  Position sign{};
  Position shift{};

  [[nodiscard]] Position turned(const Position& p) const {
    Position out{};
    for (std::size_t k = 0; k < most_dimensions; ++k) out[k] = sign[k] * p[axis[k]];
    return out;
  }
  [[nodiscard]] Position apply(const Position& p) const { return turned(p) + shift; }
};

struct PatchEdge {
  Position there;  ///< of the end in the whole
  Position here;   ///< of the end in the part
};

/// The motion of the part, which has vertices at `cells`, under which most edges are steps, less those cells that are
/// taken already; nothing where fewer than two edges agree or several motions are as good. `steps` counts the work.
std::optional<Motion> find_motion(std::span<const PatchEdge> edges, std::span<const Position> cells, const Cells& whole,
                                  std::size_t dimensions, std::span<const Position> neighbours, std::uint64_t& steps);

}  // namespace isthmus::mapping
