// Ctrl-C of Python in long work of the core, which runs without the GIL.
#include <nanobind/nanobind.h>

#include <memory>

#include "base/interruption.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace isthmus::bindings {
namespace {

/// Runs Python's handlers of signals that have come; true where one raised an exception, which stays set. Python does
/// so in its main thread only.
bool python_asks() {
  const nb::gil_scoped_acquire hold;
  return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
}

}  // namespace

void bind_interruption(nb::module_& module) {
  interruption::is_asked_from_outside = &python_asks;
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Interrupted&) {
      if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
  struct Holder {
    std::shared_ptr<Stop> stop = std::make_shared<Stop>();
  };
  nb::class_<Holder>(module, "Stop", "Ends the work of other threads in the core; see isthmus.interruption.Threads.")
      .def("__init__",
           [](Holder* self) {
             new (self) Holder;
             self->stop->around = interruption::stop();
           })
      .def(
          "obey", [](const Holder& h) { interruption::stop() = h.stop; },
          "From now on this thread's work in the core ends with KeyboardInterrupt once it is asked to.")
      .def("ask", [](const Holder& h) { h.stop->asked = true; }, "Ask the threads that obey to end.");
}

}  // namespace isthmus::bindings
