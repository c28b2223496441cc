// Loads of links by transfers along deterministic minimal routes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/topology.hpp"

namespace isthmus::topology {

struct RouteLoads {
  std::vector<double> bytes;          ///< over every link
  std::vector<std::uint32_t> length;  ///< links of the route of every transfer
  std::vector<std::int8_t> highest;   ///< of every transfer, the highest tier of its links; -1 within a node
};

/// Sends whole numbers of bytes between nodes. `tier_of_class`: a number for every class of links. On grids it takes as
/// long for a route of many links as for one of few: beginnings and ends of runs along lines are counted, then summed.
RouteLoads route_loads(const Topology& topology, std::span<const Vertex> from, std::span<const Vertex> to,
                       std::span<const double> bytes, std::span<const std::int8_t> tier_of_class);

}  // namespace isthmus::topology
