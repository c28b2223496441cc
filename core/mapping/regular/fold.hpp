// Grids of tasks folded into boxes of nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/regular/axis_layout.hpp"
#include "mapping/regular/node_box.hpp"

namespace isthmus::mapping {

/// A grid of tasks, as its dimensions exchange: `bytes` between neighbours along each, on average. Of `extents` only
/// the first `filled` coordinates may have tasks.
struct TaskGrid {
  std::vector<std::uint32_t> extents;
  std::vector<std::uint32_t> filled;
  std::vector<bool> wrap;
  std::vector<double> bytes;
};

/// One way to fold. Coordinate x of task dimension i is written in mixed radix with reflection (a Gray code: from x to
/// x + 1 one digit changes by one), every digit belonging to an axis of the machine. The digits of different dimensions
/// on the same axis make a small grid of blocks, which is arranged along it.
///
/// Dilation is 1 wherever an axis has the digit of one dimension only: a grid whose extents are products of some of the
/// machine's is embedded with dilation 1, a hypercube by binary Gray codes. Elsewhere only steps of the shared digits
/// cost more, which are few if they are the slow ones.
struct Fold {
  struct Digit {
    std::uint32_t axis;
    std::uint32_t radix;
  };
  std::vector<std::vector<Digit>> digits;            ///< of every task dimension, fastest first
  std::vector<std::vector<std::uint32_t>> position;  ///< of every axis: by its digits, first dimension fastest
  double hop_bytes;                                  ///< in closed form
};

/// The cheapest folds, at most `count`, of a grid into a box that has exactly as many places. Factorisations of all
/// extents are enumerated as contingency tables of prime exponents, the most plausible 20,000 if there are more, and
/// bounded from below before they are arranged.
std::vector<Fold> folds(const TaskGrid& grid, const std::vector<NodeAxis>& axes, std::size_t count);

/// The coordinates on the axes of the task at `x`.
class FoldTable {
 public:
  FoldTable(const Fold& fold, const TaskGrid& grid, std::size_t axes);
  void coordinates(const std::uint32_t* x, std::uint32_t* out) const;

 private:
  const Fold& fold_;
  std::size_t axes_;
  std::vector<std::vector<std::uint32_t>> block_;  ///< per dimension: of coordinate x, its part of each axis's block
};

}  // namespace isthmus::mapping
