// Sizes of real machines, and ids close to 2^32: no table could hold these, so every answer is spot-checked.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "properties.hpp"
#include "topology/dragonfly.hpp"
#include "topology/dragonfly_plus.hpp"
#include "topology/fat_tree.hpp"
#include "topology/grid.hpp"
#include "topology/hypercube.hpp"
#include "topology/hyperx.hpp"
#include "topology/rail.hpp"
#include "topology/shift.hpp"
#include "topology/slim_fly.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::testing;

namespace {

/// Links at random and at both ends of the numbering: the row of the vertex a link leaves holds it.
void check_sampled_links(const Topology& t, int samples) {
  Rng rng(1);
  std::vector<LinkId> row;
  for (int i = 0; i < samples; ++i) {
    const LinkId id = i == 0 ? 0 : i == 1 ? t.links() - 1 : rng.below(t.links());
    const Link link = t.link(id);
    INFO("link ", id, " of ", t.links(), " from ", link.from, " to ", link.to);
    REQUIRE(link.from < t.vertices());
    REQUIRE(link.to < t.vertices());
    REQUIRE(t.link_class(id) < t.link_classes().size());
    row.clear();
    t.out_links(link.from, row);
    REQUIRE(std::is_sorted(row.begin(), row.end()));
    REQUIRE(std::adjacent_find(row.begin(), row.end()) == row.end());
    REQUIRE(std::binary_search(row.begin(), row.end(), id));
  }
}

void check_sampled_routes(const Topology& t, int samples) {
  Rng rng(2);
  std::vector<LinkId> route;
  std::vector<std::uint32_t> c(t.dimensions().size());
  for (int i = 0; i < samples; ++i) {
    const Vertex from = i == 0 ? t.nodes() - 1 : rng.below(t.nodes());
    const Vertex to = i == 1 ? t.nodes() - 1 : rng.below(t.nodes());
    INFO("from ", from, " to ", to);
    route.clear();
    t.route(from, to, route);
    REQUIRE(leads(t, from, to, route));
    REQUIRE(route.size() == t.route_length(from, to));
    REQUIRE(t.distance(from, to) <= route.size());
    if (t.kind() != "dragonfly") REQUIRE(t.distance(from, to) == route.size());
    t.coordinates(from, c);
    REQUIRE(t.node_at(c) == from);
  }
}

}  // namespace

TEST_CASE("torus of 1,048,576 nodes") {
  const Grid t({"torus", {128, 128, 64}, {}, "", 0});
  CHECK(t.nodes() == 1'048'576);
  CHECK(t.links() == 6 * t.nodes());
  CHECK(t.diameter().value == 64 + 64 + 32);
  check_sampled_links(t, 3000);
  check_sampled_routes(t, 3000);
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    const Vertex a = rng.below(t.nodes());
    const Vertex b = rng.below(t.nodes());
    std::uint32_t expected = 0;
    for (const auto& [shift, extent] : {std::pair{0, 128}, std::pair{7, 128}, std::pair{14, 64}}) {
      const int apart = std::abs(static_cast<int>(a >> shift) % extent - static_cast<int>(b >> shift) % extent);
      expected += static_cast<std::uint32_t>(std::min(apart, extent - apart));
    }
    REQUIRE(t.distance(a, b) == expected);
  }
}

TEST_CASE("dragonfly of 262,144 nodes") {
  for (const Arrangement arrangement : {Arrangement::absolute, Arrangement::relative}) {
    const Dragonfly t({{32}, 16, 16, 512, arrangement});
    CHECK(t.nodes() == 262'144);
    CHECK(t.switches() == 16'384);
    check_sampled_links(t, 1000);
    check_sampled_routes(t, 5000);
    const Links links(t);
    for (const Vertex to : {Vertex{0}, Vertex{131'071}, Vertex{262'143}}) {
      const auto hops = hops_to(links, to);
      for (Vertex from = 0; from < t.nodes(); from += 16) REQUIRE(t.distance(from, to) == hops[from]);
      const auto one_global = hops_to(links, to, 1);
      for (Vertex from = 0; from < t.nodes(); from += 16) REQUIRE(t.route_length(from, to) == one_global[from]);
    }
  }
}

TEST_CASE("fat tree of 262,144 nodes") {
  const FatTree t({"xgft", "", {64, 64, 64}, {1, 64, 64}});
  CHECK(t.nodes() == 262'144);
  CHECK(t.switches() == 3 * 4096);
  CHECK(t.links() == 6 * t.nodes());
  check_sampled_links(t, 3000);
  check_sampled_routes(t, 10'000);
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    const Vertex a = rng.below(t.nodes());
    const Vertex b = i % 2 == 0 ? rng.below(t.nodes()) : a ^ rng.below(4096);
    REQUIRE(t.distance(a, b) == (a == b ? 0U : a / 64 == b / 64 ? 2U : a / 4096 == b / 4096 ? 4U : 6U));
  }
}

TEST_CASE("ids close to 2^32 keep their arithmetic") {
  std::vector<std::unique_ptr<const Topology>> networks;
  networks.push_back(std::make_unique<Grid>(GridParameters{"torus", {32768, 32767}, {}, "", 0}));
  networks.push_back(std::make_unique<Grid>(GridParameters{"mesh", {1001, 999, 701}, {}, "", 0}));
  networks.push_back(std::make_unique<Grid>(GridParameters{"torus", {1000, 1000}, {}, "", 1000}));
  networks.push_back(std::make_unique<Hypercube>(HypercubeParameters{26, 18}));
  networks.push_back(std::make_unique<HyperX>(HyperXParameters{{1000, 1000}, {}, 1100}));
  networks.push_back(std::make_unique<ShiftNetwork>(ShiftParameters{"debruijn", 2, 31, 0}));
  networks.push_back(std::make_unique<ShiftNetwork>(ShiftParameters{"debruijn", 3, 19, 0}));
  networks.push_back(std::make_unique<ShiftNetwork>(ShiftParameters{"kautz", 5, 12, 1}));
  networks.push_back(std::make_unique<SlimFly>(SlimFlyParameters{256, 10'000}));
  networks.push_back(std::make_unique<Dragonfly>(DragonflyParameters{{1000}, 1, 4, 4000}));
  networks.push_back(std::make_unique<Dragonfly>(DragonflyParameters{{100}, 2, 600, 50'000, Arrangement::relative, 1}));
  networks.push_back(std::make_unique<DragonflyPlus>(DragonflyPlusParameters{64, 64, 64, 1024, 65'536 / 4}));
  networks.push_back(std::make_unique<FatTree>(FatTreeParameters{"xgft", "", {1024, 1024, 500}, {1, 2, 3}}));
  networks.push_back(std::make_unique<FatTree>(FatTreeParameters{"xgft", "", {4, 4, 4}, {1000, 1000, 10}, {3, 7, 31}}));
  networks.push_back(std::make_unique<Rail>(RailParameters{8, 130'000'000, 1'000'000, 100, 2}));
  for (const auto& t : networks) {
    INFO(t->spec(), " of ", t->nodes(), " nodes, ", t->switches(), " switches and ", t->links(), " links");
    CHECK(t->links() > 1'000'000'000U);
    check_sampled_links(*t, t->kind() == "rail" ? 50 : 300);
    check_sampled_routes(*t, 300);
  }
}
