// The nodes of a job as a box: a product of coordinates, whatever the machine.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mapping/problem/target.hpp"

namespace isthmus::mapping {

/// One coordinate of a box, and what changing it costs while the others stay.
class NodeAxis {
 public:
  /// All distances, extent x extent.
  NodeAxis(std::uint32_t extent, std::vector<std::uint32_t> table) : extent_(extent), table_(std::move(table)) {}
  /// A line or a ring.
  NodeAxis(std::uint32_t extent, bool wrap) : extent_(extent), wrap_(wrap) {}

  [[nodiscard]] std::uint32_t extent() const { return extent_; }
  [[nodiscard]] std::uint32_t distance(std::uint32_t a, std::uint32_t b) const {
    if (!table_.empty()) return table_[a * std::size_t{extent_} + b];
    const std::uint32_t step = a > b ? a - b : b - a;
    return wrap_ && extent_ - step < step ? extent_ - step : step;
  }
  /// The first coordinates only.
  [[nodiscard]] NodeAxis prefix(std::uint32_t extent) const;
  bool operator==(const NodeAxis&) const = default;

 private:
  std::uint32_t extent_;
  bool wrap_ = false;
  std::vector<std::uint32_t> table_;
};

/// The box round the places of a target, planes without places left out. Where nodes take several tasks, the first axis
/// is the place within the node and costs nothing.
struct NodeBox {
  std::vector<NodeAxis> axes;
  std::vector<std::uint32_t> places;  ///< by coordinates, the first varying fastest; `nowhere` for holes

  /// Nothing where capacities differ, the topology has no coordinates, or the box would be more than `emptiest` times
  /// as large as the target. On machines whose distances are no sums over coordinates (dragonflies, trees) an axis
  /// knows the distances of nodes that differ in it alone.
  static std::optional<NodeBox> of(const Target& target, double emptiest = 1);

  /// Moves tasks from holes and overfull cells: each to its neighbour cell, the one from there on to the next, and so
  /// on along the shortest way to a free place. `cell` of every task becomes its place. False where that would take
  /// long.
  [[nodiscard]] bool settle(std::vector<std::uint32_t>& cell) const;
};

}  // namespace isthmus::mapping
