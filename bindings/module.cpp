#include <nanobind/nanobind.h>

#include "base/error.hpp"

namespace nb = nanobind;

namespace isthmus {
void bind_collectives(nb::module_& module);
void bind_goal(nb::module_& module);
void bind_interruption(nb::module_& module);
void bind_mapping(nb::module_& module);
void bind_proof(nb::module_& module);
void bind_recording(nb::module_& module);
void bind_schedule(nb::module_& module);
void bind_mapping(nb::module_& module);
void bind_simulate(nb::module_& module);
void bind_structure(nb::module_& module);
}  // namespace isthmus
void bind_topology(nb::module_& module);

NB_MODULE(_core, module) {
  module.doc() = "The compiled core of Isthmus.";
  // Users catch one InvalidInput (a ValueError) and one Unsupported, wherever they are raised.
  const nb::module_ errors = nb::module_::import_("isthmus.errors");
  nb::exception<isthmus::InvalidInput>(module, "InvalidInput", errors.attr("InvalidInput"));
  nb::exception<isthmus::Unsupported>(module, "Unsupported", errors.attr("Unsupported"));
  isthmus::bind_interruption(module);
  bind_topology(module);
  isthmus::bind_schedule(module);
  isthmus::bind_collectives(module);
  isthmus::bind_goal(module);
  isthmus::bind_simulate(module);
  isthmus::bind_mapping(module);
  isthmus::bind_proof(module);
  isthmus::bind_structure(module);
  isthmus::bind_recording(module);
}
