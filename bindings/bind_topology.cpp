// Topologies for Python: the class with its answers as NumPy arrays, and one factory per kind.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "arrays.hpp"
#include "base/error.hpp"
#include "topology/dragonfly.hpp"
#include "topology/dragonfly_plus.hpp"
#include "topology/fat_tree.hpp"
#include "topology/graph_topology.hpp"
#include "topology/grid.hpp"
#include "topology/hypercube.hpp"
#include "topology/hyperx.hpp"
#include "topology/loads.hpp"
#include "topology/rail.hpp"
#include "topology/shift.hpp"
#include "topology/slim_fly.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace isthmus::bindings {
using namespace topology;
namespace {

using Vertices = Input<std::uint32_t>;
using Numbers = std::vector<std::uint32_t>;
using Shared = std::shared_ptr<Topology>;
/// Name of a link class, bandwidth (bytes/s) and latency (s); a negative number leaves the default.
using LinkList = std::vector<std::tuple<std::string, double, double>>;

/// Calls `body(index)` without the GIL for every index and returns its results as an array.
template <class T, class Body>
Output<T> map_array(std::size_t count, Body body) {
  auto [data, owner] = allocate<T>(count);
  {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < count; ++i) data[i] = body(i);
  }
  return Output<T>(data, {count}, owner);
}

Output<std::uint32_t> distances(const Topology& t, const Vertices& from, const Vertices& to) {
  auto [data, owner] = allocate<std::uint32_t>(from.shape(0));
  {
    nb::gil_scoped_release release;
    t.distances(view(from), view(to), {data, from.shape(0)});
  }
  return Output<std::uint32_t>(data, {from.shape(0)}, owner);
}

/// Distances of arrays that are broadcast against each other, in their shape.
nb::object broadcast_distances(nb::handle self, nb::handle a, nb::handle b) {
  return nb::module_::import_("isthmus.machine.node_pairs")
      .attr("of_pairs")(self.attr("distances"), a, b, self.attr("nodes"), self.attr("spec"));
}

Output<std::uint32_t> route_lengths(const Topology& t, const Vertices& from, const Vertices& to) {
  require(from.shape(0) == to.shape(0), "route lengths of ", from.shape(0), " nodes to ", to.shape(0));
  auto [data, owner] = allocate<std::uint32_t>(from.shape(0));
  {
    nb::gil_scoped_release release;
    t.route_lengths(view(from), view(to), {data, from.shape(0)});
  }
  return Output<std::uint32_t>(data, {from.shape(0)}, owner);
}

using Routes = std::pair<Output<std::uint64_t>, Output<std::uint32_t>>;

Routes routes(const Topology& t, const Vertices& from, const Vertices& to,
              std::optional<nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>> out) {
  const std::size_t n = from.shape(0);
  auto [offsets, offsets_owner] = allocate<std::uint64_t>(n + 1);
  {
    nb::gil_scoped_release release;
    // Lengths go where offsets will be: both are one number a pair.
    std::vector<std::uint32_t> lengths(n);
    t.route_lengths(view(from), view(to), lengths);
    offsets[0] = 0;
    for (std::size_t i = 0; i < n; ++i) offsets[i + 1] = offsets[i] + lengths[i];
  }
  const std::size_t total = offsets[n];
  const auto write = [&](LinkId* links) {
    nb::gil_scoped_release release;
    t.routes(view(from), view(to), {offsets, n + 1}, links);
  };
  if (out) {
    require(out->shape(0) >= total, "out has room for ", out->shape(0), " links, the routes have ", total);
    write(out->data());
    return {Output<std::uint64_t>(offsets, {n + 1}, offsets_owner),
            Output<std::uint32_t>(out->data(), {total}, nb::find(*out))};
  }
  auto [links, links_owner] = allocate<std::uint32_t>(total);
  write(links);
  return {Output<std::uint64_t>(offsets, {n + 1}, offsets_owner), Output<std::uint32_t>(links, {total}, links_owner)};
}

Routes candidates(const Topology& t, Vertex from, Vertex to, const std::string& method, std::size_t count,
                  std::uint64_t seed) {
  std::vector<std::uint64_t> offsets{0};
  std::vector<LinkId> links;
  Rng rng(seed);
  const auto draw = [&](bool valiant, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      if (valiant) t.valiant_route(from, to, rng, links);
      else t.random_route(from, to, rng, links);
      offsets.push_back(links.size());
    }
  };
  {
    nb::gil_scoped_release release;
    if (method == "minimal") t.minimal_routes(from, to, count, offsets, links);
    else if (method == "random") draw(false, count);
    else if (method == "valiant") draw(true, count);
    else if (method == "ugal") {
      draw(false, (count + 1) / 2);
      draw(true, count / 2);
    } else {
      throw InvalidInput(message("method '", method, "': must be minimal, random, valiant or ugal"));
    }
  }
  return {array_of(offsets), array_of(links)};
}

LinkList classes_of(const Topology& t) {
  LinkList out;
  for (const auto& c : t.link_classes()) out.emplace_back(c.name, c.bandwidth, c.latency);
  return out;
}

using Loads = std::tuple<Output<std::uint32_t>, Output<double>, Output<std::int8_t>>;

Loads loads(const Topology& t, const Vertices& from, const Vertices& to, const Input<double>& bytes,
            const Input<std::int8_t>& tier_of_class) {
  RouteLoads out;
  {
    nb::gil_scoped_release release;
    out = route_loads(t, view(from), view(to), view(bytes), view(tier_of_class));
  }
  return {array_from(std::move(out.length)), array_from(std::move(out.bytes)), array_from(std::move(out.highest))};
}

template <class T, class... Args>
Shared make(const LinkList& links, Args&&... args) {
  auto out = std::make_shared<T>(std::forward<Args>(args)...);
  for (const auto& [name, bandwidth, latency] : links) out->set_links(name, bandwidth, latency);
  return out;
}

/// The factory of the same topology and what to call it with, for pickles: other processes and machines may lack the
/// file of cables.
nb::tuple reduced(const Topology& t) {
  if (const auto* graph = dynamic_cast<const GraphTopology*>(&t)) {
    const auto& names = graph->names();
    const auto column = [&](auto Cable::* field) {
      return map_array<std::uint32_t>(graph->cables().size(), [&](std::size_t i) { return graph->cables()[i].*field; });
    };
    const auto split = names.begin() + static_cast<std::ptrdiff_t>(t.nodes());
    return nb::make_tuple(nb::module_::import_("isthmus.machine.graph").attr("graph_of_arrays"),
                          nb::make_tuple(std::vector<std::string>(names.begin(), split),
                                         std::vector<std::string>(split, names.end()), classes_of(t), column(&Cable::a),
                                         column(&Cable::b), column(&Cable::link_class), column(&Cable::count)));
  }
  return nb::make_tuple(nb::module_::import_("isthmus.machine.spec").attr("parse_topology"),
                        nb::make_tuple(t.spec(), classes_of(t)));
}

void bind_factories(nb::module_& m) {
  m.def(
      "grid",
      [](const std::string& kind, const Numbers& dims, const std::vector<bool>& wrap, const std::string& names,
         std::uint32_t p, const std::string& ties,
         const LinkList& links) { return make<Grid>(links, GridParameters{kind, dims, wrap, names, p, ties}); },
      "kind"_a, "dims"_a, "wrap"_a = std::vector<bool>{}, "names"_a = "", "p"_a = 0, "ties"_a = "balanced",
      "links"_a = LinkList{}, "Mesh, torus, linear array or ring.");
  m.def(
      "hypercube",
      [](std::uint32_t n, std::uint32_t p, const LinkList& links) {
        return make<Hypercube>(links, HypercubeParameters{n, p});
      },
      "n"_a, "p"_a = 0, "links"_a = LinkList{}, "Binary hypercube of 2**n routers.");
  m.def(
      "hyperx",
      [](const Numbers& dims, const Numbers& parallel, std::uint32_t p, const LinkList& links) {
        return make<HyperX>(links, HyperXParameters{dims, parallel, p});
      },
      "dims"_a, "parallel"_a = Numbers{}, "p"_a = 1, "links"_a = LinkList{}, "HyperX.");
  m.def(
      "shift",
      [](const std::string& kind, std::uint32_t d, std::uint32_t k, std::uint32_t p, const LinkList& links) {
        return make<ShiftNetwork>(links, ShiftParameters{kind, d, k, p});
      },
      "kind"_a, "d"_a, "k"_a, "p"_a = 0, "links"_a = LinkList{}, "Kautz or de Bruijn graph.");
  m.def(
      "slimfly",
      [](std::uint32_t q, std::uint32_t p, const LinkList& links) {
        return make<SlimFly>(links, SlimFlyParameters{q, p});
      },
      "q"_a, "p"_a = 1, "links"_a = LinkList{}, "Slim Fly of 2 q**2 routers.");
  m.def(
      "dragonfly",
      [](const Numbers& a, std::uint32_t p, std::uint32_t h, std::uint32_t g, const std::string& arrangement,
         std::uint32_t links_per_pair, const Numbers& parallel, const LinkList& links) {
        return make<Dragonfly>(
            links, DragonflyParameters{a, p, h, g, arrangement_from(arrangement), links_per_pair, parallel});
      },
      "a"_a, "p"_a, "h"_a, "g"_a, "arrangement"_a = "absolute", "links_per_pair"_a = 0, "parallel"_a = Numbers{},
      "links"_a = LinkList{}, "Dragonfly; two extents in a make the groups of a Cray XC.");
  m.def(
      "dragonfly_plus",
      [](std::uint32_t leaves, std::uint32_t spines, std::uint32_t p, std::uint32_t h, std::uint32_t g,
         const std::string& arrangement, std::uint32_t links_per_pair, const LinkList& links) {
        return make<DragonflyPlus>(
            links, DragonflyPlusParameters{leaves, spines, p, h, g, arrangement_from(arrangement), links_per_pair});
      },
      "leaves"_a, "spines"_a, "p"_a, "h"_a, "g"_a, "arrangement"_a = "absolute", "links_per_pair"_a = 0,
      "links"_a = LinkList{}, "Dragonfly+.");
  m.def(
      "fat_tree",
      [](const std::string& kind, const std::string& spec, const Numbers& m_, const Numbers& w, const Numbers& parallel,
         const LinkList& links) { return make<FatTree>(links, FatTreeParameters{kind, spec, m_, w, parallel}); },
      "kind"_a, "spec"_a, "m"_a, "w"_a, "parallel"_a = Numbers{}, "links"_a = LinkList{}, "Tree or fat tree, XGFT.");
  m.def(
      "rail",
      [](std::uint32_t gpus, std::uint32_t domains, std::uint32_t unit, std::uint32_t spines, std::uint32_t parallel,
         const LinkList& links) { return make<Rail>(links, RailParameters{gpus, domains, unit, spines, parallel}); },
      "gpus"_a, "domains"_a, "unit"_a = 0, "spines"_a = 0, "parallel"_a = 1, "links"_a = LinkList{},
      "Rail-optimised GPU cluster.");
  m.def(
      "graph",
      [](std::vector<std::string> nodes, std::vector<std::string> switches, const LinkList& classes,
         const Input<std::uint32_t>& a, const Input<std::uint32_t>& b, const Input<std::uint32_t>& link_class,
         const Input<std::uint32_t>& count) {
        GraphParameters p{std::move(nodes), std::move(switches), {}, {}};
        for (const auto& [name, bandwidth, latency] : classes) p.classes.push_back({name, bandwidth, latency});
        require(b.shape(0) == a.shape(0) && link_class.shape(0) == a.shape(0) && count.shape(0) == a.shape(0),
                "graph: the arrays of cables have different lengths");
        for (std::size_t i = 0; i < a.shape(0); ++i) {
          p.cables.push_back({a.data()[i], b.data()[i], link_class.data()[i], count.data()[i]});
        }
        return Shared(std::make_shared<GraphTopology>(std::move(p)));
      },
      "nodes"_a, "switches"_a, "classes"_a, "a"_a, "b"_a, "link_class"_a, "count"_a,
      "Any network from its undirected cables; vertices are nodes, then switches.");
}

}  // namespace

void bind_topology(nb::module_& m) {
  nb::class_<Topology>(m, "Topology", "An interconnect: vertices, directed links, distances and routes.")
      .def_prop_ro("kind", &Topology::kind, "Kind, as in specifications.")
      .def_prop_ro("spec", &Topology::spec, "One-line specification without link parameters.")
      .def_prop_ro("nodes", &Topology::nodes, "Number of nodes; they are vertices 0 to nodes - 1.")
      .def_prop_ro("switches", &Topology::switches, "Number of switches; vertices nodes to nodes + switches - 1.")
      .def_prop_ro("vertices", &Topology::vertices, "Number of vertices: nodes, then switches.")
      .def_prop_ro("links", &Topology::links, "Number of directed links.")
      .def_prop_ro(
          "dims",
          [](const Topology& t) {
            nb::list out;
            for (const auto& d : t.dimensions()) out.append(d.extent);
            return Tuple<int>(nb::tuple(out));
          },
          "Extents of the coordinates of a node.")
      .def_prop_ro(
          "dim_names",
          [](const Topology& t) {
            nb::list out;
            for (const auto& d : t.dimensions()) out.append(d.name);
            return Tuple<std::string>(nb::tuple(out));
          },
          "Names of the coordinates of a node.")
      .def_prop_ro("link_classes", &classes_of,
                   "(name, bandwidth in bytes/s per direction, latency in s) of every link class.")
      .def(
          "coordinates",
          [](const Topology& t, const Vertices& nodes) {
            const std::size_t d = t.dimensions().size();
            const std::size_t n = nodes.shape(0);
            auto [data, owner] = allocate<std::uint32_t>(n * d);
            {
              nb::gil_scoped_release release;
              for (std::size_t i = 0; i < n; ++i) t.coordinates(nodes.data()[i], {data + i * d, d});
            }
            return Output<std::uint32_t>(data, {n, d}, owner);
          },
          "nodes"_a, "Coordinates of nodes, shape (n, len(dims)).")
      .def(
          "nodes_at",
          [](const Topology& t, const nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& c) {
            require(c.shape(1) == t.dimensions().size(), t.kind(), " has ", t.dimensions().size(), " coordinates, got ",
                    c.shape(1));
            return map_array<std::uint32_t>(
                c.shape(0), [&](std::size_t i) { return t.node_at({c.data() + i * c.shape(1), c.shape(1)}); });
          },
          "coordinates"_a, "Nodes at coordinates of shape (n, len(dims)).")
      .def("label", &Topology::label, "vertex"_a, "The vertex in the words of its topology.")
      .def("distance", &Topology::distance, "a"_a, "b"_a, "Links on a shortest path from any vertex to a node.")
      .def("distance", &broadcast_distances, "a"_a, "b"_a,
           nb::sig("def distance(self, a: numpy.typing.ArrayLike, b: numpy.typing.ArrayLike) -> "
                   "numpy.typing.NDArray[numpy.uint32]"),
           "The same of arrays, which are broadcast against each other; the result has their shape.")
      .def("distances", &distances, "a"_a, "b"_a, "Distances of pairs of nodes, element by element.")
      .def(
          "diameter",
          [](const Topology& t) {
            nb::gil_scoped_release release;
            const Estimate e = t.diameter();
            return std::pair(static_cast<std::uint32_t>(e.value), e.exact);
          },
          "(largest distance between two nodes, whether it is exact).")
      .def(
          "average_distance",
          [](const Topology& t) {
            nb::gil_scoped_release release;
            const Estimate e = t.average_distance();
            return std::pair(e.value, e.exact);
          },
          "(mean distance over ordered pairs of different nodes, whether it is exact or a sample).")
      .def(
          "bisection",
          [](const Topology& t) {
            nb::gil_scoped_release release;
            const Bisection b = t.bisection();
            return std::tuple(b.links, b.bandwidth, b.exact);
          },
          "(directed links from half to half, their bandwidth in bytes/s, whether exact or an upper bound).")
      .def(
          "out_links",
          [](const Topology& t, Vertex vertex) {
            std::vector<LinkId> out;
            t.out_links(vertex, out);
            return array_of(out);
          },
          "vertex"_a, "Ids of the links that leave a vertex.")
      .def(
          "neighbours",
          [](const Topology& t, Vertex vertex) {
            std::vector<LinkId> out;
            t.out_links(vertex, out);
            for (auto& id : out) id = t.link(id).to;
            return array_of(out);
          },
          "vertex"_a, "Vertices that the links of a vertex lead to, one entry a link.")
      .def(
          "link_ends",
          [](const Topology& t, const Input<std::uint32_t>& links) {
            const std::size_t n = links.shape(0);
            auto [data, owner] = allocate<std::uint32_t>(2 * n);
            {
              nb::gil_scoped_release release;
              for (std::size_t i = 0; i < n; ++i) {
                const Link l = t.link(links.data()[i]);
                data[2 * i] = l.from;
                data[2 * i + 1] = l.to;
              }
            }
            return Output<std::uint32_t>(data, {n, 2}, owner);
          },
          "links"_a, "Vertices that links lead from and to, shape (n, 2).")
      .def(
          "link_class",
          [](const Topology& t, const Input<std::uint32_t>& links) {
            return map_array<std::uint32_t>(links.shape(0),
                                            [&](std::size_t i) { return t.link_class(links.data()[i]); });
          },
          "links"_a, "Index in link_classes of every link.")
      .def(
          "bandwidth",
          [](const Topology& t, const Input<std::uint32_t>& links) {
            return map_array<double>(links.shape(0), [&](std::size_t i) { return t.bandwidth(links.data()[i]); });
          },
          "links"_a, "Bandwidth of links in bytes/s, one direction.")
      .def(
          "latency",
          [](const Topology& t, const Input<std::uint32_t>& links) {
            return map_array<double>(links.shape(0), [&](std::size_t i) { return t.latency(links.data()[i]); });
          },
          "links"_a, "Latency of links in s.")
      .def(
          "route",
          [](const Topology& t, Vertex a, Vertex b) {
            std::vector<LinkId> out;
            t.route(a, b, out);
            return array_of(out);
          },
          "a"_a, "b"_a, "Links of the deterministic minimal route between two nodes.")
      .def("routes", &routes, "a"_a, "b"_a, "out"_a = nb::none(),
           "(offsets, links): the route of pair i is links[offsets[i]:offsets[i + 1]]; out: a uint32 array to write "
           "into.")
      .def("route_loads", &loads, "a"_a, "b"_a, "bytes"_a, "tier_of_class"_a,
           "(lengths, bytes over every link, highest tier of the links of each) of the routes of pairs of nodes that "
           "send whole numbers of bytes; -1 is the tier of a route without links.")
      .def("route_length", &Topology::route_length, "a"_a, "b"_a, "Links of the deterministic minimal route.")
      .def("route_lengths", &route_lengths, "a"_a, "b"_a, "route_length() of pairs of nodes, element by element.")
      .def(
          "candidates", &candidates, "a"_a, "b"_a, "method"_a = "minimal", "count"_a = 16, "seed"_a = 0,
          "(offsets, links) of the routes that adaptive (minimal: all, at most count; random: drawn), Valiant and UGAL "
          "(half random minimal, half Valiant) routing choose from.")
      .def(
          "minimal_links",
          [](const Topology& t, Vertex at, Vertex to) {
            std::vector<LinkId> out;
            t.minimal_links(at, to, out);
            return array_of(out);
          },
          "at"_a, "to"_a, "Links out of a vertex that continue a minimal route to a node: adaptive choices of one hop.")
      .def(
          "virtual_channels",
          [](const Topology& t, const std::string& routing) { return t.virtual_channels(routing_from(routing)); },
          "routing"_a = "minimal", "Virtual channels that the routing needs to be free of deadlock.")
      .def(
          "channels",
          [](const Topology& t, const Input<std::uint32_t>& route, const std::string& routing) {
            auto [data, owner] = allocate<std::uint8_t>(route.shape(0));
            for (std::size_t i = 0; i < route.shape(0); ++i) {
              require(route.data()[i] < t.links(), "link ", route.data()[i], ": ", t.kind(), " has ", t.links(),
                      " links");
            }
            t.channels(routing_from(routing), view(route), {data, route.shape(0)});
            return Output<std::uint8_t>(data, {route.shape(0)}, owner);
          },
          "route"_a, "routing"_a = "minimal", "Virtual channel of every hop of a route.")
      .def_prop_ro(
          "names",
          [](const Topology& t) -> nb::object {
            const auto* graph = dynamic_cast<const GraphTopology*>(&t);
            return graph ? nb::cast(graph->names()) : nb::none();
          },
          "Names of the vertices where the topology came with names, else None.")
      .def(
          "oversubscription",
          [](const Topology& t, std::size_t level) {
            const auto* tree = dynamic_cast<const FatTree*>(&t);
            if (tree == nullptr)
              throw Unsupported(message(t.kind(), ": only trees have levels; ask bisection() instead"));
            return tree->oversubscription(level);
          },
          "level"_a, "Bandwidth into the switches of a tree level from below over bandwidth out of them to above.")
      .def("__reduce__", &reduced, nb::sig("def __reduce__(self) -> tuple[object, tuple[object, ...]]"))
      .def("__copy__", [](nb::handle_t<Topology> self) { return nb::borrow(self); })
      .def("__deepcopy__", [](nb::handle_t<Topology> self, nb::handle) { return nb::borrow(self); }, "memo"_a);
  bind_factories(m);
}

}  // namespace isthmus::bindings
