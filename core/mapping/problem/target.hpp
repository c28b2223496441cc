// The nodes of a job as mappers see them: places with capacities and fast distances.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "topology/topology.hpp"

namespace isthmus::mapping {
using namespace topology;

/// A map of tasks: place of each task, an index into the nodes of a Target.
using Map = std::vector<std::uint32_t>;

inline constexpr std::uint32_t nowhere = ~std::uint32_t{0};

/// Distances are lengths of the machine's minimal routes, which on a dragonfly may be one more than the shortest path.
/// Where ways there and back differ in length, they are the mean, rounded up (of very large networks, one of the two).
class Target {
 public:
  /// One coordinate of places where the distance of two places is a sum over coordinates: grids, tori, hypercubes,
  /// HyperX.
  struct Axis {
    std::uint32_t extent;
    bool wrap;
    std::vector<std::uint8_t> distance;  ///< extent x extent
    std::vector<std::uint16_t> at;       ///< coordinate of every place
  };

  /// Places are `nodes`, which are different, in this order; `capacity` tasks fit each, 1 if empty. Throws InvalidInput
  /// for nodes that are repeated or not of the topology, or that have no route to each other.
  Target(const Topology& topology, std::vector<Vertex> nodes, std::vector<std::uint32_t> capacity = {});

  /// These places with a capacity of 1 each.
  [[nodiscard]] Target with_room_for_one() const;
  /// All places of a grid of which pairs of neighbours along an axis of even extent are one: distances are means.
  /// Without coordinates there is one axis, the place on the switch, and places 2 i and 2 i + 1 become place i. Throws
  /// InvalidInput unless halves(axis).
  [[nodiscard]] Target halved(std::size_t axis) const;
  /// Is there room for one task at each place, and are there places at all coordinates, in the order of these, and two
  /// or more pairs along the axis? Without coordinates: an even number of places, in order, on every switch?
  [[nodiscard]] bool halves(std::size_t axis) const;

  /// The network; a halved grid has none.
  [[nodiscard]] const Topology& topology() const { return *topology_; }
  [[nodiscard]] std::uint32_t places() const { return places_; }
  [[nodiscard]] const std::vector<Vertex>& nodes() const { return nodes_; }
  [[nodiscard]] Vertex node(std::uint32_t place) const { return nodes_[place]; }
  [[nodiscard]] std::uint32_t capacity(std::uint32_t place) const { return capacity_.empty() ? 1 : capacity_[place]; }
  /// Are routes there and back known to be equally long, so that distance() is the length of both?
  [[nodiscard]] bool symmetric() const { return symmetric_; }
  /// Tasks that fit all places together.
  [[nodiscard]] std::uint64_t slots() const;

  [[nodiscard]] std::uint32_t distance(std::uint32_t a, std::uint32_t b) const {
    if (!axes_.empty()) {
      std::uint32_t sum = a == b ? 0 : terminals_;
      for (const Axis& axis : axes_) sum += axis.distance[axis.at[a] * axis.extent + axis.at[b]];
      return sum;
    }
    if (!table_.empty()) return a == b ? 0 : table_[static_cast<std::size_t>(row_[a]) * rows_ + row_[b]];
    return topology_->route_length(nodes_[std::min(a, b)], nodes_[std::max(a, b)]);
  }

  /// Coordinates; none where distances are no sums over coordinates.
  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  /// The place at coordinates, `nowhere` if it is not in the job. Only with axes.
  [[nodiscard]] std::uint32_t place_at(std::span<const std::uint32_t> coordinates) const;
  /// Part of every distance between different places beside the sum over coordinates: links to routers.
  [[nodiscard]] std::uint32_t terminals() const { return terminals_; }

  /// Where places of one row are at the same distance from all others: the row of a place, and the distances of
  /// rows() x rows() rows, at most 255 each. Rows are switches with one node link, or the places themselves. Empty
  /// where there are axes or too many rows.
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  [[nodiscard]] std::uint32_t row(std::uint32_t place) const { return row_[place]; }
  [[nodiscard]] const std::vector<std::uint8_t>& table() const { return table_; }

  /// Group of a place on networks of groups (the coordinate "group" of dragonflies), else 0.
  [[nodiscard]] std::uint32_t group(std::uint32_t place) const { return group_.empty() ? 0 : group_[place]; }
  [[nodiscard]] std::uint32_t groups() const { return groups_; }

  /// Appends the `count` places nearest to `place`, itself not among them, nearest first and equals by number. Where
  /// there are neither axes nor a table, of those that a breadth-first search from it comes to first. Returns how many
  /// places, or vertices of the search, it looked at.
  std::size_t near(std::uint32_t place, std::uint32_t count, std::vector<std::uint32_t>& out) const;
  /// Are there neither axes nor a table, so that distances and neighbours are asked of the network?
  [[nodiscard]] bool by_links() const { return axes_.empty() && table_.empty(); }
  /// near() of every place, the same number each, at most places() - 1: place p's are [p * count, (p + 1) * count).
  [[nodiscard]] std::vector<std::uint32_t> neighbourhoods(std::uint32_t& count) const;

 private:
  Target() = default;
  void tabulate_axes();
  void tabulate_rows();
  void find_groups();
  [[nodiscard]] std::vector<std::uint32_t> neighbourhoods_by_rows(std::uint32_t count) const;
  std::size_t near_by_links(std::uint32_t place, std::uint32_t count, std::vector<std::uint32_t>& out) const;
  void near_by_axes(std::uint32_t place, std::uint32_t count, std::vector<std::uint32_t>& out) const;

  const Topology* topology_ = nullptr;
  std::uint32_t places_ = 0;
  std::vector<Vertex> nodes_;
  std::vector<std::uint32_t> capacity_;
  std::vector<Axis> axes_;
  std::uint32_t terminals_ = 0;
  std::vector<std::uint32_t> place_at_;  ///< by coordinates, the first varying fastest; `nowhere` for holes
  bool symmetric_ = false;
  std::uint32_t rows_ = 0;
  std::vector<std::uint32_t> row_;
  std::vector<std::uint8_t> table_;
  std::vector<std::uint32_t> place_of_;  ///< of every node, where there are neither axes nor a table
  std::uint32_t groups_ = 1;
  std::vector<std::uint32_t> group_;
};

}  // namespace isthmus::mapping
