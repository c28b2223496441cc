#include "mapping/problem/objective.hpp"

#include "base/error.hpp"
#include "base/interruption.hpp"

namespace isthmus::mapping {

void require_room(const TaskGraph& graph, const Target& target) {
  require(graph.tasks() <= target.slots(), graph.tasks(), " tasks do not fit ", target.places(),
          " places with room for ", target.slots());
}

void require_places(const TaskGraph& graph, const Target& target, std::span<const std::uint32_t> map) {
  require(map.size() == graph.tasks(), "map: ", map.size(), " places of ", graph.tasks(), " tasks");
  for (std::size_t t = 0; t < map.size(); ++t) {
    require(map[t] < target.places(), "map: task ", t, " is on place ", map[t], " of ", target.places());
  }
}

void require_map(const TaskGraph& graph, const Target& target, std::span<const std::uint32_t> map) {
  require_places(graph, target, map);
  std::vector<std::uint32_t> tasks(target.places(), 0);
  for (const std::uint32_t place : map) {
    ++tasks[place];
    require(tasks[place] <= target.capacity(place), "map: place ", place, " has more than ", target.capacity(place),
            " tasks");
  }
}

double hop_bytes(const TaskGraph& graph, const Target& target, std::span<const std::uint32_t> map) {
  double sum = 0;
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) {
    if ((t & 0xFF) == 0) interruption_point();
    for (std::uint64_t i = graph.links.offsets[t]; i < graph.links.offsets[t + 1]; ++i) {
      const std::uint32_t u = graph.links.targets[i];
      if (u > t) sum += graph.bytes[i] * target.distance(map[t], map[u]);
    }
  }
  return sum;
}

std::vector<double> link_loads(const TaskGraph& graph, const Target& target, std::span<const std::uint32_t> map) {
  std::vector<double> load(target.topology().links(), 0);
  std::vector<LinkId> route;
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) {
    if ((t & 0x3F) == 0) interruption_point();
    for (std::uint64_t i = graph.links.offsets[t]; i < graph.links.offsets[t + 1]; ++i) {
      route.clear();
      target.topology().route(target.node(map[t]), target.node(map[graph.links.targets[i]]), route);
      for (const LinkId l : route) load[l] += graph.bytes[i];
    }
  }
  return load;
}

}  // namespace isthmus::mapping
