// Regular patterns for Python: recognition, and the maps that follow from it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "base/error.hpp"
#include "mapping/geometric/curves.hpp"
#include "mapping/geometric/geometric.hpp"
#include "mapping/problem/pattern_graph.hpp"
#include "mapping/regular/fold_map.hpp"
#include "mapping/regular/grid_heuristics.hpp"
#include "mapping/regular/structure.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
using namespace mapping;
namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Grid = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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

/// Runs without Python's lock.
template <class Function>
auto unlocked(const Function& function) {
  const nb::gil_scoped_release release;
  return function();
}

std::optional<Output<std::uint32_t>> places(std::optional<Map>&& map) {
  if (!map) return std::nullopt;
  return array_from(std::move(*map));
}

}  // namespace

void bind_structure(nb::module_& module) {
  nb::class_<Structure>(module, "StructureArrays", "A recognised pattern; see isthmus.structure.")
      .def_prop_ro("kinds",
                   [](const Structure& s) {
                     std::vector<std::string> out;
                     for (const Factor& f : s.factors) out.emplace_back(name_of(f.kind));
                     return out;
                   })
      .def_prop_ro("extents",
                   [](const Structure& s) {
                     std::vector<std::uint32_t> out;
                     for (const Factor& f : s.factors) out.push_back(f.extent);
                     return out;
                   })
      .def_prop_ro("coordinates",
                   [](nb::handle self) {
                     const auto& s = nb::cast<const Structure&>(self);
                     const std::size_t d = s.factors.size();
                     return nb::ndarray<nb::numpy, const std::uint32_t>(s.coordinates.data(),
                                                                        {s.coordinates.size() / d, d}, self);
                   })
      .def_prop_ro("stencil", [](const Structure& s) { return name_of(s.stencil); })
      .def_ro("explained", &Structure::explained)
      .def("__getstate__",
           [](const Structure& s) {
             std::vector<std::pair<std::uint8_t, std::uint32_t>> factors;
             for (const Factor& f : s.factors) factors.emplace_back(static_cast<std::uint8_t>(f.kind), f.extent);
             return std::make_tuple(std::move(factors), array_of(s.coordinates), static_cast<std::uint8_t>(s.stencil),
                                    s.explained);
           })
      .def("__setstate__", [](Structure& self, const std::tuple<std::vector<std::pair<std::uint8_t, std::uint32_t>>,
                                                                Input<std::uint32_t>, std::uint8_t, double>& state) {
        const auto& [factors, coordinates, stencil, explained] = state;
        new (&self) Structure{{}, vector_of(coordinates), static_cast<Stencil>(stencil), explained};
        for (const auto& [kind, extent] : factors) self.factors.push_back({static_cast<FactorKind>(kind), extent});
      });
  module.def(
      "pattern_graph",
      [](const Input<std::uint64_t>& first, const Input<std::uint32_t>& peer, const Input<std::uint64_t>& bytes) {
        return unlocked([&] { return pattern_graph(view(first), view(peer), view(bytes)); });
      },
      "first"_a, "peer"_a, "bytes"_a, "The task graph of a pattern, both directions of a pair added up.");
  module.def(
      "recognise",
      [](const TaskGraph& graph, double least_explained, double seconds) {
        double spent = 0;
        auto found = unlocked([&] { return recognise(graph.links, graph.bytes, least_explained, seconds, &spent); });
        return std::pair(std::move(found), spent);
      },
      "graph"_a, "least_explained"_a = 0.9, "seconds"_a = std::numeric_limits<double>::infinity(),
      "What the graph is a product of, None if nothing regular or if that takes longer, and the seconds that it took; "
      "in counted steps.");
  module.def(
      "fold_map",
      [](const TaskGraph& graph, const Target& target, const Structure& structure) {
        return places(unlocked([&] { return fold_map(graph, target, structure); }));
      },
      "graph"_a, "target"_a, "structure"_a, "The best fold of a grid into a box of nodes; None where nothing fits.");
  module.def(
      "grid_heuristic_map",
      [](const std::string& name, const Structure& structure, const Target& target) {
        const GridHeuristic heuristic = grid_heuristic_from(name);
        return places(unlocked([&] { return grid_heuristic_map(heuristic, structure, target); }));
      },
      "name"_a, "structure"_a, "target"_a, "A grid placed by one heuristic; None where it does not apply.");
  module.def(
      "curve_map",
      [](const std::string& curve, const Grid& coordinates, const Target& target) {
        const Curve kind = curve_from(curve);
        const std::span<const std::uint32_t> at(coordinates.data(), coordinates.size());
        return array_from(unlocked([&] { return curve_map(kind, at, coordinates.shape(1), target); }));
      },
      "curve"_a, "coordinates"_a, "target"_a, "Tasks and slots in the order of a space-filling curve.");
  module.def(
      "geometric_map",
      [](const TaskGraph& graph, const Matrix& coordinates, const Target& target) {
        const std::span<const double> at(coordinates.data(), coordinates.size());
        return array_from(unlocked([&] { return geometric_map(graph, at, coordinates.shape(1), target); }));
      },
      "graph"_a, "coordinates"_a, "target"_a, "Tasks and nodes halved together.");
}

}  // namespace isthmus::bindings
