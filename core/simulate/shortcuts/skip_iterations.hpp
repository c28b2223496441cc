// Iterations that repeat exactly are not simulated: when the state of the simulator is that of an earlier iteration, a
// program with a few iterations is simulated instead, and the result is told of all.
#pragma once

#include <functional>
#include <optional>

#include "simulate/model/options.hpp"
#include "simulate/model/result.hpp"

namespace isthmus::simulate {

using Simulate = std::function<Simulated(const Schedule&, const SimulationOptions&)>;

/// The result of simulate(schedule, options), to the last bit; none if iterations cannot be skipped: without a loop
/// of some length, with noise, with routes that are chosen at random or by load, with traffic over time, and where
/// something is left over at the end (a deadlock, a message that nobody receives).
std::optional<Simulated> simulate_repeating(const Schedule& schedule, const SimulationOptions& options,
                                            const Simulate& simulate);

}  // namespace isthmus::simulate
