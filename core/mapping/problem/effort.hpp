// Processor time of searches, counted in steps: budgets that give the same result on every computer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping::effort {

// Seconds of a step on one core of a Xeon at 2.5 GHz with 1 MiB of second-level cache a core while its other cores are
// busy, fitted to single methods, each measured between two runs of the same annealing. With the computer to itself a
// search takes about a third less; on others all budgets are longer or shorter by the same factor.

/// More of a step for every doubling of the memory that is used at random beyond what caches hold.
inline double beyond_cache(std::size_t bytes) {
  constexpr double cached = 1 << 20;
  return std::max(0.0, std::log2(static_cast<double>(bytes) / cached));
}

/// Dual recursive bipartition; `entries`: edges and tasks.
inline double bipartition(double entries, std::uint32_t places) { return 0.23e-6 * entries * std::log2(2.0 + places); }
inline double bipartition(const TaskGraph& graph, std::uint32_t places) {
  return bipartition(static_cast<double>(graph.links.targets.size()) / 2 + graph.tasks(), places);
}

/// heavy_pairs() and what they exchange, until few are left.
inline double joining(const TaskGraph& graph) {
  return 0.1e-6 * static_cast<double>(graph.links.targets.size()) + 0.3e-6 * graph.tasks();
}

/// linear_map_of_loads().
inline double line(const TaskGraph& graph) {
  return 20e-9 * static_cast<double>(graph.links.targets.size()) + 50e-9 * graph.tasks();
}

/// A sweep of move_tasks(), about.
inline double sweep_of_moves(const TaskGraph& graph) {
  const double far = beyond_cache(graph.tasks() * sizeof(std::uint32_t));
  return graph.tasks() * (160e-9 + 11e-9 * far) +
         1.5 * static_cast<double>(graph.links.targets.size()) * (3.2e-9 + 7.5e-9 * far);
}

/// A look at a place in max_heap_map(), or at a vertex in Target::near() by links.
inline constexpr double look = 30e-9;
inline constexpr double look_by_links = 110e-9;
/// Target::distance() by links: 17 to 42 ns by itself, more where others use the memory.
inline constexpr double distance_by_links = 40e-9;

/// Target::neighbourhoods() of a few places each.
inline double neighbourhoods(const Target& target) {
  if (!target.by_links()) return (target.axes().empty() ? 0.2e-6 : 1.5e-6) * target.places();
  // Degrees of networks differ very much.
  constexpr std::uint32_t sample = 8;
  constexpr std::uint32_t wanted = 12;
  std::size_t looks = 0;
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < sample; ++i) {
    const auto place = static_cast<std::uint32_t>(static_cast<std::uint64_t>(target.places()) * i / sample);
    looks += target.near(place, wanted, found);
  }
  return look_by_links * static_cast<double>(looks) / sample * target.places();
}

/// max_heap_map() at most.
inline double max_heap(const TaskGraph& graph, const Target& target) {
  const double edges = static_cast<double>(graph.links.targets.size()) / 2;
  const double each = !target.axes().empty() ? 8e-6 : !target.table().empty() ? 2e-6 + 4e-9 * target.rows() : 60e-6;
  return edges * each;
}

/// Pairs of tasks and what they exchange, level by level.
inline double coarsening(const TaskGraph& graph) {
  return 0.6e-6 * static_cast<double>(graph.links.targets.size()) + 1e-6 * graph.tasks();
}

/// anneal() before its first sweep, and the least number of sweeps.
inline double annealing(const TaskGraph& graph, const Target& target) {
  double extents = 0;
  for (const Target::Axis& axis : target.axes()) extents += axis.extent;
  const double each = 14e-9 * extents + 0.4e-6;
  return neighbourhoods(target) + each * static_cast<double>(target.slots()) +
         40e-9 * static_cast<double>(graph.links.targets.size());
}

/// The routes of a pair, there and back, their links not counted: some networks search for a way, or shift letter by
/// letter.
inline double routes(const Topology& topology) {
  const std::string_view kind = topology.kind();
  return kind == "slimfly" ? 0.28e-6 : kind == "kautz" || kind == "debruijn" ? 0.1e-6 : 36e-9;
}

/// The least work of relieve() before its first swap.
inline double relief(const TaskGraph& graph, const Target& target) {
  const double each = 0.15e-6 + 1.5 * routes(target.topology());
  return each * static_cast<double>(graph.links.targets.size()) + neighbourhoods(target);
}

}  // namespace isthmus::mapping::effort
