#include <utility>

#include "simulate/engine/variant.hpp"
#include "simulate/engine/variants.hpp"

namespace isthmus::simulate {

Simulated simulate_plain(const Schedule& schedule, const SimulationOptions& options, Dependencies&& dependencies) {
  return simulate_variant<Variant::plain>(schedule, options, std::move(dependencies));
}

}  // namespace isthmus::simulate
