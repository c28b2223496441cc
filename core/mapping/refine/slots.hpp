// The problem that refinement solves: as many tasks as slots, so that every change is a swap.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// A place of capacity c is c slots; tasks without partners fill the slots that a map leaves empty. Edges are in one
/// array, weights whole numbers in float, scaled so that all sums that a search can meet are exact: costs do not drift
/// however many swaps are added up.
class Slots {
 public:
  struct Edge {
    std::uint32_t to;
    float bytes;
  };

  Slots(const TaskGraph& graph, const Target& target, const Map& map);

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(task_at_.size()); }
  [[nodiscard]] const Edge* begin(std::uint32_t task) const { return edges_.data() + first_[task]; }
  [[nodiscard]] const Edge* end(std::uint32_t task) const { return edges_.data() + first_[task + 1]; }
  [[nodiscard]] std::uint32_t degree(std::uint32_t task) const { return first_[task + 1] - first_[task]; }
  /// Mean over the tasks of the bytes of all their edges, in the unit of Edge::bytes.
  [[nodiscard]] double mean_bytes_of_task() const { return mean_; }
  /// Units of Edge::bytes in a byte.
  [[nodiscard]] double scale() const { return scale_; }

  [[nodiscard]] std::uint32_t slot_of(std::uint32_t task) const { return slot_of_[task]; }
  [[nodiscard]] std::uint32_t task_at(std::uint32_t slot) const { return task_at_[slot]; }
  [[nodiscard]] std::uint32_t place_of_slot(std::uint32_t slot) const { return place_[slot]; }
  void swap(std::uint32_t u, std::uint32_t v) {
    std::swap(slot_of_[u], slot_of_[v]);
    task_at_[slot_of_[u]] = u;
    task_at_[slot_of_[v]] = v;
  }
  [[nodiscard]] float bytes_between(std::uint32_t u, std::uint32_t v) const {
    for (const Edge* e = begin(u); e != end(u); ++e) {
      if (e->to == v) return e->bytes;
    }
    return 0;
  }

  /// Memory of what searches look up at random.
  [[nodiscard]] std::size_t memory() const { return edges_.size() * sizeof(Edge) + size() * sizeof(std::uint32_t) * 3; }

  [[nodiscard]] Map map() const;

 private:
  std::uint32_t tasks_;
  double mean_ = 0;
  double scale_ = 1;
  std::vector<std::uint32_t> first_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> slot_of_;
  std::vector<std::uint32_t> task_at_;
  std::vector<std::uint32_t> place_;
  std::vector<std::uint32_t> number_;  ///< of each task of the graph: tasks are renumbered by their first slot
};

}  // namespace isthmus::mapping
