// A topology written out as an adjacency, for the questions that have no closed form.
#pragma once

#include "graph/traversal.hpp"
#include "topology/topology.hpp"

namespace isthmus::topology {
using namespace graph;

struct ExplicitGraph {
  Csr adjacency;                ///< over vertices; entry order within a row is ascending link id
  std::vector<LinkId> links;    ///< link id of each adjacency entry
  std::vector<double> weights;  ///< bandwidth of each adjacency entry, bytes per second
};

ExplicitGraph explicit_graph(const Topology& topology);

}  // namespace isthmus::topology
