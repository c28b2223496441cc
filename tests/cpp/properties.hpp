// What must hold on every topology, whatever its family. Each check reports through doctest and names the topology.
#pragma once

#include <span>

#include "oracles.hpp"
#include "topology/topology.hpp"

namespace isthmus::testing {
using namespace topology;

/// Does `route` lead from one vertex to the other, link by link?
bool leads(const Topology& topology, Vertex from, Vertex to, std::span<const LinkId> route);

/// Rows partition the links, ends agree, classes exist, the explicit graph is the same graph.
void check_links(const Topology& topology, const Links& links);
/// node_at inverts coordinates, every coordinate within its extent.
void check_coordinates(const Topology& topology);
/// Distances from every vertex, of one pair and of many, equal breadth-first search; so do diameter and mean.
void check_distances(const Topology& topology, const Links& links);
/// Deterministic routes are walks of the promised length; that length is the shortest with at most one global link.
void check_routes(const Topology& topology, const Links& links);
/// minimal_links offers all links that shorten the way and no other.
void check_minimal_links(const Topology& topology, const Links& links);
/// Random routes are minimal, Valiant routes are walks, where the family has them.
void check_random_routes(const Topology& topology);
/// Channels of a routing are below virtual_channels and make the channel dependency graph acyclic.
void check_deadlock_freedom(const Topology& topology, Routing routing);

}  // namespace isthmus::testing
