// Maps of graphs beside all placements, and the limits that methods promise.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.hpp"
#include "mapping/balance/balanced.hpp"
#include "mapping/balance/task_levels.hpp"
#include "mapping/construct/bipartition.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/group_costs.hpp"
#include "mapping/search/grouped.hpp"
#include "mapping/search/multilevel.hpp"
#include "random_tasks.hpp"
#include "sample.hpp"
#include "small_topologies.hpp"
#include "topology/dragonfly.hpp"
#include "topology/grid.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::mapping;
using namespace isthmus::test;

namespace {

Grid torus(std::vector<std::uint32_t> dims) {
  GridParameters p;
  p.dims = std::move(dims);
  return Grid(p);
}

Dragonfly dragonfly(std::uint32_t routers, std::uint32_t nodes, std::uint32_t groups) {
  DragonflyParameters p;
  p.routers = {routers};
  p.nodes_per_router = nodes;
  p.groups = groups;
  p.arrangement = Arrangement::relative;
  return Dragonfly(p);
}

/// A grid of tasks: neighbours exchange `bytes`, those two apart 1.
TaskGraph mesh(std::uint32_t x, std::uint32_t y, double bytes) {
  std::vector<std::uint32_t> from;
  std::vector<std::uint32_t> to;
  std::vector<double> weight;
  const auto add = [&](std::uint32_t a, std::uint32_t b, double w) {
    from.push_back(a);
    to.push_back(b);
    weight.push_back(w);
  };
  for (std::uint32_t i = 0; i < x * y; ++i) {
    if (i % x + 1 < x) add(i, i + 1, bytes);
    if (i / x + 1 < y) add(i, i + x, bytes);
    if (i % x + 2 < x) add(i, i + 2, 1);
  }
  return task_graph(x * y, from, to, weight);
}

/// The least hop-bytes of all placements, one task a place. Beginnings that have as many already are not gone on with.
class LeastHopBytes {
 public:
  LeastHopBytes(const TaskGraph& graph, const Target& target)
      : graph_(graph), places_(target.places()), distance_(std::size_t{places_} * places_), used_(places_, false) {
    for (std::uint32_t p = 0; p < places_; ++p)
      for (std::uint32_t q = 0; q < places_; ++q) distance_[p * places_ + q] = target.distance(p, q);
    place_next(0);
  }
  [[nodiscard]] double operator()() const { return least_; }

 private:
  void place_next(double sum) {
    const auto task = static_cast<std::uint32_t>(place_.size());
    if (sum >= least_) return;
    if (task == graph_.tasks()) {
      least_ = sum;
      return;
    }
    for (std::uint32_t p = 0; p < places_; ++p) {
      if (used_[p]) continue;
      double more = 0;
      for (std::uint64_t i = graph_.links.offsets[task]; i < graph_.links.offsets[task + 1]; ++i)
        if (const std::uint32_t u = graph_.links.targets[i]; u < task)
          more += graph_.bytes[i] * distance_[place_[u] * places_ + p];
      used_[p] = true;
      place_.push_back(p);
      place_next(sum + more);
      place_.pop_back();
      used_[p] = false;
    }
  }

  const TaskGraph& graph_;
  std::uint32_t places_;
  std::vector<std::uint32_t> distance_;
  std::vector<bool> used_;
  std::vector<std::uint32_t> place_;
  double least_ = 1e300;
};

}  // namespace

TEST_CASE("multilevel finds the best of all placements of up to 8 tasks") {
  auto networks = testing::small_topologies();
  std::erase_if(networks, [](const auto& n) { return n->nodes() < 3 || n->nodes() > 8; });
  REQUIRE(networks.size() >= 5);
  for (const std::size_t i : testing::Sample("multilevel", 3 * networks.size(), networks.size()).cases) {
    const Topology& network = *networks[i / 3];
    const std::uint64_t seed = i % 3;
    CAPTURE(network.spec());
    CAPTURE(seed);
    const Target target(network, nodes_of(network));
    const TaskGraph graph = random_tasks(target.places(), 2 * target.places(), 9, seed);
    const Map map = multilevel(graph, target, {.seconds = 0.025, .seed = seed});
    require_map(graph, target, map);
    CHECK(hop_bytes(graph, target, map) == doctest::Approx(LeastHopBytes(graph, target)()));
  }
}

TEST_CASE("multilevel gives the same for any number of threads") {
  const Grid grid = torus({8, 8, 8});
  const Target target(grid, nodes_of(grid));
  const TaskGraph graph = random_tasks(500, 1500, 50, 2);
  const auto with = [&](unsigned threads) {
    return multilevel(graph, target, {.seconds = 0.15, .coarsest = 64, .threads = threads, .seed = 3});
  };
  const Map one = with(1);
  CHECK(one == with(2));
  CHECK(one == with(5));
  require_map(graph, target, one);
}

TEST_CASE("bipartition keeps capacities exactly") {
  for (const auto& network : testing::small_topologies()) {
    if (network->nodes() < 2 || network->nodes() > 128) continue;
    std::vector<std::uint32_t> capacity(network->nodes());
    for (std::uint32_t p = 0; p < capacity.size(); ++p) capacity[p] = 1 + (p * 7) % 3;
    const Target target(*network, nodes_of(*network), capacity);
    for (const auto tasks : {static_cast<std::uint32_t>(target.slots()), target.places()}) {
      const TaskGraph graph = random_tasks(tasks, 3 * tasks, 9, tasks);
      const Map map = dual_bipartition(graph, target, 1);
      std::vector<std::uint32_t> on(target.places(), 0);
      for (const std::uint32_t p : map) ++on[p];
      for (std::uint32_t p = 0; p < target.places(); ++p) CHECK(on[p] <= capacity[p]);
    }
    const auto full = static_cast<std::uint32_t>(target.slots());
    CHECK_THROWS_AS(dual_bipartition(random_tasks(full + 1, full, 9, 1), target, 1), InvalidInput);
  }
}

TEST_CASE("grouped keeps bytes between groups near its limit where hop-bytes alone do not") {
  const Dragonfly network = dragonfly(8, 4, 8);
  const Target target(network, nodes_of(network));
  const TaskGraph graph = mesh(16, 16, 10);
  const auto hottest = [&](const Map& map) {
    require_map(graph, target, map);
    const auto loads = group_loads(graph, target, map);
    return *std::max_element(loads.begin(), loads.end());
  };
  const Map start = dual_bipartition(graph, target, 1);
  const auto loads = group_loads(graph, target, start);
  const double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / (8 * 7);
  const Map loose = grouped(graph, target, {.seconds = 0.3, .limit = 100, .seed = 1});
  const Map tight = grouped(graph, target, {.seconds = 0.3, .limit = 1.8, .seed = 1});
  CHECK(hottest(tight) < 0.8 * hottest(loose));
  CHECK(hottest(tight) < 2.2 * mean);
  CHECK(hop_bytes(graph, target, tight) < 1.1 * hop_bytes(graph, target, loose));
}

TEST_CASE("balanced keeps shares in proportion to speeds") {
  const Grid grid = torus({4, 4});
  const Target target(grid, nodes_of(grid));
  TaskGraph graph = mesh(40, 40, 10);
  graph.load.resize(1600);
  Rng rng(5);
  for (double& l : graph.load) l = 1 + rng.below(4);
  BalancedOptions options;
  options.seconds = 0.2;
  options.imbalance = 0.05;
  for (std::uint32_t p = 0; p < 16; ++p) options.speed.push_back(p % 3 == 0 ? 2 : 1);
  const Map map = balanced(graph, target, options);
  const auto load = place_loads(graph, target, map);
  const double share = graph.total_load() / std::accumulate(options.speed.begin(), options.speed.end(), 0.0);
  for (std::uint32_t p = 0; p < 16; ++p) CHECK(load[p] <= share * options.speed[p] * 1.05 * (1 + 1e-9));
  CHECK(hop_bytes(graph, target, map) <
        0.4 * hop_bytes(graph, target,
                        random_map(1600, Target(grid, nodes_of(grid), std::vector<std::uint32_t>(16, 100)), 1)));
  options.speed.pop_back();
  CHECK_THROWS_AS(balanced(graph, target, options), InvalidInput);
}

TEST_CASE("balanced keeps capacities") {
  const Dragonfly network = dragonfly(4, 2, 4);
  std::vector<std::uint32_t> capacity(32, 13);
  capacity[3] = 0;
  capacity[7] = 30;
  const Target target(network, nodes_of(network), capacity);
  const TaskGraph graph = mesh(20, 20, 10);
  const Map map = balanced(graph, target, {.seconds = 0.1});
  require_map(graph, target, map);
  CHECK(map == balanced(graph, target, {.seconds = 0.1}));
}

TEST_CASE("balanced begins with a line where there is no time for a bipartition") {
  const Dragonfly network = dragonfly(4, 2, 4);
  std::vector<std::uint32_t> capacity(32, 13);
  capacity[0] = capacity[3] = 0;
  capacity[7] = 43;
  const TaskGraph graph = mesh(20, 20, 10);
  const Target target(network, nodes_of(network), capacity);
  const Map by_tasks = balanced(graph, target, {.seconds = 1e-4});
  require_map(graph, target, by_tasks);
  CHECK(hop_bytes(graph, target, by_tasks) < 0.7 * hop_bytes(graph, target, random_map(400, target, 1)));
  TaskGraph loaded = graph;
  Rng rng(5);
  for (std::uint32_t t = 0; t < 400; ++t) loaded.load.push_back(1 + rng.below(4));
  const Target alike(network, nodes_of(network));
  const Map by_loads = balanced(loaded, alike, {.imbalance = 0.3, .seconds = 1e-4});
  for (const double load : place_loads(loaded, alike, by_loads)) CHECK(load <= 1.3 * loaded.total_load() / 32);
  CHECK(hop_bytes(graph, alike, by_loads) < 0.7 * hop_bytes(graph, target, random_map(400, target, 1)));
}

TEST_CASE("balanced by levels keeps capacities, and moves apart what it joined") {
  const Grid grid = torus({4, 4, 2});
  std::vector<std::uint32_t> capacity(32, 52);
  capacity[3] = 0;
  capacity[7] = 90;
  const Target target(grid, nodes_of(grid), capacity);
  const TaskGraph graph = mesh(40, 40, 10);
  REQUIRE(has_levels(graph, target));
  const Map map = balanced(graph, target, {.seconds = 0.1});
  require_map(graph, target, map);
  CHECK(map == balanced(graph, target, {.seconds = 0.1}));
  CHECK(hop_bytes(graph, target, map) < 0.2 * hop_bytes(graph, target, random_map(1600, target, 1)));
  // As heavy as a place should be: nothing is joined.
  TaskGraph uneven = graph;
  uneven.load.assign(1600, 1);
  uneven.load[5] = 50;
  CHECK_FALSE(has_levels(uneven, target));
}

TEST_CASE("random graphs are not mapped by levels") {
  const Grid grid = torus({4, 4});
  const Target target(grid, nodes_of(grid), std::vector<std::uint32_t>(16, 66));
  Rng rng(3);
  std::vector<std::uint32_t> from;
  std::vector<std::uint32_t> to;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    from.push_back(rng.below(1024));
    to.push_back(rng.below(1024));
  }
  const TaskGraph graph = task_graph(1024, from, to, std::vector<double>(from.size(), 1));
  const std::vector<double> limit(16, 66);
  CHECK(map_by_levels(graph, target, limit, 0.05, 1).empty());
  require_map(graph, target, balanced(graph, target, {.seconds = 0.05}));
}
