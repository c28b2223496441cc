// Which operations of a rank are done before others begin, whatever the time they take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// The dependencies of one rank, backwards. The rank must be free of circles (check_acyclic).
///
/// Most questions are answered by one number of each operation: how many operations, from the first in the order on,
/// are done before it begins. Others are searched for, and ranks that need many searches get a table of all answers if
/// it is small enough.
class LocalOrder {
 public:
  void load(const Schedule& schedule, Rank rank);

  /// Dependencies of an operation; the start bit says that it waits only for its start.
  [[nodiscard]] std::span<const Edge> needs(std::uint32_t op) const {
    return {needs_.data() + first_[op], needs_.data() + first_[op + 1]};
  }
  /// All operations, each after those that it waits for; in the order of the schedule where that is such an order.
  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
  [[nodiscard]] std::uint32_t position(std::uint32_t op) const { return position_[op]; }

  /// Is `a` done before `b` begins?
  [[nodiscard]] bool done_before(std::uint32_t a, std::uint32_t b);
  /// The same, answered without a search: false may mean that nobody has looked.
  [[nodiscard]] bool surely_done_before(std::uint32_t a, std::uint32_t b) const { return position_[a] < complete_[b]; }
  /// Does `a` begin no later than `b`?
  [[nodiscard]] bool begins_before(std::uint32_t a, std::uint32_t b);

 private:
  void sort(const Schedule& schedule, Rank rank);
  bool search(std::uint32_t a, std::uint32_t b, bool done);
  void tabulate();

  std::vector<std::uint64_t> first_;  // of each operation in needs_, and the end
  std::vector<Edge> needs_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> complete_;  // so many operations, in order_, are done before it begins
  std::vector<std::uint32_t> seen_;      // the last search that came by
  std::vector<std::uint32_t> stack_;
  std::uint32_t searches_ = 0;
  std::uint64_t steps_ = 0;           // of all searches
  std::vector<std::uint64_t> table_;  // bit a of row b: a is done before b begins; empty if there is none
  std::size_t words_ = 0;             // of a row
};

}  // namespace isthmus::proof
