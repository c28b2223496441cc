// Ranks within the communicators of a program, asked rank after rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/program.hpp"

namespace isthmus::schedule {

class Communicators {
 public:
  /// Throws InvalidInput for a table that is none: members that are no ranks or that are listed twice.
  explicit Communicators(const Program& program);

  /// Whom the following questions are about.
  void enter(Rank rank);
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(states_.size()); }
  /// Is the rank one of communicator `comm` < count()?
  [[nodiscard]] bool member(std::uint32_t comm) const { return states_[comm].entered == rank_; }
  /// Its rank there, if it is a member.
  [[nodiscard]] Rank place(std::uint32_t comm) const { return states_[comm].place; }
  [[nodiscard]] Rank size(std::uint32_t comm) const {
    return comm == 0 ? ranks_ : static_cast<Rank>(first_[comm + 1] - first_[comm]);
  }
  /// World ranks of the members; empty for the world itself.
  [[nodiscard]] std::span<const std::uint32_t> world(std::uint32_t comm) const {
    return comm == 0 ? std::span<const std::uint32_t>{} : members_.subspan(first_[comm], size(comm));
  }
  [[nodiscard]] Rank world_rank(std::uint32_t comm, Rank place) const {
    return comm == 0 ? place : members_[first_[comm] + place];
  }
  /// How many collectives the rank has called on it; counts one more.
  std::uint32_t next_collective(std::uint32_t comm) { return states_[comm].collectives++; }

 private:
  struct State {
    Rank entered = any_rank;  // the last rank that entered and is a member
    Rank place = 0;
    std::uint32_t collectives = 0;
  };
  struct Membership {
    std::uint32_t comm;
    Rank place;
  };
  Rank ranks_;
  Rank rank_ = 0;
  std::span<const std::uint64_t> first_;
  std::span<const std::uint32_t> members_;
  std::vector<State> states_;
  std::vector<std::uint64_t> mine_first_;  // of every world rank, in mine_; empty if the world is all there is
  std::vector<Membership> mine_;
};

}  // namespace isthmus::schedule
