// What all ranks of a space have come to, in flags in shared memory that only rise.
//
// Collectives whose ranks wait for all others on entry or exit have numbers, in the order in which every rank begins
// them. A rank says to which number it has come; in steps by twice the distance each, ranks tell on the least number of
// all that they have heard of. Who has come to a number has come to those before it, so one flag a step serves any
// number of collectives under way, and nothing is ever set back.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/pgas/segments.hpp"

namespace isthmus::runtime {

class Meeting {
 public:
  /// The flags of a rank.
  using Flags = MeetingFlag (Control::*)[Control::most_rounds];

  Meeting(const Segments& segments, Flags flags, Rank rank, Rank ranks);

  /// The number of the next collective.
  std::uint64_t next() { return ++numbers_; }
  /// This rank has come to a number, and to all before it.
  void come(std::uint64_t number) { reached_[0] = number; }
  /// It has come to this number, but not necessarily to those before it, which are waited for.
  void pass(std::uint64_t number);
  /// Whether all ranks have come to a number; tells others what this rank has heard.
  bool all(std::uint64_t number);

 private:
  const Segments& segments_;
  Flags flags_;
  Rank rank_, ranks_;
  std::uint32_t steps_ = 0;
  std::uint64_t numbers_ = 0;
  std::array<std::uint64_t, Control::most_rounds + 1>
      reached_{};  // by as many ranks before this one as steps have come from
  std::array<std::uint64_t, Control::most_rounds> told_{};
  std::vector<bool> passed_;  // of the numbers behind reached_[0]
};

}  // namespace isthmus::runtime
