#include <nanobind/nanobind.h>

#include "base/error.hpp"

namespace nb = nanobind;

void bind_topology(nb::module_& module);

NB_MODULE(_core, module) {
  module.doc() = "The compiled core of Isthmus.";
  // The error policy: InvalidInput is a ValueError, Unsupported a NotImplementedError.
  nb::exception<isthmus::InvalidInput>(module, "InvalidInput", PyExc_ValueError);
  nb::exception<isthmus::Unsupported>(module, "Unsupported", PyExc_NotImplementedError);
  bind_topology(module);
}
