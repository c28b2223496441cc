// One variant of the engine, with as much detail as is asked for.
#pragma once

#include <utility>

#include "simulate/engine/engine.hpp"

namespace isthmus::simulate {

template <Variant variant>
Simulated simulate_variant(const Schedule& schedule, const SimulationOptions& options, Dependencies&& dependencies) {
  switch (options.detail) {
    case Detail::finish: return Engine<Detail::finish, variant>(schedule, options, std::move(dependencies)).run();
    case Detail::ranks: return Engine<Detail::ranks, variant>(schedule, options, std::move(dependencies)).run();
    default: return Engine<Detail::ops, variant>(schedule, options, std::move(dependencies)).run();
  }
}

}  // namespace isthmus::simulate
