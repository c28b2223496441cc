#include "small_topologies.hpp"

#include <array>
#include <iterator>

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

namespace isthmus::testing {
using namespace topology;
namespace {

using Numbers = std::vector<std::uint32_t>;

template <class T, class Parameters>
void add(std::vector<Network>& to, Parameters parameters) {
  to.push_back(std::make_unique<T>(std::move(parameters)));
}

GraphParameters imported(std::uint32_t nodes, std::uint32_t switches, std::vector<Cable> cables) {
  GraphParameters p;
  for (std::uint32_t i = 0; i < nodes; ++i) p.nodes.push_back(message("n", i));
  for (std::uint32_t i = 0; i < switches; ++i) p.switches.push_back(message("s", i));
  p.classes = {{"access"}, {"trunk"}};
  p.cables = std::move(cables);
  return p;
}

}  // namespace

std::vector<Network> grids() {
  std::vector<Network> out;
  const std::vector<Numbers> shapes = {
      {1}, {2}, {3}, {7}, {8}, {4, 3}, {2, 2, 2}, {5, 4, 3}, {4, 4, 4}, {3, 1, 5}, {2, 3, 2, 3, 2}};
  for (const auto& dims : shapes) {
    for (const char* kind : {"torus", "mesh"}) {
      for (const std::uint32_t p : {0U, 1U, 3U}) add<Grid>(out, GridParameters{kind, dims, {}, "", p});
    }
  }
  add<Grid>(out, GridParameters{"torus", {4, 3, 2, 5}, {true, false, true, false}, "XYab", 0});
  add<Grid>(out, GridParameters{"mesh", {6, 5}, {true, false}, "", 2});
  add<Grid>(out, GridParameters{"ring", {9}, {}, "", 0});
  add<Grid>(out, GridParameters{"linear", {9}, {}, "", 1});
  return out;
}

std::vector<Network> cubes() {
  std::vector<Network> out;
  for (const std::uint32_t n : {1U, 2U, 5U, 7U}) {
    add<Hypercube>(out, HypercubeParameters{n, 0});
    if (n < 7) add<Hypercube>(out, HypercubeParameters{n, 2});
  }
  add<HyperX>(out, HyperXParameters{{1}, {}, 3});
  add<HyperX>(out, HyperXParameters{{6}, {}, 1});
  add<HyperX>(out, HyperXParameters{{3, 4}, {2, 1}, 2});
  add<HyperX>(out, HyperXParameters{{2, 3, 4}, {1, 2, 3}, 1});
  add<HyperX>(out, HyperXParameters{{2, 1, 2, 2}, {}, 3});
  add<HyperX>(out, HyperXParameters{{5, 5}, {}, 0});
  return out;
}

std::vector<Network> algebraic_networks() {
  std::vector<Network> out;
  for (const char* kind : {"kautz", "debruijn"}) {
    for (const std::uint32_t d : {2U, 3U}) {
      for (const std::uint32_t k : {1U, 2U, 3U, 4U}) add<ShiftNetwork>(out, ShiftParameters{kind, d, k, 0});
      add<ShiftNetwork>(out, ShiftParameters{kind, d, 3, 2});
    }
    add<ShiftNetwork>(out, ShiftParameters{kind, 11, 2, 0});
  }
  for (const std::uint32_t q : {3U, 4U, 5U, 7U, 8U, 9U, 11U}) add<SlimFly>(out, SlimFlyParameters{q, q < 6 ? 2U : 1U});
  return out;
}

std::vector<Network> dragonflies() {
  std::vector<Network> out;
  struct Shape {
    Numbers a;
    std::uint32_t p, h, g, links;
    Numbers parallel;
  };
  const std::vector<Shape> shapes = {{{4}, 2, 2, 9, 0, {}},    {{4}, 1, 2, 5, 0, {}},    {{4}, 1, 2, 5, 1, {}},
                                     {{6}, 1, 3, 19, 0, {}},   {{5}, 3, 1, 6, 0, {}},    {{8}, 1, 1, 3, 1, {}},
                                     {{1}, 2, 4, 5, 0, {}},    {{9}, 1, 1, 4, 0, {2}},   {{3}, 0, 2, 7, 0, {}},
                                     {{4}, 2, 1, 1, 0, {}},    {{2}, 1, 3, 2, 0, {}},    {{4, 3}, 2, 2, 9, 0, {1, 3}},
                                     {{4, 3}, 1, 1, 6, 0, {}}, {{3, 2}, 1, 2, 4, 2, {}}, {{2, 2, 2}, 1, 1, 8, 0, {}}};
  for (const Arrangement arrangement : {Arrangement::absolute, Arrangement::relative}) {
    for (const Shape& s : shapes) {
      add<Dragonfly>(out, DragonflyParameters{s.a, s.p, s.h, s.g, arrangement, s.links, s.parallel});
    }
    for (const auto& [leaves, spines, p, h, g, links] :
         {std::array{2U, 2U, 2U, 2U, 5U, 0U}, std::array{3U, 2U, 1U, 3U, 4U, 0U}, std::array{4U, 3U, 2U, 1U, 4U, 0U},
          std::array{2U, 1U, 1U, 4U, 5U, 1U}, std::array{3U, 4U, 2U, 2U, 3U, 3U}, std::array{4U, 4U, 1U, 1U, 5U, 0U},
          std::array{1U, 3U, 3U, 2U, 1U, 0U}, std::array{1U, 2U, 1U, 1U, 3U, 0U}}) {
      add<DragonflyPlus>(out, DragonflyPlusParameters{leaves, spines, p, h, g, arrangement, links});
    }
  }
  return out;
}

std::vector<Network> trees() {
  std::vector<Network> out;
  const std::vector<std::array<Numbers, 3>> shapes = {{Numbers{5}, {1}, {}},
                                                      {Numbers{1}, {1}, {}},
                                                      {Numbers{3}, {2}, {2}},
                                                      {Numbers{4, 4}, {1, 2}, {}},
                                                      {Numbers{4, 4}, {1, 2}, {1, 2}},
                                                      {Numbers{2, 3, 4}, {1, 2, 3}, {}},
                                                      {Numbers{3, 2}, {2, 2}, {1, 2}},
                                                      {Numbers{2, 2, 2, 2}, {1, 1, 1, 1}, {}},
                                                      {Numbers{4, 3}, {3, 2}, {2, 3}},
                                                      {Numbers{3, 3, 3}, {1, 3, 3}, {}},
                                                      {Numbers{2, 3, 2}, {2, 3, 2}, {3, 1, 2}},
                                                      {Numbers{4, 1, 3}, {1, 2, 2}, {}}};
  for (const auto& [m, w, parallel] : shapes) add<FatTree>(out, FatTreeParameters{"xgft", "", m, w, parallel});
  return out;
}

std::vector<Network> clusters() {
  std::vector<Network> out;
  for (const auto& [gpus, domains, unit, spines, parallel] :
       {std::array{4U, 6U, 2U, 3U, 1U}, std::array{4U, 6U, 0U, 0U, 1U}, std::array{4U, 7U, 3U, 2U, 2U},
        std::array{1U, 4U, 0U, 0U, 1U}, std::array{8U, 1U, 0U, 0U, 1U}, std::array{1U, 5U, 2U, 1U, 3U},
        std::array{2U, 3U, 100U, 0U, 1U}, std::array{3U, 4U, 0xffffffffU, 2U, 2U}}) {
    add<Rail>(out, RailParameters{gpus, domains, unit, spines, parallel});
  }
  // Switches in a ring with a chord and double cables.
  add<GraphTopology>(out, imported(6, 5,
                                   {{0, 6, 0, 1},
                                    {1, 6, 0, 1},
                                    {2, 7, 0, 1},
                                    {3, 8, 0, 1},
                                    {4, 9, 0, 1},
                                    {5, 10, 0, 1},
                                    {6, 7, 1, 2},
                                    {7, 8, 1, 1},
                                    {8, 9, 1, 3},
                                    {9, 10, 1, 1},
                                    {10, 6, 1, 1},
                                    {6, 8, 1, 1}}));
  // Hosts on both ends of a line of switches: by way of them would be as short, or shorter, but hosts do not forward.
  add<GraphTopology>(out, imported(5, 3,
                                   {{0, 5, 0, 1},
                                    {0, 7, 0, 1},
                                    {1, 5, 0, 1},
                                    {1, 7, 0, 2},
                                    {2, 5, 0, 1},
                                    {3, 7, 0, 1},
                                    {4, 6, 0, 1},
                                    {5, 6, 1, 1},
                                    {6, 7, 1, 1}}));
  add<GraphTopology>(out, imported(4, 5,
                                   {{0, 4, 0, 1},
                                    {0, 8, 0, 1},
                                    {1, 4, 0, 1},
                                    {2, 8, 0, 1},
                                    {3, 6, 0, 1},
                                    {4, 5, 1, 1},
                                    {5, 6, 1, 1},
                                    {6, 7, 1, 1},
                                    {7, 8, 1, 1}}));
  // No switches: nodes forward.
  add<GraphTopology>(out, imported(7, 0,
                                   {{0, 1, 0, 1},
                                    {1, 2, 0, 1},
                                    {2, 3, 0, 2},
                                    {3, 0, 1, 1},
                                    {3, 4, 1, 1},
                                    {4, 5, 0, 1},
                                    {5, 6, 0, 1},
                                    {6, 4, 0, 1}}));
  // Two hosts, a direct cable between them and a switch.
  add<GraphTopology>(out, imported(3, 1, {{0, 1, 1, 1}, {0, 3, 0, 1}, {1, 3, 0, 1}, {2, 3, 0, 1}}));
  return out;
}

std::vector<Network> small_topologies() {
  std::vector<Network> out;
  for (auto* family : {&grids, &cubes, &algebraic_networks, &dragonflies, &trees, &clusters}) {
    std::vector<Network> some = family();
    out.insert(out.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return out;
}

}  // namespace isthmus::testing
