// Halving a graph with a small cut.
#pragma once

#include <cstdint>
#include <span>

#include "graph/traversal.hpp"

namespace isthmus::graph {

struct Cut {
  std::uint64_t edges;  ///< directed edges from one half to the other
  double weight;        ///< their summed weight
};

/// Upper bound on the bisection of the first `terminals` vertices: floor(terminals / 2) of them on one side, every
/// other vertex on either side. `starts` seeded breadth-first halves, each refined by Fiduccia-Mattheyses passes ("A
/// linear-time heuristic for improving network partitions", DAC 1982) over swaps of terminals and moves of the others.
/// The smaller direction of every cut counts.
Cut bisect(const Csr& graph, std::span<const double> weights, std::uint32_t terminals, int starts, std::uint64_t seed);

}  // namespace isthmus::graph
