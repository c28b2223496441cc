// Dally and Seitz: routing is free of deadlock where the channel dependency graph has no cycle.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.hpp"
#include "properties.hpp"
#include "small_topologies.hpp"
#include "topology/grid.hpp"
#include "topology/shift.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::testing;

TEST_CASE("channels of every family break all cycles") {
  for (const Network& network : small_topologies()) {
    const Topology& t = *network;
    if (t.nodes() > 130 || t.nodes() < 2) continue;  // quadratic in nodes; larger ones add nothing new
    INFO(t.spec());
    check_deadlock_freedom(t, Routing::minimal);
    check_deadlock_freedom(t, Routing::random);
    if (t.kind() != "rail" && t.kind() != "graph") check_deadlock_freedom(t, Routing::valiant);
  }
}

TEST_CASE("rings need their second channel: without it the check finds the cycle") {
  // With balanced ties a lone ring of four has no cycle: no link waits for both of its neighbours.
  for (const auto& [extent, ties] : {std::pair{4U, "positive"}, {5U, "balanced"}, {8U, "balanced"}, {8U, "positive"}}) {
    const Grid ring({"ring", {extent}, {}, "", 0, ties});
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    std::vector<LinkId> route;
    for (Vertex from = 0; from < extent; ++from) {
      for (Vertex to = 0; to < extent; ++to) {
        route.clear();
        ring.route(from, to, route);
        for (std::size_t i = 1; i < route.size(); ++i) edges.emplace_back(route[i - 1], route[i]);
      }
    }
    CHECK_FALSE(acyclic(ring.links(), edges));
  }
}

TEST_CASE("minimal routing needs as many channels as the literature says") {
  for (const Network& network : small_topologies()) {
    const Topology& t = *network;
    INFO(t.spec());
    const auto channels = t.virtual_channels(Routing::minimal);
    const auto is = [&](const char* kind) { return t.kind() == kind; };
    if (is("mesh") && t.spec().find('t') == std::string::npos) CHECK(channels == 1);
    if (is("hypercube") || is("hyperx") || is("xgft") || is("dragonfly+") || is("rail")) CHECK(channels == 1);
    if (is("dragonfly")) CHECK(channels <= 2);
    if (is("torus") || is("ring")) CHECK(channels <= 2);
  }
}

TEST_CASE("nothing is promised where hops would not fit the number of a channel") {
  const Grid ring({"ring", {600}, {}, "", 0});
  CHECK(ring.virtual_channels(Routing::minimal) == 2);
  CHECK(ring.virtual_channels(Routing::random) == 0);
  CHECK(Grid({"ring", {512}, {}, "", 0}).virtual_channels(Routing::random) == 256);
  CHECK(Grid({"ring", {512}, {}, "", 0}).virtual_channels(Routing::valiant) == 0);
}
