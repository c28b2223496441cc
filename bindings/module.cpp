#include <nanobind/nanobind.h>

#include <cstdlib>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/error.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
void bind_interruption(nb::module_& module);
void bind_topology(nb::module_& module);
void bind_schedule(nb::module_& module);
void bind_collectives(nb::module_& module);
void bind_goal(nb::module_& module);
void bind_simulate(nb::module_& module);
void bind_mapping(nb::module_& module);
void bind_multigrid(nb::module_& module);
void bind_proof(nb::module_& module);
void bind_structure(nb::module_& module);
void bind_recording(nb::module_& module);
}  // namespace isthmus::bindings

NB_MODULE(_core, module) {
  using namespace isthmus::bindings;
  module.doc() = "The compiled core of Isthmus.";
  // Users catch one InvalidInput (a ValueError) and one Unsupported, wherever they are raised.
  const nb::module_ errors = nb::module_::import_("isthmus.errors");
  nb::exception<isthmus::InvalidInput>(module, "InvalidInput", errors.attr("InvalidInput"));
  nb::exception<isthmus::Unsupported>(module, "Unsupported", errors.attr("Unsupported"));
  bind_interruption(module);
  bind_topology(module);
  bind_schedule(module);
  bind_collectives(module);
  bind_goal(module);
  bind_simulate(module);
  bind_mapping(module);
  bind_multigrid(module);
  bind_proof(module);
  bind_structure(module);
  bind_recording(module);
  module.def(
      "release_memory",
      [] {
#if defined(__GLIBC__)
        malloc_trim(0);
#endif
      },
      "Give memory that is not used back to the system, where the allocator keeps it between what is used.");
}
