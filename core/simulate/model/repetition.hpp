// The result of simulating a few iterations: from some moment on every iteration equals the one before.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::simulate {

/// The state at `from` is that at `from` + `length`, but for `period` iterations. What happened in between:
struct Repetition {
  std::uint32_t period = 0;  ///< iterations; 0: none was found
  std::uint32_t first = 0;   ///< after this iteration
  std::int64_t from = 0;
  std::int64_t length = 0;
  std::uint64_t executed = 0, events = 0, messages = 0, bytes = 0;
  double lost = 0;
  std::vector<std::int64_t> breakdown;           ///< ranks x shares
  std::vector<double> link_bytes;                ///< over every link
  std::uint64_t log_begin = 0, log_end = 0;      ///< of Simulated::log
  std::uint64_t route_begin = 0, route_end = 0;  ///< of Traffic::messages()
  std::uint32_t untouched = 0;                   ///< iteration of which nobody had begun anything at `from`, nor later
  std::int64_t alike_until = 0;  ///< what was done until then does not depend on the number of iterations
};

}  // namespace isthmus::simulate
