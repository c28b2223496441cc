// Halves of task graphs that exchange little: multilevel bisection with exact sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

struct BisectionOptions {
  double wanted = 0;  ///< load of side 0
  double slack = 0;   ///< side 0 may have this much more or less; what loads cannot meet is met as well as they can
  std::uint64_t seed = 0;
  int tries = 4;  ///< starts on the coarsest graph
};

/// Side (0 or 1) of every task, so that the bytes between the sides are few. `bias`, one number a task or empty, is
/// what side 1 costs a task more than side 0, in bytes: the pull of what is placed already (Pellegrini and Roman,
/// "Scotch: a software package for static mapping by dual recursive bipartitioning", 1996). Coarsening by heavy edges,
/// greedy growing on the coarsest graph, Fiduccia-Mattheyses passes on every level.
std::vector<std::uint8_t> bisect_tasks(const TaskGraph& graph, std::span<const double> bias,
                                       const BisectionOptions& options);

/// Tasks joined in pairs along their heaviest edges, in random order, with at most `most` load together: the pair, or
/// the task alone, that each is in. Sets `pairs` to their number.
std::vector<std::uint32_t> heavy_pairs(const TaskGraph& graph, double most, Rng& rng, std::uint32_t& pairs);

/// The tasks `members` and the links among them; `local` is scratch of graph.tasks() numbers.
TaskGraph subgraph(const TaskGraph& graph, std::span<const std::uint32_t> members, std::vector<std::uint32_t>& local);

/// A different number below `slots` for every task, by recursive bisection, so that all blocks of `unit` / 2^i numbers
/// that start at a multiple of their size hold tasks that exchange much. `unit` is a power of two that divides `slots`.
std::vector<std::uint32_t> bisection_order(const TaskGraph& graph, std::uint32_t slots, std::uint32_t unit,
                                           std::uint64_t seed);

}  // namespace isthmus::mapping
