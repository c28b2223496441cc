// The network of a job as its file of places describes it, for mappers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/places/places.hpp"
#include "topology/topology.hpp"

namespace isthmus::runtime {

/// The network with the nodes of some ranks, and which vertex of it the node of each of them is.
struct Network {
  std::unique_ptr<topology::Topology> topology;
  std::vector<topology::Vertex> vertex;
};

/// Where hops follow from coordinates, a mesh or torus of the extents and rings of the job; elsewhere the table of
/// hops, in which nodes have the order of their numbers on the machine. Throws Unsupported where there is neither.
Network network_of(const Places& places, std::span<const std::uint32_t> ranks);

}  // namespace isthmus::runtime
