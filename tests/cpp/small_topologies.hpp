// Small networks of every family, with the parameters at which formulas change: extents of 1, 2 and 3, odd and even,
// several nodes or none on a router, parallel cables, fewer ports than routers, uneven last units.
#pragma once

#include <memory>
#include <vector>

#include "topology/topology.hpp"

namespace isthmus::testing {
using namespace topology;

using Network = std::unique_ptr<const Topology>;

std::vector<Network> grids();
std::vector<Network> cubes();               ///< hypercubes and HyperX
std::vector<Network> algebraic_networks();  ///< Kautz, de Bruijn, Slim Fly
std::vector<Network> dragonflies();         ///< dragonfly, with Cray XC groups, and dragonfly+
std::vector<Network> trees();
std::vector<Network> clusters();  ///< rail-optimised clusters and imported graphs

/// All of them.
std::vector<Network> small_topologies();

}  // namespace isthmus::testing
