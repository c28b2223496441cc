// Imported networks: which vertices forward, connectedness, the cache of searches under threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "properties.hpp"
#include "topology/graph_topology.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::testing;

namespace {
GraphParameters network(std::uint32_t nodes, std::uint32_t switches, std::vector<Cable> cables) {
  GraphParameters p;
  for (std::uint32_t i = 0; i < nodes; ++i) p.nodes.push_back(message("n", i));
  for (std::uint32_t i = 0; i < switches; ++i) p.switches.push_back(message("s", i));
  p.classes = {{"cable"}};
  p.cables = std::move(cables);
  return p;
}
}  // namespace

TEST_CASE("hosts on two planes are no way between the planes") {
  // Switches 4 - 5 - 6 in a line, host 0 on both ends of it: by way of the host would be as short.
  const GraphTopology t(network(4, 3, {{0, 4, 0}, {0, 6, 0}, {1, 4, 0}, {2, 6, 0}, {3, 5, 0}, {4, 5, 0}, {5, 6, 0}}));
  CHECK(t.distance(1, 2) == 4);
  CHECK(t.distance(1, 0) == 2);
  std::vector<std::uint64_t> offsets;
  std::vector<LinkId> links;
  t.minimal_routes(1, 2, 100, offsets, links);
  CHECK(offsets.size() == 1);
  CHECK(leads(t, 1, 2, links));
  Rng rng(1);
  for (int i = 0; i < 50; ++i) {
    std::vector<LinkId> route;
    t.random_route(1, 2, rng, route);
    CHECK(route == links);
  }
}

TEST_CASE("nodes that cannot reach each other are rejected, whoever can reach node 0") {
  // n1 meets n0 on one plane, n2 on the other; n1 and n2 share none.
  CHECK_THROWS_WITH_AS(GraphTopology(network(3, 2, {{0, 3, 0}, {0, 4, 0}, {1, 3, 0}, {2, 4, 0}})),
                       "graph: node n2 is not connected to node n1", InvalidInput);
  CHECK_THROWS_WITH_AS(GraphTopology(network(3, 1, {{0, 3, 0}, {1, 3, 0}})),
                       "graph: node n2 is not connected to node n0", InvalidInput);
  // Without a plane that all share, pair by pair: n0-n1 on s0, n1-n2 on s1, n0-n2 on s2.
  const GraphTopology t(network(3, 3, {{0, 3, 0}, {1, 3, 0}, {1, 4, 0}, {2, 4, 0}, {0, 5, 0}, {2, 5, 0}}));
  for (Vertex a = 0; a < 3; ++a) CHECK(t.distance(a, (a + 1) % 3) == 2);
}

TEST_CASE("cables beyond the network are rejected by name") {
  CHECK_THROWS_WITH_AS(GraphTopology(network(2, 0, {{0, 0, 0}})), "graph: a cable from n0 to itself", InvalidInput);
  CHECK_THROWS_WITH_AS(GraphTopology(network(2, 0, {{0, 2, 0}})),
                       "graph: a cable between vertices 0 and 2; there are 2", InvalidInput);
  CHECK_THROWS_WITH_AS(GraphTopology(network(2, 0, {{0, 1, 1}})), "graph: link class 1; there are 1", InvalidInput);
  CHECK_THROWS_WITH_AS(GraphTopology(network(0, 1, {})), "graph: a topology needs at least one node", InvalidInput);
}

TEST_CASE("threads share the cache of searches, entries dropped and searched again") {
  // 9,000 hosts on a ring of 6 switches: more destinations than the cache keeps for so many vertices (7,451).
  constexpr std::uint32_t hosts = 9'000;
  constexpr std::uint32_t ring = 6;
  std::vector<Cable> cables;
  for (std::uint32_t i = 0; i < hosts; ++i) cables.push_back({i, hosts + i % ring, 0});
  for (std::uint32_t i = 0; i < ring; ++i) cables.push_back({hosts + i, hosts + (i + 1) % ring, 0});
  const GraphTopology t(network(hosts, ring, std::move(cables)));
  const auto expected = [](Vertex a, Vertex b) {
    const std::uint32_t apart = (a % ring + ring - b % ring) % ring;
    return a == b ? 0 : 2 + std::min(apart, ring - apart);
  };
  std::atomic<int> wrong = 0;
  const auto work = [&](std::uint32_t thread) {
    Rng rng(thread);
    std::vector<LinkId> route;
    for (std::uint32_t i = 0; i < hosts; ++i) {
      // All walk the same destinations, so that they race for the same entries, one of them backwards.
      const Vertex to = thread == 0 ? hosts - 1 - i : i;
      const Vertex from = rng.below(hosts);
      if (t.distance(from, to) != expected(from, to)) ++wrong;
      if (i % 8 != 0) continue;
      route.clear();
      t.route(from, to, route);
      if (route.size() != expected(from, to) || !leads(t, from, to, route)) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 3; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
