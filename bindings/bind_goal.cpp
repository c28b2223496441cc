// GOAL files and validation for Python; files are opened, mapped and replaced there.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "schedule/goal_binary.hpp"
#include "schedule/goal_text.hpp"
#include "schedule/validate.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
using namespace schedule;
namespace {

/// Takes pieces of a file.
using Sink = nb::typed<nb::callable, nb::any(nb::bytes)>;

/// Raises isthmus.errors.ParseError, whose four arguments a translated C++ exception could not carry.
[[noreturn]] void raise_parse_error(const std::string& file, const GoalError& error) {
  const nb::object type = nb::module_::import_("isthmus.errors").attr("ParseError");
  const nb::object line = error.line() == 0 ? nb::none() : nb::object(nb::int_(error.line()));
  const nb::object field = error.field().empty() ? nb::none() : nb::object(nb::str(error.field().c_str()));
  const nb::object value = type(file, line, field, error.what());
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

template <class Parse>
Schedule parsed(Parse parse, const Input<std::uint8_t>& data, const std::string& file, std::uint64_t unit) {
  try {
    const nb::gil_scoped_release release;
    return parse({reinterpret_cast<const char*>(data.data()), data.shape(0)}, unit);
  } catch (const GoalError& error) {
    raise_parse_error(file, error);
  }
}

template <class Write>
void written(Write write, const Schedule& schedule, const Sink& sink, std::uint64_t unit,
             std::optional<double> picoseconds_per_byte) {
  write(schedule, GoalWriting{unit, picoseconds_per_byte},
        [&](std::span<const char> piece) { sink(nb::bytes(piece.data(), piece.size())); });
}

}  // namespace

void bind_goal(nb::module_& module) {
  module.def(
      "goal_parse_text",
      [](const Input<std::uint8_t>& data, const std::string& file, std::uint64_t unit) {
        return parsed(parse_goal_text, data, file, unit);
      },
      "data"_a, "file"_a, "unit"_a,
      "The schedule of a GOAL text, given as bytes; file is for messages, unit in picoseconds. See read_goal.");
  module.def(
      "goal_parse_binary",
      [](const Input<std::uint8_t>& data, const std::string& file, std::uint64_t unit) {
        return parsed(parse_goal_binary, data, file, unit);
      },
      "data"_a, "file"_a, "unit"_a,
      "The schedule of a GOAL binary, given as bytes; file is for messages, unit in picoseconds. See read_goal.");
  module.def(
      "goal_write_text",
      [](const Schedule& schedule, const Sink& sink, std::uint64_t unit, std::optional<double> picoseconds_per_byte) {
        written(write_goal_text, schedule, sink, unit, picoseconds_per_byte);
      },
      "schedule"_a, "sink"_a, "unit"_a, "picoseconds_per_byte"_a.none(),
      "Calls sink with pieces of a GOAL text, as bytes; unit in picoseconds. See write_goal.");
  module.def(
      "goal_write_binary",
      [](const Schedule& schedule, const Sink& sink, std::uint64_t unit, std::optional<double> picoseconds_per_byte) {
        written(write_goal_binary, schedule, sink, unit, picoseconds_per_byte);
      },
      "schedule"_a, "sink"_a, "unit"_a, "picoseconds_per_byte"_a.none(),
      "Calls sink with pieces of a GOAL binary, as bytes; unit in picoseconds. See write_goal.");
  module.def(
      "validate", [](const Schedule& schedule) { validate(schedule); }, "schedule"_a,
      nb::call_guard<nb::gil_scoped_release>(),
      R"(Check a schedule.

Checked are the arrays and single operations (kinds, peers, tags, amounts, dependencies, buffers), that no operation
waits for itself through others, and that sends and receives can match. A receive takes a send of its communicator,
source and tag, or of any with wildcards; sizes are not compared. Refused is, for one receiving rank and communicator,

- a source and tag sent more often than there are receives that could take it,
- a source and tag received more often than sent, or receives from one source, or of one tag, that outnumber the sends
  that they could take,
- more sends than receives in all, or more receives than sends.

Then some operation stays unmatched in every execution; the message names one of those counted. What is accepted can
be matched completely in some order, unless a rank posts both receives of any tag from one rank and receives of one tag
from any rank: these are counted as said, but no assignment is searched.

Raises
------
InvalidInput
    With one sentence that names rank, operation and reason.)");
}

}  // namespace isthmus::bindings
