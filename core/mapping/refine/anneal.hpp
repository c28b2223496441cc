// Simulated annealing of maps by swaps.
#pragma once

#include <cstdint>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

/// Temperatures are in mean bytes of a task (all its edges together), so that they mean the same whatever the degrees.
struct AnnealOptions {
  double seconds = 1;  ///< processor time by counted steps, see effort.hpp; 0: only swaps that gain, to the end
  double hot = 0.5;    ///< first temperature; 0.5 keeps the large-scale structure of a start, 1.5 keeps nothing
  double cold = 0.08;  ///< last temperature: one swap in some hundreds is accepted
  std::uint64_t seed = 0;
  /// On networks of groups: bytes between two groups beyond which they cost more than their hops, see GroupCosts; 0: no
  /// limit.
  double group_limit = 0;
};

/// Swaps of a task with who sits next to one of its partners, or next to itself, accepted by Metropolis' rule while the
/// temperature falls geometrically (Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", 1983), at
/// last only swaps that gain, until there are none.
Map anneal(const TaskGraph& graph, const Target& target, const Map& start, const AnnealOptions& options);

/// Only swaps that gain, from `start` on, until a local minimum: refinement by swaps.
Map improve(const TaskGraph& graph, const Target& target, const Map& start, std::uint64_t seed);

}  // namespace isthmus::mapping
