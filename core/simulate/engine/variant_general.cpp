#include <utility>

#include "simulate/engine/variant.hpp"
#include "simulate/engine/variants.hpp"

namespace isthmus::simulate {

Simulated simulate_general(const Schedule& schedule, const SimulationOptions& options, Dependencies&& dependencies) {
  return simulate_variant<Variant::general>(schedule, options, std::move(dependencies));
}

}  // namespace isthmus::simulate
