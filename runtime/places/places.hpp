// Where the ranks of a job are: the dimensions of its partition, coordinates, hops. The file is written by `isthmus
// map` (python/isthmus/mapping/launch/places.py says what its lines are), so that nothing here knows a topology.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::runtime {

/// One coordinate of the nodes of a job.
struct PlaceDimension {
  std::string name;
  std::uint32_t extent = 0;
  std::uint32_t ring = 0;  ///< nodes of the machine in a ring of which the extent is a part; 0: the ends are not joined
  bool wraps = false;      ///< the job has the whole ring
};

class Places {
 public:
  /// Reads a whole file. `name` is what messages call it. Throws InvalidInput with the line and what was allowed.
  Places(std::string_view text, const std::string& name);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(node_.size()); }
  [[nodiscard]] const std::vector<PlaceDimension>& dimensions() const { return dimensions_; }
  [[nodiscard]] std::uint32_t node(std::uint32_t rank) const { return node_[rank]; }
  [[nodiscard]] std::uint32_t core(std::uint32_t rank) const { return core_[rank]; }
  [[nodiscard]] std::span<const std::uint32_t> coordinates(std::uint32_t rank) const {
    return std::span(coordinates_).subspan(rank * dimensions_.size(), dimensions_.size());
  }
  /// The ranks of the node at the coordinates, ascending; none where there are none.
  [[nodiscard]] std::span<const std::uint32_t> at(std::span<const std::uint32_t> coordinates) const;
  /// Links between the nodes of two ranks. Throws Unsupported where the file does not say.
  [[nodiscard]] std::uint32_t hops(std::uint32_t from, std::uint32_t to) const;
  /// Whether hops follow from coordinates.
  [[nodiscard]] bool grid() const { return grid_; }

 private:
  void index();

  std::vector<PlaceDimension> dimensions_;
  std::vector<std::uint32_t> node_, core_, coordinates_;
  std::vector<std::uint32_t> row_;      // of a rank's node in table_
  std::vector<std::uint32_t> by_node_;  // ranks in the order of their coordinates
  std::string table_;                   // hops of each pair of rows
  std::uint32_t rows_ = 0;
  bool grid_ = false;
};

}  // namespace isthmus::runtime
