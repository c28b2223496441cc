// The LogGOPS simulator: when everything in a schedule happens on a machine without contention in the network.
#pragma once

#include "schedule/schedule.hpp"
#include "simulate/model/options.hpp"
#include "simulate/model/result.hpp"

namespace isthmus::simulate {
using namespace schedule;

/// Simulates a schedule that validate() accepts. Deadlock is a result (Simulated::stuck), no error. Throws InvalidInput
/// for parameters that make no sense or places that do not fit the schedule.
Simulated simulate(const Schedule& schedule, const SimulationOptions& options);

}  // namespace isthmus::simulate
