// Costs of swaps beside costs from scratch, on all networks; annealing keeps the rules.
#include <doctest/doctest.h>

#include "base/error.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/anneal.hpp"
#include "mapping/refine/axis_costs.hpp"
#include "mapping/refine/group_costs.hpp"
#include "mapping/refine/pair_costs.hpp"
#include "random_tasks.hpp"
#include "small_topologies.hpp"
#include "topology/dragonfly.hpp"
#include "topology/grid.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::mapping;
using namespace isthmus::test;

namespace {

/// Hop-bytes, and what bytes between groups beyond a limit cost.
double cost_of(const TaskGraph& graph, const Target& target, const Map& map, double limit, double weight) {
  double sum = hop_bytes(graph, target, map);
  if (limit <= 0) return sum;
  const std::vector<double> loads = group_loads(graph, target, map);
  for (std::uint32_t g = 0; g < target.groups(); ++g) {
    for (std::uint32_t h = g + 1; h < target.groups(); ++h) {
      const double excess = loads[g * target.groups() + h] - limit;
      if (excess > 0) sum += weight * excess * excess / limit;
    }
  }
  return sum;
}

/// Random swaps: what each is said to change is what it changes.
template <class Costs>
void check_swaps(const TaskGraph& graph, const Target& target, Slots& slots, Costs costs, double limit, double weight) {
  Rng rng(7);
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t u = rng.below(slots.size());
    const std::uint32_t v = rng.below(slots.size());
    if (u == v) continue;
    const double before = cost_of(graph, target, slots.map(), limit, weight);
    const double at_best = costs.change_at_best(u, v);
    const double said = at_best + costs.change_between(u, v);
    CHECK(said >= at_best);
    costs.swap(u, v);
    const double after = cost_of(graph, target, slots.map(), limit, weight);
    CHECK(said / slots.scale() == doctest::Approx(after - before).epsilon(1e-5).scale(1 + before));
  }
}

void check_costs(const Topology& network, std::vector<std::uint32_t> capacity) {
  const Target target(network, nodes_of(network), std::move(capacity));
  const auto tasks = static_cast<std::uint32_t>(target.slots() - target.slots() / 8);
  const TaskGraph graph = random_tasks(tasks, 3 * tasks, 20, 3);
  const Map start = random_map(tasks, target, 4);
  INFO(network.label(0), " of ", target.places());
  {
    Slots slots(graph, target, start);
    check_swaps(graph, target, slots, PairCosts(target, slots), 0, 0);
  }
  if (AxisCosts::suits(target)) {
    Slots slots(graph, target, start);
    check_swaps(graph, target, slots, AxisCosts(target, slots), 0, 0);
  }
  if (target.groups() > 1) {
    constexpr double limit = 40;
    Slots slots(graph, target, start);
    check_swaps(graph, target, slots, GroupCosts(target, slots, limit, 8), limit, 8);
  }
}

}  // namespace

TEST_CASE("changes of cost are those of hop-bytes, on all networks") {
  int with_axis_costs = 0;
  for (const auto& network : testing::small_topologies()) {
    if (network->nodes() < 4 || network->nodes() > 128) continue;
    check_costs(*network, {});
    with_axis_costs += AxisCosts::suits(Target(*network, nodes_of(*network))) ? 1 : 0;
  }
  CHECK(with_axis_costs >= 5);
}

TEST_CASE("changes of cost where places have room for several, and some for none") {
  for (const auto& network : testing::small_topologies()) {
    if (network->nodes() < 4 || network->nodes() > 64) continue;
    std::vector<std::uint32_t> capacity(network->nodes());
    for (std::uint32_t p = 0; p < capacity.size(); ++p) capacity[p] = p % 4;
    check_costs(*network, capacity);
  }
}

TEST_CASE("annealing gives every task a place with room and ends no higher than a local minimum") {
  for (const auto& network : testing::small_topologies()) {
    if (network->nodes() < 8 || network->nodes() > 64) continue;
    const Target target(*network, nodes_of(*network));
    const auto tasks = target.places() - 2;
    const TaskGraph graph = random_tasks(tasks, 2 * tasks, 9, 5);
    const Map start = random_map(tasks, target, 6);
    AnnealOptions options;
    options.seconds = 0.002;
    const Map map = anneal(graph, target, start, options);
    require_map(graph, target, map);
    CHECK(map == anneal(graph, target, start, options));
    const Map refined = improve(graph, target, start, 1);
    require_map(graph, target, refined);
    CHECK(hop_bytes(graph, target, refined) <= hop_bytes(graph, target, start));
    // Nothing that a second refinement finds in a local minimum is worth a tenth.
    CHECK(hop_bytes(graph, target, improve(graph, target, map, 2)) >= 0.9 * hop_bytes(graph, target, map));
  }
}

TEST_CASE("twice the seconds, twice the proposals, and options out of range") {
  GridParameters p;
  p.dims = {4, 4};
  const Grid torus(p);
  const Target target(torus, nodes_of(torus));
  const TaskGraph graph = random_tasks(16, 40, 5, 1);
  Slots slots(graph, target, random_map(16, target, 1));
  const AxisCosts costs(target, slots);
  const double none = costs.seconds(0);
  CHECK(costs.seconds(2000) - none == doctest::Approx(2 * (costs.seconds(1000) - none)));
  AnnealOptions options;
  options.cold = 2 * options.hot;
  CHECK_THROWS_AS(anneal(graph, target, slots.map(), options), InvalidInput);
  CHECK_THROWS_AS(anneal(graph, target, Map(16, 3), {}), InvalidInput);
}

TEST_CASE("neighbourhoods are what near() says of every place") {
  for (const auto& network : testing::small_topologies()) {
    if (network->nodes() > 128) continue;
    const Target target(*network, nodes_of(*network));
    for (std::uint32_t wanted : {1U, 5U, 12U}) {
      std::uint32_t count = wanted;
      const auto all = target.neighbourhoods(count);
      std::vector<std::uint32_t> each;
      for (std::uint32_t place = 0; place < target.places(); ++place) target.near(place, count, each);
      CHECK(all == each);
    }
  }
}
