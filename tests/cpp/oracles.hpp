// Slow, obvious answers that the arithmetic of the topologies is held against. They know a network only by its list of
// links (Topology::link), never by its rows, distances or routes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "topology/topology.hpp"

namespace isthmus::testing {
using namespace topology;

inline constexpr std::uint32_t no_path = 0xffffffff;

/// The links of a topology sorted by the vertex they leave.
struct Links {
  explicit Links(const Topology& topology);

  std::vector<std::vector<std::pair<LinkId, Vertex>>> out;  ///< (link, vertex it leads to) per vertex
  std::vector<bool> global;                                 ///< links whose class is "global"
  std::vector<bool> forwards;                               ///< vertices that pass messages on
};

/// Hops from every vertex to `to`. With `most_global` the path may use that many links of class "global".
std::vector<std::uint32_t> hops_to(const Links& links, Vertex to, std::uint32_t most_global = no_path);

/// Is the directed graph free of cycles? Edges as (from, to) of vertices below `count`.
bool acyclic(std::size_t count, const std::vector<std::pair<std::size_t, std::size_t>>& edges);

}  // namespace isthmus::testing
