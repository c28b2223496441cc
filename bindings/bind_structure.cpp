// Recognition of regular patterns for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>

#include "arrays.hpp"
#include "base/error.hpp"
#include "mapping/structure.hpp"

using namespace nanobind::literals;

namespace isthmus {
namespace {

const char* name_of(FactorKind kind) {
  switch (kind) {
    case FactorKind::path: return "path";
    case FactorKind::cycle: return "cycle";
    case FactorKind::complete: return "complete";
    case FactorKind::independent: return "independent";
    case FactorKind::tree: return "tree";
  }
  return "";
}

const char* name_of(Stencil stencil) {
  return stencil == Stencil::star ? "star" : stencil == Stencil::box ? "box" : "mixed";
}

Csr csr_of(const Input<std::uint64_t>& first, const Input<std::uint32_t>& peer) {
  Csr out{vector_of(first), vector_of(peer)};
  require(!out.offsets.empty() && out.offsets.front() == 0 && out.offsets.back() == out.targets.size(),
          "first: must begin with 0 and end with the ", out.targets.size(), " elements of peer");
  for (std::size_t i = 1; i < out.offsets.size(); ++i) {
    require(out.offsets[i - 1] <= out.offsets[i], "first: element ", i, " is less than the one before");
  }
  for (const std::uint32_t w : out.targets) require(w < out.vertices(), "peer: ", w, " is not below ", out.vertices());
  return out;
}

using Recognised =
    std::tuple<std::vector<std::string>, std::vector<std::uint32_t>, Output<std::uint32_t>, std::string, double>;

}  // namespace

void bind_structure(nb::module_& module) {
  module.def(
      "recognise",
      [](const Input<std::uint64_t>& first, const Input<std::uint32_t>& peer, const Input<double>& weights,
         double least_explained) -> std::optional<Recognised> {
        const Csr graph = csr_of(first, peer);
        std::optional<Structure> found;
        {
          const nb::gil_scoped_release release;
          found = recognise(graph, view(weights), least_explained);
        }
        if (!found) return std::nullopt;
        std::vector<std::string> kinds;
        std::vector<std::uint32_t> extents;
        for (const Factor& f : found->factors) {
          kinds.emplace_back(name_of(f.kind));
          extents.push_back(f.extent);
        }
        return Recognised(kinds, extents, array_from(std::move(found->coordinates)), name_of(found->stencil),
                          found->explained);
      },
      "first"_a, "peer"_a, "weights"_a, "least_explained"_a = 0.9,
      "Kinds and extents of the factors, coordinates task by task, stencil, share explained; see isthmus.structure.");
}

}  // namespace isthmus
