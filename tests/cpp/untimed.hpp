// Runs schedules without time: any legal order, messages matched first come first served. Slow and obvious.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::test {
using namespace schedule;

/// What came of it, by operation in the order of schedule.ops.
struct Run {
  std::uint64_t left = 0;             ///< operations that never were done: 0 unless there is a deadlock
  std::vector<std::uint64_t> knows;   ///< set of the ranks (below 64) whose beginning it depends on, its own among them
  std::vector<std::uint32_t> depth;   ///< messages on the longest chain that leads to it
  std::vector<std::int64_t> partner;  ///< the operation at the other end of the message; -1: none
};

/// Ranks take turns by chance; each takes its first operation that may start. `eager`: sends are done at once,
/// otherwise when they are matched. Puts and gets are done at once.
Run run_untimed(const Schedule& schedule, bool eager, std::uint64_t seed);

/// Operations of a rank that no other waits for to be done, numbered as in schedule.ops.
std::vector<std::uint64_t> ends_of(const Schedule& schedule, Rank rank);

}  // namespace isthmus::test
