// A small grid of blocks laid along one axis of a machine.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/regular/node_box.hpp"

namespace isthmus::mapping {

/// Blocks, and what their neighbours exchange. Where dimension i closes, block 0 of a line along it and block
/// closing[i] exchange closing_weight[i] in addition.
struct BlockGrid {
  std::vector<std::uint32_t> extents;
  std::vector<double> weight;  ///< between neighbours along each dimension
  std::vector<std::uint32_t> closing;
  std::vector<double> closing_weight;  ///< 0: open

  [[nodiscard]] std::uint32_t blocks() const;
};

struct AxisLayout {
  std::vector<std::uint32_t> position;  ///< of every block, the first dimension varying fastest
  double cost;                          ///< sum of weight times distance
};

/// Positions on the axis, whose extent is the number of blocks, with a small cost: minimum linear arrangement, on a
/// ring or under other distances. The best of row-major orders with and without reflection and with both ends folded
/// together, improved by annealing up to 128 blocks. The same for the same input.
AxisLayout lay_out(const BlockGrid& grid, const NodeAxis& axis);

/// A lower bound for all arrangements: heaviest pairs at the shortest distances.
double layout_bound(const BlockGrid& grid, const std::vector<std::uint64_t>& pairs_at_distance);

/// Pairs of positions of an axis at every distance.
std::vector<std::uint64_t> pairs_at_distance(const NodeAxis& axis);

}  // namespace isthmus::mapping
