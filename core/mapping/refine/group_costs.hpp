// Costs of swaps on networks of groups: distances, and bytes between groups beyond what their links should carry.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/refine/distances.hpp"
#include "mapping/refine/slots.hpp"

namespace isthmus::mapping {

/// Bytes between every two groups of a target, groups x groups, both halves filled.
std::vector<double> group_loads(const TaskGraph& graph, const Target& target, const Map& map);

/// Hop-bytes plus, for every two groups with more than `limit` bytes between them, `weight` * excess^2 / limit: at an
/// excess of x per cent of the limit another byte costs as much as 2 * weight * x / 100 more hops.
class GroupCosts {
 public:
  GroupCosts(const Target& target, Slots& slots, double limit, double weight);

  /// As AxisCosts::change_at_best(), but exact.
  [[nodiscard]] float change_at_best(std::uint32_t u, std::uint32_t v);
  [[nodiscard]] float change_between(std::uint32_t, std::uint32_t) const { return 0; }
  void swap(std::uint32_t u, std::uint32_t v);
  /// Processor time, about, of so many proposals and the set-up, see effort.hpp.
  [[nodiscard]] double seconds(std::uint64_t proposals) const;
  void set_weight(double weight) { weight_ = static_cast<float>(weight); }

 private:
  [[nodiscard]] float penalty(double load) const {
    const auto excess = static_cast<float>(load - limit_);
    return excess > 0 ? weight_ * excess * excess / limit_ : 0;
  }
  [[nodiscard]] std::uint32_t group(std::uint32_t task) const { return group_[slots_->slot_of(task)]; }
  /// Tells `add` what the bytes of `task`, but for those with `other`, take from group pair to group pair.
  template <class Add>
  void shift(std::uint32_t task, std::uint32_t other, std::uint32_t from, std::uint32_t to, Add add) const {
    for (const Slots::Edge* e = slots_->begin(task); e != slots_->end(task); ++e) {
      if (e->to == other) continue;
      const std::uint32_t there = group(e->to);
      add(from, there, -e->bytes);
      add(to, there, e->bytes);
    }
  }

  Slots* slots_;
  Distances distances_;
  std::uint32_t groups_;
  float limit_;
  float weight_;
  std::vector<std::uint32_t> group_;  ///< of a slot
  std::vector<double> load_;          ///< groups x groups
  std::uint64_t edges_ = 0;           ///< that proposals looked at
  std::uint64_t apart_ = 0;           ///< of them those of tasks in different groups
  std::uint64_t moved_ = 0;           ///< of them those of swaps that were made
  std::vector<double> change_;        ///< of the two rows that a swap changes; zero between calls
};

}  // namespace isthmus::mapping
