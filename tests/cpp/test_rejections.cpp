// Invalid parameters: the message names the field, what it was and what is allowed.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "topology/dragonfly.hpp"
#include "topology/dragonfly_plus.hpp"
#include "topology/fat_tree.hpp"
#include "topology/graph_topology.hpp"
#include "topology/grid.hpp"
#include "topology/hypercube.hpp"
#include "topology/hyperx.hpp"
#include "topology/rail.hpp"
#include "topology/shift.hpp"
#include "topology/slim_fly.hpp"

using namespace isthmus;
using namespace isthmus::topology;

namespace {

struct Rejection {
  std::function<void()> make;
  std::vector<std::string> parts;  ///< of the message
};

void check(const std::vector<Rejection>& table) {
  for (const Rejection& row : table) {
    std::string said = "(accepted)";
    try {
      row.make();
    } catch (const InvalidInput& error) {
      said = error.what();
    }
    for (const std::string& part : row.parts) {
      INFO("said: ", said, "; expected in it: ", part);
      CHECK(said.find(part) != std::string::npos);
    }
  }
}

constexpr std::uint32_t big = 1U << 31;
const auto absolute = Arrangement::absolute;

}  // namespace

TEST_CASE("parameters out of range are rejected with the field and the range") {
  check({
      {[] { Grid({"torus", {}}); }, {"torus", "at least one dimension"}},
      {[] { Grid({"mesh", {4, 0}}); }, {"mesh", "dimension y", "extent 0", "at least 1"}},
      {[] { Grid({"torus", std::vector<std::uint32_t>(15, 2)}); }, {"15 dimensions", "at most 14"}},
      {[] { Grid({"torus", {4, 4}, {true}}); }, {"wrap has 1", "2 dimensions"}},
      {[] { Grid({"torus", {4, 4}, {}, "x"}); }, {"names = 'x'", "one letter per dimension, 2"}},
      {[] { Grid({"torus", {4, 4}, {}, "xx"}); }, {"'x' is given twice"}},
      {[] { Hypercube({0}); }, {"hypercube", "n = 0", "1 to 26"}},
      {[] { Hypercube({27}); }, {"n = 27", "1 to 26"}},
      {[] { HyperX(HyperXParameters{}); }, {"hyperx", "0 all-to-all dimensions", "1 to 8"}},
      {[] { HyperX({{4, 0}}); }, {"extent is 0", "at least 1"}},
      {[] { HyperX({{4, 4}, {1}}); }, {"parallel has 1", "2 dimensions"}},
      {[] { HyperX({{4, 4}, {1, 0}}); }, {"parallel = 0", "dimension 1", "at least 1"}},
      {[] { ShiftNetwork({"kautz", 1, 3}); }, {"kautz", "d = 1", "2 to 1024"}},
      {[] { ShiftNetwork({"debruijn", 2, 0}); }, {"debruijn", "k = 0", "1 to 31"}},
      {[] { ShiftNetwork({"debruijn", 2, 32}); }, {"k = 32", "1 to 31"}},
      {[] { SlimFly({6}); }, {"slimfly", "q = 6", "prime power", "3 to 512"}},
      {[] { SlimFly({2}); }, {"q = 2"}},
      {[] { SlimFly({15}); }, {"q = 15"}},
      {[] { SlimFly({521}); }, {"q = 521", "512"}},
      {[] { Dragonfly({{4}, 1, 1, 0}); }, {"dragonfly", "g = 0", "must be at least 1"}},
      {[] { Dragonfly({{4}, 1, 1, 6}); }, {"4 global ports", "5 other groups", "g must be at most 5"}},
      {[] { Dragonfly({{4}, 1, 2, 5, absolute, 3}); }, {"links = 3", "needs 12 global ports", "has 8"}},
      {[] { Dragonfly({{4, 0}, 1, 1, 2}); }, {"extent is 0"}},
      {[] { Dragonfly({{4}, 1, 1, 2, absolute, 0, {0}}); }, {"parallel = 0"}},
      {[] { DragonflyPlus({0, 1, 1, 1, 2}); }, {"dragonfly+", "leaves = 0", "at least 1"}},
      {[] { DragonflyPlus({1, 0, 1, 1, 2}); }, {"spines = 0", "at least 1"}},
      {[] { DragonflyPlus({1, 1, 0, 1, 2}); }, {"p = 0", "at least one node"}},
      {[] { DragonflyPlus({2, 2, 1, 1, 4}); }, {"2 global ports", "g must be at most 3"}},
      {[] { FatTree({"xgft", "", {}, {}}); }, {"xgft", "0 levels", "1 to 12"}},
      {[] { FatTree({"xgft", "", {4, 4}, {1}}); }, {"m has 2 levels, w has 1"}},
      {[] { FatTree({"xgft", "", {4, 4}, {1, 2}, {1}}); }, {"m has 2 levels, parallel has 1"}},
      {[] { FatTree({"xgft", "", {4, 4}, {1, 0}}); }, {"level 2", "4, 0, 1", "at least 1"}},
      {[] { Rail({0, 2}); }, {"rail", "gpus = 0", "at least 1"}},
      {[] { Rail({8, 4, 2, 0}); }, {"2 units need spines", "spines = 0", "unit = 4"}},
      {[] { Rail({8, 4, 2, 1, 0}); }, {"parallel = 0", "at least 1"}},
      {[] { (void)arrangement_from("palmtree"); }, {"'palmtree'", "absolute or relative"}},
      {[] { (void)routing_from("adaptive"); }, {"'adaptive'", "minimal, random or valiant"}},
  });
}

TEST_CASE("counts beyond 32 bits are rejected, also where 64-bit products would wrap") {
  check({
      {[] { Grid({"torus", {65536, 65536}}); }, {"2^32 routers"}},
      {[] { Grid({"torus", std::vector<std::uint32_t>(14, 0xffffffffU)}); }, {"2^32 routers"}},
      {[] { Grid({"torus", {32768, 32768}}); }, {"2^32 links"}},
      {[] { Grid({"torus", {1024}, {}, "", 0xffffffffU}); }, {"32-bit ids"}},
      {[] { Hypercube({26, 64}); }, {"32-bit ids"}},
      {[] { HyperX({{65536, 65536}}); }, {"2^32 routers"}},
      {[] { HyperX({{0xffffffffU, 0xffffffffU, 0xffffffffU}}); }, {"2^32 routers"}},
      {[] { HyperX({{70000}}); }, {"2^32 links"}},
      {[] { HyperX({{100000}, {0xffffffffU}}); }, {"2^32 links"}},
      {[] { HyperX({{4}, {}, 0xffffffffU}); }, {"32-bit ids"}},
      {[] { ShiftNetwork({"kautz", 1024, 4}); }, {"32-bit ids"}},
      {[] { ShiftNetwork({"debruijn", 2, 31, 1}); }, {"32-bit ids"}},
      {[] { SlimFly({512, 100'000}); }, {"32-bit ids"}},
      {[] { Dragonfly({{65536}, 1, 1, 65537}); }, {"2^32"}},
      {[] { Dragonfly({{big, big}, 1, 1, 0}); }, {"2^32 routers"}},
      {[] { Dragonfly({{64}, 0xffffffffU, 4, 200}); }, {"32-bit ids"}},
      {[] { Dragonfly({{2}, 1, 0xffffffffU, 2}); }, {"8589934590 global links", "at most 2147483647"}},
      {[] { DragonflyPlus({big, 2, 1, 1, 2}); }, {"2^32 links"}},
      {[] { DragonflyPlus({65536, 32768, 1, 1, 2}); }, {"2^32 links"}},
      {[] { FatTree({"xgft", "", {65536, 65536}, {1, 1}}); }, {"2^32 nodes"}},
      {[] { FatTree({"xgft", "", {4}, {big}, {big}}); }, {"2^32"}},
      {[] { FatTree({"xgft", "", {4}, {1}, {1U << 30}}); }, {"2^32"}},
      {[] { FatTree({"xgft", "", {2, 2}, {big, 4}}); }, {"2^32"}},
      {[] { Rail({2, 1, 0, big, big}); }, {"2^32"}},
      {[] { Rail({65536, 65536}); }, {"2^32"}},
      {[] { Rail({8, 4, 2, big, 2}); }, {"2^32"}},
      {[] { GraphTopology({{"a", "b"}, {}, {{"c"}}, {{0, 1, 0, big}}}); }, {"32-bit ids"}},
  });
}
