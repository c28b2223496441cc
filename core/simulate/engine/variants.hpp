// The variants of the engine, each compiled in a file of its own: no other code takes as long.
#pragma once

#include <cstdint>

#include "schedule/schedule.hpp"
#include "simulate/engine/dependencies.hpp"
#include "simulate/model/options.hpp"
#include "simulate/model/result.hpp"

namespace isthmus::simulate {
using namespace schedule;

enum class Variant : std::uint8_t {
  plain,  ///< one CPU stream and one interface per rank, all ranks equally far from each other, no noise, no watch for
          ///< ties: the machine of most large simulations, without a branch for anything else
  general,
  network,  ///< messages meet in a network
};

/// One CPU stream and one interface per rank, all ranks equally far from each other, no noise, no watch for ties.
Simulated simulate_plain(const Schedule& schedule, const SimulationOptions& options, Dependencies&& dependencies);
/// Anything but messages that meet in a network.
Simulated simulate_general(const Schedule& schedule, const SimulationOptions& options, Dependencies&& dependencies);
/// Messages meet in a network.
Simulated simulate_network(const Schedule& schedule, const SimulationOptions& options, Dependencies&& dependencies);

}  // namespace isthmus::simulate
