// Programs that do the same over and over: where every rank of a schedule repeats a body of operations, and the same
// schedule with fewer repetitions.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::simulate {
using namespace schedule;

/// The loop of one rank; operations are numbered within it.
struct Loop {
  std::uint32_t first = 0;    ///< operation of the body
  std::uint32_t length = 0;   ///< operations of the body; 0: it repeats nothing
  std::uint32_t entered = 0;  ///< iterations, from the first on, that operations before the loop may lead to
  std::uint32_t streams = 0;  ///< a bit for each CPU stream of the rank that is used in the loop or after it
};

struct Loops {
  std::vector<Loop> of;          ///< every rank
  std::uint32_t iterations = 0;  ///< of all ranks that repeat something
  std::uint64_t ops = 0;         ///< of an iteration, on all ranks together
  std::uint32_t reach = 0;       ///< most iterations between two operations of which one depends on the other
  // To be found by a simulation:
  bool probe = false;                                          ///< from when on iterations repeat; it stops there
  std::uint32_t from = 0;                                      ///< or what happens from the end of this iteration
  std::uint32_t period = 0;                                    ///< for so many
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps;  ///< communicators whose tags advance, by how much

  /// By how much the tags of a communicator advance with every iteration.
  [[nodiscard]] std::uint32_t step(std::uint32_t comm) const {
    for (const auto& [c, by] : steps)
      if (c == comm) return by;
    return 0;
  }
};

struct Repetition;

/// How many iterations show a repetition that a probe has found, with some that are through before the loop is left.
std::uint32_t iterations_needed(const Loops& loops, const Repetition& repetition);

/// The longest loop of every rank, with the same number of iterations for all: their operations are equal but for tags
/// that advance, and so are their dependencies, counted from the operation. Nothing where there is none, where
/// receives have wildcards, and where operations of the loop wait for nothing. Linear in the schedule.
std::optional<Loops> find_loops(const Schedule& schedule);

/// The schedule with fewer iterations. Tags after the loop come earlier by those of the iterations that are left out.
/// Nothing where a dependency leads into these iterations from outside. Buffers are left out.
std::optional<Schedule> shorten(const Schedule& schedule, const Loops& loops, std::uint32_t iterations);

}  // namespace isthmus::simulate
