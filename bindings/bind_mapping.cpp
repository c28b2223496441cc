// Task graphs and targets for Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "arrays.hpp"
#include "mapping/objective.hpp"
#include "mapping/target.hpp"
#include "mapping/task_graph.hpp"

using namespace nanobind::literals;

namespace isthmus {

void bind_mapping(nb::module_& module) {
  nb::class_<TaskGraph>(module, "TaskGraph", "Tasks and what pairs of them exchange, both directions together.")
      .def(
          "__init__",
          [](TaskGraph* self, std::uint32_t tasks, const Input<std::uint32_t>& from, const Input<std::uint32_t>& to,
             const Input<double>& bytes, const Input<double>& load) {
            new (self) TaskGraph(task_graph(tasks, view(from), view(to), view(bytes), vector_of(load)));
          },
          "tasks"_a, "source"_a, "target"_a, "bytes"_a, "load"_a)
      .def_prop_ro("tasks", &TaskGraph::tasks)
      .def_prop_ro("total_bytes", &TaskGraph::total_bytes);
  nb::class_<Target>(module, "Target", "The nodes of a job and how many tasks each takes.")
      .def(
          "__init__",
          [](Target* self, const Topology& topology, const Input<std::uint32_t>& nodes,
             const Input<std::uint32_t>& capacity) {
            new (self) Target(topology, vector_of(nodes), vector_of(capacity));
          },
          "topology"_a, "nodes"_a, "capacity"_a, nb::keep_alive<1, 2>())
      .def_prop_ro("places", &Target::places);
  module.def(
      "hop_bytes",
      [](const TaskGraph& graph, const Target& target, const Input<std::uint32_t>& map) {
        require_map(graph, target, view(map));
        return hop_bytes(graph, target, view(map));
      },
      "graph"_a, "target"_a, "map"_a, "Bytes times distance, every pair once.");
  module.def(
      "link_loads",
      [](const TaskGraph& graph, const Target& target, const Input<std::uint32_t>& map) {
        require_map(graph, target, view(map));
        return array_from(link_loads(graph, target, view(map)));
      },
      "graph"_a, "target"_a, "map"_a, "Bytes over every link, both directions of every pair routed.");
}

}  // namespace isthmus
