// Relief of hot links, beside loads from the routes of whole maps.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/anneal.hpp"
#include "mapping/refine/relieve.hpp"
#include "random_tasks.hpp"
#include "sample.hpp"
#include "small_topologies.hpp"

using namespace isthmus;
using namespace isthmus::mapping;
using namespace isthmus::test;

namespace {

/// Bytes over bandwidth of the most loaded link; those of terminals count where places have several tasks, as their
/// load depends on who shares a place.
double hottest(const TaskGraph& graph, const Target& target, const Map& map) {
  const auto loads = link_loads(graph, target, map);
  const bool shared = graph.tasks() > target.places();
  double most = 0;
  for (LinkId l = 0; l < loads.size(); ++l) {
    const LinkClass& of = target.topology().link_classes()[target.topology().link_class(l)];
    if (shared || of.name != "terminal") most = std::max(most, loads[l] / of.bandwidth);
  }
  return most;
}

}  // namespace

TEST_CASE("relief never raises the most loaded link, nor hop-bytes beyond what they may rise, on all networks") {
  int relieved = 0;
  auto networks = testing::small_topologies();
  std::erase_if(networks, [](const auto& n) { return n->nodes() < 6 || n->nodes() > 128; });
  REQUIRE(networks.size() >= 20);
  const testing::Sample sample("relief", networks.size(), networks.size() / 3);
  for (const std::size_t i : sample.cases) {
    const auto& network = networks[i];
    CAPTURE(network->spec());
    const Target target(*network, nodes_of(*network));
    const auto tasks = target.places() - 1;
    const TaskGraph graph = random_tasks(tasks, 2 * tasks, 30, 8);
    const Map start = improve(graph, target, random_map(tasks, target, 2), 1);
    for (const double rise : {0.0, 0.03}) {
      const Map map = relieve(graph, target, start, {.rise = rise, .seed = 4});
      require_map(graph, target, map);
      CHECK(hottest(graph, target, map) <= hottest(graph, target, start) * (1 + 1e-9));
      CHECK(hop_bytes(graph, target, map) <= hop_bytes(graph, target, start) * (1 + rise) * (1 + 1e-9));
      CHECK(map == relieve(graph, target, start, {.rise = rise, .seed = 4}));
      relieved += rise > 0 && hottest(graph, target, map) < 0.95 * hottest(graph, target, start) ? 1 : 0;
    }
  }
  if (sample.whole) CHECK(relieved >= static_cast<int>(networks.size()) / 3);
}

TEST_CASE("relief with several tasks a place and loads keeps both") {
  for (const auto& network : testing::small_topologies()) {
    if (network->nodes() < 6 || network->nodes() > 40) continue;
    const Target target(*network, nodes_of(*network), std::vector<std::uint32_t>(network->nodes(), 3));
    const std::uint32_t tasks = 3 * target.places();
    TaskGraph graph = random_tasks(tasks, 2 * tasks, 30, 8);
    for (std::uint32_t t = 0; t < tasks; ++t) graph.load.push_back(1 + t % 2);
    const Map start = random_map(tasks, target, 2);
    const Map map = relieve(graph, target, start, {.rise = 0.1});
    require_map(graph, target, map);
    std::vector<double> before(target.places(), 0);
    std::vector<double> after = before;
    for (std::uint32_t t = 0; t < tasks; ++t) {
      before[start[t]] += graph.load[t];
      after[map[t]] += graph.load[t];
    }
    CHECK(before == after);
    CHECK(hottest(graph, target, map) <= hottest(graph, target, start) * (1 + 1e-9));
  }
}

TEST_CASE("relief stops at its budgets") {
  const auto networks = testing::grids();
  const auto& network = *std::find_if(networks.begin(), networks.end(), [](const auto& n) { return n->nodes() > 16; });
  const Target target(*network, nodes_of(*network));
  const TaskGraph graph = random_tasks(target.places(), 4 * target.places(), 30, 8);
  const Map start = random_map(target.places(), target, 2);
  CHECK(relieve(graph, target, start, {.trials = 0}) == start);
  CHECK(relieve(graph, target, start, {.seconds = 0}) == start);
  CHECK(relieve(graph, target, start, {.rise = 1}) != start);
  CHECK_THROWS_AS(relieve(graph, target, start, {.rise = -1}), InvalidInput);
  CHECK_THROWS_AS(relieve(graph, target, start, {.until = 1.5}), InvalidInput);
}

TEST_CASE("relief that is told how far stops there, and pays less for it") {
  int relieved = 0;
  auto networks = testing::grids();
  std::erase_if(networks, [](const auto& n) { return n->nodes() <= 30 || n->nodes() > 128; });
  const testing::Sample sample("relief, until", networks.size(), networks.size() / 2);
  for (const std::size_t i : sample.cases) {
    const auto& network = networks[i];
    CAPTURE(network->spec());
    const Target target(*network, nodes_of(*network));
    const TaskGraph graph = random_tasks(target.places(), 4 * target.places(), 30, 8);
    const Map start = improve(graph, target, random_map(target.places(), target, 2), 1);
    const double most = hottest(graph, target, start);
    const Map all = relieve(graph, target, start, {.rise = 1, .seed = 4});
    if (hottest(graph, target, all) > 0.8 * most) continue;
    ++relieved;
    const Map enough = relieve(graph, target, start, {.rise = 1, .seed = 4, .until = 0.9});
    CHECK(hottest(graph, target, enough) <= 0.9 * most * (1 + 1e-9));
    CHECK(hottest(graph, target, enough) > hottest(graph, target, all));
    CHECK(hop_bytes(graph, target, enough) < hop_bytes(graph, target, all));
    CHECK(relieve(graph, target, start, {.rise = 1, .seed = 4, .until = 1}) == start);
  }
  if (sample.whole) CHECK(relieved >= 2);
}
