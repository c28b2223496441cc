// A lower bound of the work of ranks and interfaces for any order of operations, without a simulation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulate/model/options.hpp"

namespace isthmus::simulate {
using namespace schedule;

/// Picoseconds that a simulation cannot be shorter than, for each size, if the amounts of all messages, copies and
/// reductions, which are multiples of `unit`, were as many times the size: the time for which the busiest CPU stream or
/// side of an interface is occupied. An interface has to do with each message for its gap; after the last one's begin
/// comes what a message takes from end to end. Puts and gets are not counted. Nothing where an amount is no multiple.
std::vector<double> work_bound(const Schedule& schedule, const SimulationOptions& options, std::uint64_t unit,
                               std::span<const std::uint64_t> sizes);

}  // namespace isthmus::simulate
