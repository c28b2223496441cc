// Raw traces for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "base/error.hpp"
#include "recording/raw_trace.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
using namespace recording;

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
        RawPieces found;
        {
          const nb::gil_scoped_release release;
          found = raw_pieces(view(words), records);
        }
        return std::tuple(array_from(std::move(found.begins)), found.last_request);
      },
      "words"_a, "records"_a,
      "Where pieces of at least so many records may begin without cutting requests, in words; the largest number of a "
      "request that is opened.");
  module.def(
      "raw_gather",
      [](const Input<std::uint64_t>& words, const Input<std::int64_t>& at, std::size_t size) {
        for (const std::int64_t place : view(at)) {
          require(place >= 0 && static_cast<std::size_t>(place) + size <= words.shape(0), "word ", place,
                  " is not within a trace of ", words.shape(0), " words");
        }
        auto [data, owner] = allocate<std::uint64_t>(at.shape(0) * size);
        {
          const nb::gil_scoped_release release;
          raw_gather(view(words), view(at), size, data);
        }
        return Output<std::uint64_t>(data, {at.shape(0) * size}, owner);
      },
      "words"_a, "at"_a, "size"_a, "So many words from each of these places, one after another.");
}

}  // namespace isthmus::bindings
