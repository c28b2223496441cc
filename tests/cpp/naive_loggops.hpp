// LogGOPS as its authors tell it: one queue of events, each blocked event put back into it with its old number. Slow
// and obvious, for comparison with simulate::simulate().
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulate/model/options.hpp"

namespace isthmus::test {
using namespace schedule;
using namespace simulate;

/// What came of it; operations in the order of schedule.ops.
struct Naive {
  Picoseconds makespan = 0;
  std::vector<Picoseconds> finish;
  std::uint64_t executed = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::vector<Picoseconds> start;     ///< -1: never
  std::vector<std::int64_t> partner;  ///< -1: none
  std::vector<bool> done;
};

/// options.detail, symmetry and progress have no effect.
Naive simulate_naively(const Schedule& schedule, const SimulationOptions& options);

}  // namespace isthmus::test
