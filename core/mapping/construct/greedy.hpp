// Maps made in one pass: quick, and starts for refinement.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// Tasks in the order of a breadth-first search from one at the rim, each as near to who found it as there is room
/// (BFT of Bhatele's framework).
Map breadth_first_map(const TaskGraph& graph, const Target& target, std::uint64_t seed);

/// Tasks breadth first along a Hilbert curve through the places: linear in the edges, for want of time.
Map linear_map(const TaskGraph& graph, const Target& target);

/// The same where places hold several tasks: each about its share of the load, in proportion to its `limit`.
Map linear_map_of_loads(const TaskGraph& graph, const Target& target, std::span<const double> limit);

/// Always the task with most bytes to those placed, at the free place that costs it least among those near its
/// partners (MHT). After about so many seconds, see effort.hpp, tasks go to what places are left, in order.
Map max_heap_map(const TaskGraph& graph, const Target& target, std::uint64_t seed,
                 double seconds = std::numeric_limits<double>::infinity());

/// TopoLB (Agarwal, Sharma and Kale, "Topology-aware task mapping for reducing communication contention on large
/// parallel machines", IPDPS 2006): always the task that has most to lose, by the difference of its mean and its least
/// cost over the free places, at its best place. Partners without a place are taken to be at the mean distance. Ties
/// are broken at random. Quadratic memory: throws Unsupported above 8,192 places.
Map topo_lb(const TaskGraph& graph, const Target& target, std::uint64_t seed);

/// TopoCentLB: always the task with most bytes to those placed, where those cost it least, over all free places.
Map topo_cent_lb(const TaskGraph& graph, const Target& target, std::uint64_t seed);

}  // namespace isthmus::mapping
