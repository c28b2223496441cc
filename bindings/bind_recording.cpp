// Raw traces for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "recording/raw_trace.hpp"

using namespace nanobind::literals;

namespace isthmus {

void bind_recording(nb::module_& module) {
  module.def(
      "raw_records",
      [](const Input<std::uint64_t>& words) {
        RawRecords found;
        {
          const nb::gil_scoped_release release;
          found = raw_records(view(words));
        }
        return std::tuple(array_from(std::move(found.at)), found.end, found.without_length);
      },
      "words"_a, "Where the whole records of a raw trace begin and end, and one without a length, or -1; in words.");
  module.def(
      "raw_pieces",
      [](const Input<std::uint64_t>& words, std::int64_t records) {
        std::vector<std::int64_t> found;
        {
          const nb::gil_scoped_release release;
          found = raw_pieces(view(words), records);
        }
        return array_from(std::move(found));
      },
      "words"_a, "records"_a, "Where pieces of at least so many records may begin without cutting requests; in words.");
  module.def(
      "raw_last_request",
      [](const Input<std::uint64_t>& words) {
        const nb::gil_scoped_release release;
        return raw_last_request(view(words));
      },
      "words"_a, "The largest number of a request that a raw trace opens.");
}

}  // namespace isthmus
