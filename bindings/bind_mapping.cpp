// Graph maps for Python: task graphs, targets, the methods that look at nothing but the graph.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <limits>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "base/error.hpp"
#include "mapping/balance/balanced.hpp"
#include "mapping/balance/packing.hpp"
#include "mapping/construct/bipartition.hpp"
#include "mapping/construct/greedy.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/anneal.hpp"
#include "mapping/refine/relieve.hpp"
#include "mapping/search/exact.hpp"
#include "mapping/search/grouped.hpp"
#include "mapping/search/multilevel.hpp"

using namespace nanobind::literals;

namespace isthmus::bindings {
using namespace mapping;
namespace {

using Numbers = Input<std::uint32_t>;
using Reals = Input<double>;

/// A map made by `body` without the GIL.
template <class Body>
Output<std::uint32_t> mapped(Body body) {
  Map map;
  {
    nb::gil_scoped_release release;
    map = body();
  }
  return array_from(std::move(map));
}

void bind_classes(nb::module_& m) {
  nb::class_<TaskGraph>(m, "TaskGraph", "Who talks to whom: undirected, one number of bytes per pair of tasks.")
      .def(
          "__init__",
          [](TaskGraph* self, std::uint32_t tasks, const Numbers& source, const Numbers& target, const Reals& bytes,
             const std::optional<Reals>& load) {
            new (self) TaskGraph(task_graph(tasks, view(source), view(target), view(bytes),
                                            load ? vector_of(*load) : std::vector<double>{}));
          },
          "tasks"_a, "source"_a, "target"_a, "bytes"_a, "load"_a = nb::none(),
          "From transfers in any order and direction; those of a pair are added up.")
      .def_prop_ro("tasks", &TaskGraph::tasks, "Number of tasks.")
      .def_prop_ro("total_bytes", &TaskGraph::total_bytes, "Bytes of all pairs, each once.")
      .def_prop_ro(
          "first",
          [](nb::handle_t<TaskGraph> h) {
            const auto& g = nb::cast<const TaskGraph&>(h);
            return look(g.links.offsets.data(), g.links.offsets.size(), h);
          },
          "Partners of task t are partner[first[t]:first[t + 1]], ascending.")
      .def_prop_ro(
          "partner",
          [](nb::handle_t<TaskGraph> h) {
            const auto& g = nb::cast<const TaskGraph&>(h);
            return look(g.links.targets.data(), g.links.targets.size(), h);
          },
          "Partners of all tasks.")
      .def_prop_ro(
          "bytes",
          [](nb::handle_t<TaskGraph> h) {
            const auto& g = nb::cast<const TaskGraph&>(h);
            return look(g.bytes.data(), g.bytes.size(), h);
          },
          "Bytes with each partner, the sum of both directions.")
      .def_prop_ro(
          "load",
          [](nb::handle_t<TaskGraph> h) {
            const auto& g = nb::cast<const TaskGraph&>(h);
            return look(g.load.data(), g.load.size(), h);
          },
          "Work of every task; empty: 1 each.");

  nb::class_<Target>(m, "Target", "The nodes of a job, in order, as places with capacities.")
      .def(
          "__init__",
          [](Target* self, const Topology& topology, const Numbers& nodes, const std::optional<Numbers>& capacity) {
            nb::gil_scoped_release release;
            new (self)
                Target(topology, vector_of(nodes), capacity ? vector_of(*capacity) : std::vector<std::uint32_t>{});
          },
          "topology"_a, "nodes"_a, "capacity"_a = nb::none(), nb::keep_alive<1, 2>(),
          "Places are the nodes, which are different; capacity tasks fit each, 1 without.")
      .def_prop_ro("places", &Target::places, "Number of places.")
      .def_prop_ro("groups", &Target::groups, "Number of groups of the network; 1 where there are none.")
      .def_prop_ro("symmetric", &Target::symmetric,
                   "Are routes there and back known to be equally long, so that distance() is the length of both?")
      .def_prop_ro("rows", &Target::rows, "Rows of the table of distances; 0 where there is none.")
      .def_prop_ro("slots", &Target::slots, "Tasks that fit all places together.")
      .def_prop_ro(
          "nodes",
          [](nb::handle_t<Target> h) {
            const auto& t = nb::cast<const Target&>(h);
            return look(t.nodes().data(), t.nodes().size(), h);
          },
          "Node of every place.")
      .def("distance", &Target::distance, "a"_a, "b"_a, "Links of the minimal route between two places.")
      .def(
          "near",
          [](const Target& t, std::uint32_t place, std::uint32_t count) {
            require(place < t.places(), "place ", place, " is not one of ", t.places());
            std::vector<std::uint32_t> out;
            t.near(place, count, out);
            return array_from(std::move(out));
          },
          "place"_a, "count"_a, "The nearest places, nearest first.");
}

void bind_objectives(nb::module_& m) {
  m.def(
      "hop_bytes",
      [](const TaskGraph& g, const Target& t, const Numbers& map) {
        require_places(g, t, view(map));
        nb::gil_scoped_release release;
        return hop_bytes(g, t, view(map));
      },
      "graph"_a, "target"_a, "map"_a, "Bytes times distance, every pair of tasks once.");
  m.def(
      "mapping_link_loads",
      [](const TaskGraph& g, const Target& t, const Numbers& map) {
        require_places(g, t, view(map));
        std::vector<double> out;
        {
          nb::gil_scoped_release release;
          out = link_loads(g, t, view(map));
        }
        return array_from(std::move(out));
      },
      "graph"_a, "target"_a, "map"_a, "Bytes over every link when the bytes of every pair are routed both ways.");
}

}  // namespace

void bind_mapping(nb::module_& m) {
  bind_classes(m);
  bind_objectives(m);
  m.def(
      "map_dual_bipartition",
      [](const TaskGraph& g, const Target& t, std::uint64_t seed) {
        return mapped([&] { return dual_bipartition(g, t, seed); });
      },
      "graph"_a, "target"_a, "seed"_a = 0, "Dual recursive bipartitioning.");
  m.def(
      "map_linear", [](const TaskGraph& g, const Target& t) { return mapped([&] { return linear_map(g, t); }); },
      "graph"_a, "target"_a, "Breadth first along a curve through the places.");
  m.def("seconds_of_annealing", &effort::annealing, "graph"_a, "target"_a,
        "Processor time, about, of map_anneal() at least.");
  m.def("seconds_of_relief", &effort::relief, "graph"_a, "target"_a,
        "Processor time, about, of map_relieve() before its first swap.");
  m.def(
      "seconds_of_bipartition", [](const TaskGraph& g, const Target& t) { return effort::bipartition(g, t.places()); },
      "graph"_a, "target"_a, "Processor time, about, of map_dual_bipartition().");
  m.def(
      "map_exact",
      [](const TaskGraph& g, const Target& t, std::uint64_t most_steps,
         const std::optional<Reals>& sent) -> std::optional<Output<std::uint32_t>> {
        std::optional<Map> map;
        {
          nb::gil_scoped_release release;
          map = exact_map(g, t, most_steps, sent ? view(*sent) : std::span<const double>{});
        }
        if (!map) return std::nullopt;
        return array_from(std::move(*map));
      },
      "graph"_a, "target"_a, "most_steps"_a, "sent"_a = nb::none(),
      "Fewest hop-bytes of all maps; None if that takes more steps. Where routes there and back differ in length: "
      "sent, "
      "the bytes from task t to u at [t * tasks + u].");
  m.def(
      "map_multilevel",
      [](const TaskGraph& g, const Target& t, double seconds, std::uint32_t starts, std::uint32_t coarsest,
         unsigned threads, std::uint64_t seed, const std::optional<Numbers>& start) {
        return mapped([&] {
          return multilevel(g, t, {seconds, starts, coarsest, threads, seed, start ? vector_of(*start) : Map{}});
        });
      },
      "graph"_a, "target"_a, "seconds"_a = 10.0, "starts"_a = 3, "coarsest"_a = 256, "threads"_a = 1, "seed"_a = 0,
      "start"_a = nb::none(), "Tasks and machine coarsened together, annealed on every level.");
  m.def(
      "map_breadth_first",
      [](const TaskGraph& g, const Target& t, std::uint64_t seed) {
        return mapped([&] { return breadth_first_map(g, t, seed); });
      },
      "graph"_a, "target"_a, "seed"_a = 0, "In breadth-first order, each near to who found it.");
  m.def(
      "map_max_heap",
      [](const TaskGraph& g, const Target& t, std::uint64_t seed) {
        return mapped([&] { return max_heap_map(g, t, seed); });
      },
      "graph"_a, "target"_a, "seed"_a = 0, "Always the task with most bytes to those placed, near these.");
  m.def(
      "map_topo_lb",
      [](const TaskGraph& g, const Target& t, std::uint64_t seed) {
        return mapped([&] { return topo_lb(g, t, seed); });
      },
      "graph"_a, "target"_a, "seed"_a = 0, "TopoLB: always the task with most to lose, at its best place.");
  m.def(
      "map_topo_cent_lb",
      [](const TaskGraph& g, const Target& t, std::uint64_t seed) {
        return mapped([&] { return topo_cent_lb(g, t, seed); });
      },
      "graph"_a, "target"_a, "seed"_a = 0, "TopoCentLB: as map_max_heap(), over all free places.");
  m.def(
      "map_balanced",
      [](const TaskGraph& g, const Target& t, double imbalance, double seconds, double group_limit,
         const std::optional<Reals>& speed, unsigned threads, std::uint64_t seed) {
        std::vector<double> speeds = speed ? vector_of(*speed) : std::vector<double>{};
        return mapped(
            [&] { return balanced(g, t, {imbalance, seconds, group_limit, threads, std::move(speeds), seed}); });
      },
      "graph"_a, "target"_a, "imbalance"_a = 0.03, "seconds"_a = 30.0, "group_limit"_a = 2.4, "speed"_a = nb::none(),
      "threads"_a = 1, "seed"_a = 0, "More tasks than places: partition and map together.");
  m.def(
      "map_grouped",
      [](const TaskGraph& g, const Target& t, double seconds, double limit, std::uint64_t seed,
         const std::optional<Numbers>& start) {
        return mapped([&] { return grouped(g, t, {seconds, limit, seed, start ? vector_of(*start) : Map{}}); });
      },
      "graph"_a, "target"_a, "seconds"_a = 10.0, "limit"_a = 2.4, "seed"_a = 0, "start"_a = nb::none(),
      "Dual recursive bipartition, annealed with a price on overloaded pairs of groups.");
  m.def(
      "map_anneal",
      [](const TaskGraph& g, const Target& t, const Numbers& start, double seconds, double hot, double cold,
         std::uint64_t seed, double group_limit) {
        return mapped([&] { return anneal(g, t, vector_of(start), {seconds, hot, cold, seed, group_limit}); });
      },
      "graph"_a, "target"_a, "start"_a, "seconds"_a = 1.0, "hot"_a = 0.5, "cold"_a = 0.08, "seed"_a = 0,
      "group_limit"_a = 0.0, "Simulated annealing by swaps.");
  m.def(
      "map_improve",
      [](const TaskGraph& g, const Target& t, const Numbers& start, std::uint64_t seed) {
        return mapped([&] { return improve(g, t, vector_of(start), seed); });
      },
      "graph"_a, "target"_a, "start"_a, "seed"_a = 0, "Swaps that gain, until there are none.");
  m.def(
      "map_relieve",
      [](const TaskGraph& g, const Target& t, const Numbers& start, double rise, double trials, double seconds,
         std::uint64_t seed, double until) {
        return mapped([&] { return relieve(g, t, vector_of(start), {rise, trials, seconds, seed, until}); });
      },
      "graph"_a, "target"_a, "start"_a, "rise"_a = 0.01, "trials"_a = 50.0,
      "seconds"_a = std::numeric_limits<double>::infinity(), "seed"_a = 0, "until"_a = 0.0,
      "Swaps that take load from the hottest links.");
  m.def(
      "pack",
      [](const Reals& load, const Reals& room, const Numbers& home,
         const Reals& cost) -> std::optional<Output<std::uint32_t>> {
        const std::size_t bins = room.shape(0);
        require(home.shape(0) == load.shape(0) && cost.shape(0) == load.shape(0) * bins, "pack: ", load.shape(0),
                " loads, but ", home.shape(0), " bins of tasks and ", cost.shape(0), " costs in ", bins, " bins");
        for (const std::uint32_t bin : view(home)) require(bin < bins, "pack: bin ", bin, " of ", bins);
        std::optional<std::vector<std::uint32_t>> found;
        {
          nb::gil_scoped_release release;
          found = pack(view(load), view(room), view(home), view(cost));
        }
        if (!found) return std::nullopt;
        return array_from(std::move(*found));
      },
      "load"_a, "room"_a, "home"_a, "cost"_a,
      "A bin with room for every task, few of them elsewhere than at home; None if there is no packing or none was "
      "found.");
}

}  // namespace isthmus::bindings
