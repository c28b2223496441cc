// Counts of distributed sparse matrices for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "multigrid/counts.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
namespace {

template <class Index>
auto count(const Input<Index>& first, const Input<Index>& columns, const Input<std::uint32_t>& row_owner,
           const Input<std::uint32_t>& column_owner, std::uint32_t parts) {
  multigrid::Counts counts;
  {
    const nb::gil_scoped_release release;
    counts = multigrid::count<Index>({view(first), view(columns)}, view(row_owner), view(column_owner), parts);
  }
  return std::make_tuple(array_from(std::move(counts.rows)), array_from(std::move(counts.nonzeros)),
                         array_from(std::move(counts.first)), array_from(std::move(counts.from)),
                         array_from(std::move(counts.elements)));
}

constexpr const char* what =
    "Of a sparse matrix in compressed rows whose rows and columns are owned by parts: rows, nonzeros, and whom each "
    "part receives how many elements of the vector from.";

}  // namespace

void bind_multigrid(nb::module_& module) {
  module.def("count_parts", &count<std::int32_t>, "first"_a.noconvert(), "columns"_a.noconvert(), "row_owner"_a,
             "column_owner"_a, "parts"_a, what);
  module.def("count_parts", &count<std::int64_t>, "first"_a, "columns"_a, "row_owner"_a, "column_owner"_a, "parts"_a,
             what);
}

}  // namespace isthmus::bindings
