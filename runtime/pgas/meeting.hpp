// What all ranks of a team have come to, in flags in shared memory that only rise.
//
// Collectives whose ranks wait for all others on entry or exit have numbers, in the order in which every rank begins
// them. A rank says to which number it has come; in steps by twice the distance each, ranks tell on the least number of
// all that they have heard of. Who has come to a number has come to those before it, so one flag a step serves any
// number of collectives under way, and nothing is ever set back.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/pgas/segments.hpp"

namespace isthmus::runtime {

/// The number up to which a rank is through with all, where it ends them in any order.
class InOrder {
 public:
  void pass(std::uint64_t number) {
    const std::uint64_t at = number - reached_ - 1;
    if (passed_.size() <= at) passed_.resize(at + 1);
    passed_[at] = true;
    const auto first = std::find(passed_.begin(), passed_.end(), false);
    reached_ += static_cast<std::uint64_t>(first - passed_.begin());
    passed_.erase(passed_.begin(), first);
  }
  [[nodiscard]] std::uint64_t reached() const { return reached_; }

 private:
  std::uint64_t reached_ = 0;
  std::vector<bool> passed_;  // of the numbers behind it
};

class Meeting {
 public:
  /// The flags of each rank, which live as long.
  Meeting(std::span<MeetingFlag* const> flags, Rank rank);

  /// The number of the next collective.
  std::uint64_t next() { return ++numbers_; }
  /// This rank has come to a number, and to all before it.
  void come(std::uint64_t number) { reached_[0] = number; }
  /// It has come to this number, but not necessarily to those before it, which are waited for.
  void pass(std::uint64_t number) {
    passed_.pass(number);
    reached_[0] = passed_.reached();
  }
  /// Whether all ranks have come to a number; tells others what this rank has heard.
  bool all(std::uint64_t number);

 private:
  static constexpr std::size_t most_rounds = BoardPlaces::most_rounds;

  std::span<MeetingFlag* const> flags_;
  Rank rank_;
  std::uint32_t steps_ = 0;
  std::uint64_t numbers_ = 0;
  std::array<std::uint64_t, most_rounds + 1> reached_{};  // by as many ranks before this one as steps have come from
  std::array<std::uint64_t, most_rounds> told_{};
  InOrder passed_;
};

}  // namespace isthmus::runtime
