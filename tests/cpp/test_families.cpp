// Every family at small sizes against oracles that know only the list of links.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.hpp"
#include "properties.hpp"
#include "small_topologies.hpp"
#include "topology/fat_tree.hpp"
#include "topology/grid.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::testing;

namespace {
void check_all(const std::vector<Network>& networks) {
  for (const Network& network : networks) {
    const Topology& t = *network;
    INFO(t.spec(), " of ", t.nodes(), " nodes");
    const Links links(t);
    check_links(t, links);
    check_coordinates(t);
    check_distances(t, links);
    check_routes(t, links);
    check_minimal_links(t, links);
    check_random_routes(t);
  }
}
}  // namespace

TEST_CASE("grids answer like searches of their links") { check_all(grids()); }
TEST_CASE("hypercubes and HyperX answer like searches of their links") { check_all(cubes()); }
TEST_CASE("Kautz, de Bruijn and Slim Fly answer like searches of their links") { check_all(algebraic_networks()); }
TEST_CASE("dragonflies answer like searches of their links") { check_all(dragonflies()); }
TEST_CASE("trees answer like searches of their links") { check_all(trees()); }
TEST_CASE("rail clusters and imported graphs answer like searches of their links") { check_all(clusters()); }

TEST_CASE("minimal_routes stops at its limit and enumerates without repetition") {
  const Grid torus({"torus", {4, 4, 4}, {}, "", 0});
  std::vector<std::uint64_t> offsets;
  std::vector<LinkId> links;
  // Opposite corners: 6 hops in any order, both ways round in each dimension: 6! / 2!^3 * 2^3.
  const std::uint32_t opposite[] = {2, 2, 2};
  torus.minimal_routes(0, torus.node_at(opposite), 10'000, offsets, links);
  CHECK(offsets.size() == 720);
  std::vector<std::vector<LinkId>> routes;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(i == 0 ? 0 : offsets[i - 1]);
    routes.emplace_back(links.begin() + begin, links.begin() + static_cast<std::ptrdiff_t>(offsets[i]));
    CHECK(leads(torus, 0, torus.node_at(opposite), routes.back()));
  }
  std::sort(routes.begin(), routes.end());
  CHECK(std::adjacent_find(routes.begin(), routes.end()) == routes.end());
  offsets.clear();
  links.clear();
  torus.minimal_routes(0, torus.node_at(opposite), 7, offsets, links);
  CHECK(offsets.size() == 7);
}

TEST_CASE("set_links selects classes by name, with or without direction") {
  Grid torus({"torus", {4, 4}, {}, "", 1});
  torus.set_links("default", 2e9, -1);
  torus.set_links("x", 3e9, 1e-6);
  torus.set_links("y-", -1, 5e-6);
  std::vector<double> bandwidth;
  std::vector<double> latency;
  for (const LinkClass& c : torus.link_classes()) {
    bandwidth.push_back(c.bandwidth);
    latency.push_back(c.latency);
  }
  CHECK(bandwidth == std::vector<double>{3e9, 3e9, 2e9, 2e9, 2e9});
  CHECK(latency == std::vector<double>{1e-6, 1e-6, 100e-9, 5e-6, 100e-9});
  CHECK_THROWS_WITH_AS(torus.set_links("z", 1, 1),
                       "link class 'z' of torus: must be one of default, x+, x-, y+, y-, terminal", InvalidInput);
}

TEST_CASE("oversubscription compares the bandwidth below a switch with that above") {
  FatTree tree({"xgft", "", {24, 12}, {1, 6}, {1, 2}});
  CHECK(tree.oversubscription(1) == doctest::Approx(2.0));
  CHECK(tree.oversubscription(2) == 1.0);
  tree.set_links("level2", 4e9, -1);
  CHECK(tree.oversubscription(1) == doctest::Approx(0.5));
  CHECK_THROWS_AS((void)tree.oversubscription(3), InvalidInput);
}
