// Ranks in groups, such as those of a node.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "schedule/collective.hpp"

namespace isthmus::collectives {
using namespace schedule;

/// The groups of a call, in the order of their first ranks; members in the order of ranks.
class Groups : public Plan {
 public:
  /// From the options: of so many consecutive ranks, or by the group of every world rank; without, of as many
  /// consecutive ranks as there are groups, or one more. Throws InvalidInput for a list that is too short and for
  /// groups of no ranks.
  explicit Groups(const CollectiveCall& call);

  [[nodiscard]] Rank count() const { return static_cast<Rank>(first_.size() - 1); }
  [[nodiscard]] Rank of(Rank rank) const { return group_[rank]; }
  /// The rank's number within its group.
  [[nodiscard]] Rank place(Rank rank) const { return place_[rank]; }
  [[nodiscard]] std::span<const Rank> members(Rank group) const {
    return std::span(members_).subspan(first_[group], first_[group + std::size_t{1}] - first_[group]);
  }
  [[nodiscard]] Rank leader(Rank group) const { return members_[first_[group]]; }

 private:
  std::vector<Rank> group_;
  std::vector<Rank> place_;
  std::vector<Rank> members_;
  std::vector<Rank> first_;
};

inline const Groups& groups_of(const CollectiveCall& call) { return static_cast<const Groups&>(*call.plan); }

}  // namespace isthmus::collectives
