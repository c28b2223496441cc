#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "grids_of_tasks.hpp"
#include "mapping/geometric/curves.hpp"
#include "mapping/geometric/geometric.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/regular/factor_tables.hpp"
#include "mapping/regular/fold_map.hpp"
#include "mapping/regular/grid_heuristics.hpp"
#include "topology/dragonfly.hpp"
#include "topology/grid.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::mapping;
using namespace isthmus::test;

namespace {

Grid machine(const std::string& kind, const Extents& dims) {
  GridParameters p;
  p.kind = kind;
  p.dims = dims;
  return Grid(p);
}

std::vector<Vertex> all_nodes(const Topology& t) {
  std::vector<Vertex> out(t.nodes());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

/// Average dilation, after checking that no place has too many tasks.
double dilation(const TaskGraph& graph, const Target& target, const Map& map) {
  require_map(graph, target, map);
  return hop_bytes(graph, target, map) / graph.total_bytes();
}

double largest_load(const TaskGraph& graph, const Target& target, const Map& map) {
  const auto loads = link_loads(graph, target, map);
  return *std::max_element(loads.begin(), loads.end()) / 2;  // of edges of 2 bytes
}

struct Folded {
  double dilation;
  double load;
};

Folded folded(const Extents& tasks, const Wraps& wrap, const Grid& nodes, std::uint64_t seed = 1) {
  const TaskGraph graph = with_bytes(scrambled_grid(tasks, wrap, false, seed));
  const Target target(nodes, all_nodes(nodes));
  const auto s = recognise(graph.links, {});
  REQUIRE(s);
  const auto map = fold_map(graph, target, *s);
  REQUIRE(map);
  return {dilation(graph, target, *map), largest_load(graph, target, *map)};
}
}  // namespace

TEST_CASE("tables of factors are all there are") {
  const Extents rows{12, 6};
  const Extents columns{4, 18};
  std::size_t count = 0;
  for (std::uint32_t a = 1; a <= 12; ++a) {  // the other three follow
    if (12 % a == 0 && 4 % a == 0 && 6 % (4 / a) == 0 && 12 / a * (6 / (4 / a)) == 18) ++count;
  }
  const auto tables = factor_tables(rows, columns, 1000);
  CHECK(tables.size() == count);
  for (const FactorTable& t : tables) {
    CHECK(t[0] * t[1] == 12);
    CHECK(t[2] * t[3] == 6);
    CHECK(t[0] * t[2] == 4);
    CHECK(t[1] * t[3] == 18);
  }
  CHECK(factor_tables({6}, {4}, 1000).empty());
}

TEST_CASE("arrangements are the best there are") {
  Rng rng(3);
  for (int i = 0; i < 12; ++i) {
    BlockGrid grid;
    grid.extents = i % 2 == 0 ? Extents{2, 4} : Extents{2, 2, 2};
    for (std::size_t k = 0; k < grid.extents.size(); ++k) {
      grid.weight.push_back(1 + rng.below(4));
      grid.closing.push_back(grid.extents[k] - 1);
      grid.closing_weight.push_back(rng.below(2));
    }
    const NodeAxis axis(8, i % 3 == 0);
    std::vector<std::uint32_t> position(8);
    std::iota(position.begin(), position.end(), 0U);
    double least = 1e300;
    do {
      double cost = 0;
      std::uint32_t stride = 1;
      for (std::size_t k = 0; k < grid.extents.size(); ++k) {
        for (std::uint32_t b = 0; b < 8; ++b) {
          const std::uint32_t x = b / stride % grid.extents[k];
          if (x + 1 < grid.extents[k]) cost += grid.weight[k] * axis.distance(position[b], position[b + stride]);
          if (x == 0) {
            const std::uint32_t last = b + (grid.extents[k] - 1) * stride;
            cost += grid.closing_weight[k] * axis.distance(position[b], position[last]);
          }
        }
        stride *= grid.extents[k];
      }
      least = std::min(least, cost);
    } while (std::next_permutation(position.begin(), position.end()));
    const AxisLayout a = lay_out(grid, axis);
    CHECK(a.cost == doctest::Approx(least));
    CHECK(layout_bound(grid, pairs_at_distance(axis)) <= least + 1e-9);
  }
}

TEST_CASE("the closed form of folds is what is counted") {
  struct Case {
    Extents tasks;
    Wraps wrap;
    std::string kind;
    Extents nodes;
  };
  const std::vector<Case> cases{
      {{12, 10}, {false, false}, "torus", {4, 5, 6}},
      {{12, 10}, {true, false}, "torus", {4, 5, 6}},
      {{8, 8, 4}, {true, true, true}, "mesh", {16, 16}},
      {{6, 6, 6}, {false, true, false}, "torus", {4, 6, 9}},
      {{64}, {true}, "mesh", {4, 4, 4}},
      {{2, 2, 2, 2, 2, 2}, Wraps(6, false), "torus", {8, 8}},
      {{5, 7, 6}, {true, false, true}, "torus", {14, 15}},
  };
  for (const Case& c : cases) {
    const TaskGraph graph = with_bytes(scrambled_grid(c.tasks, c.wrap, false, 2));
    const Grid nodes = machine(c.kind, c.nodes);
    const Target target(nodes, all_nodes(nodes));
    const auto s = recognise(graph.links, {});
    REQUIRE(s);
    const auto grid = task_grid(graph, *s);
    const auto box = NodeBox::of(target);
    REQUIRE(grid);
    REQUIRE(box);
    const auto best = folds(*grid, box->axes, 5);
    REQUIRE(!best.empty());
    for (const Fold& fold : best) {
      const FoldTable table(fold, *grid, box->axes.size());
      Map map(graph.tasks());
      Extents at(box->axes.size());
      for (std::uint32_t t = 0; t < graph.tasks(); ++t) {
        table.coordinates(s->coordinates.data() + t * s->factors.size(), at.data());
        std::uint32_t cell = 0;
        for (std::size_t j = at.size(); j-- > 0;) cell = cell * box->axes[j].extent() + at[j];
        map[t] = box->places[cell];
      }
      require_map(graph, target, map);
      CHECK(hop_bytes(graph, target, map) == doctest::Approx(fold.hop_bytes));
    }
  }
}

TEST_CASE("folds with known dilation") {
  CHECK(folded({8, 9, 10}, {false, false, false}, machine("mesh", {10, 8, 9})).dilation == doctest::Approx(1));
  CHECK(folded({8, 9, 10}, {true, true, true}, machine("torus", {10, 8, 9})).load == doctest::Approx(1));
  CHECK(folded({60, 17}, {false, false}, machine("torus", {4, 15, 17})).dilation == doctest::Approx(1));
  CHECK(folded({1024}, {true}, machine("torus", {8, 8, 16})).dilation == doctest::Approx(1));  // a Hamiltonian cycle
  CHECK(folded({2, 2, 2, 2, 2, 2}, Wraps(6, false), machine("torus", {4, 4, 4})).dilation == doctest::Approx(1));
  // A hypercube of 10 dimensions on rings of 32: the cyclic cut sum of five dimensions, 3 * 2^7 - 2^4, over 80 edges.
  CHECK(folded(Extents(10, 2), Wraps(10, false), machine("torus", {32, 32})).dilation == doctest::Approx(368.0 / 80));
}

TEST_CASE("2-D grids in 3-D tori") {
  const Folded small = folded({32, 32}, {false, false}, machine("torus", {8, 8, 16}));
  CHECK(small.dilation <= 1.0162);
  CHECK(small.load <= 2);
  const Folded large = folded({64, 64}, {false, false}, machine("torus", {16, 16, 16}));
  CHECK(large.dilation <= 1.040);
  CHECK(large.load <= 3);
}

TEST_CASE("folds with fewer tasks than places, several tasks a node, jobs that are boxes") {
  CHECK(folded({30, 30}, {false, false}, machine("torus", {8, 8, 16})).dilation < 1.03);
  const Grid torus = machine("torus", {8, 8, 4});
  const TaskGraph graph = with_bytes(scrambled_grid({32, 32}, {false, false}, false, 1));
  const auto s = recognise(graph.links, {});
  REQUIRE(s);
  {
    const Target target(torus, all_nodes(torus), std::vector<std::uint32_t>(256, 4));
    const auto map = fold_map(graph, target, *s);
    REQUIRE(map);
    CHECK(dilation(graph, target, *map) < 0.6);  // every second edge in a node, if blocks of 2 x 2 share one
  }
  // Half of a torus: planes 2 to 5 of 8 in the first dimension.
  std::vector<Vertex> half;
  const Grid larger = machine("torus", {8, 16, 16});
  for (const Vertex v : all_nodes(larger)) {
    if (v % 8 >= 2 && v % 8 < 6) half.push_back(v);
  }
  const Target target(larger, half);
  const auto map = fold_map(graph, target, *s);
  REQUIRE(map);
  CHECK(dilation(graph, target, *map) < 1.06);
  std::vector<Vertex> hole = half;
  hole.erase(hole.begin() + 100);
  CHECK_FALSE(fold_map(graph, Target(larger, hole), *s));  // 1,023 places
}

TEST_CASE("steps along the curves") {
  for (const Extents& extents : {Extents{16, 16}, Extents{8, 8, 8}, Extents{4, 4, 4, 4}}) {
    std::vector<std::uint32_t> at;
    std::uint32_t cells = 1;
    for (const std::uint32_t e : extents) cells *= e;
    for (std::uint32_t cell = 0; cell < cells; ++cell) {
      std::uint32_t rest = cell;
      for (const std::uint32_t e : extents) {
        at.push_back(rest % e);
        rest /= e;
      }
    }
    const std::size_t d = extents.size();
    for (const Curve curve : {Curve::hilbert, Curve::snake, Curve::morton}) {
      const auto order = order_along(curve, at, d);
      std::uint32_t longest = 0;
      std::vector<bool> seen(cells, false);
      for (std::size_t i = 0; i < order.size(); ++i) {
        CHECK_FALSE(seen[order[i]]);
        seen[order[i]] = true;
        if (i == 0) continue;
        std::uint32_t step = 0;
        for (std::size_t k = 0; k < d; ++k) {
          const std::uint32_t a = at[order[i] * d + k];
          const std::uint32_t b = at[order[i - 1] * d + k];
          step += a > b ? a - b : b - a;
        }
        longest = std::max(longest, step);
      }
      if (curve == Curve::morton) CHECK(longest > 1);
      else CHECK(longest == 1);
    }
  }
  CHECK_THROWS_AS(curve_from("peano"), InvalidInput);
}

TEST_CASE("heuristics by name") {
  const Grid torus = machine("torus", {10, 10, 11});
  const Target target(torus, all_nodes(torus));
  const TaskGraph graph = with_bytes(scrambled_grid({37, 29}, {false, false}, false, 1));
  const auto s = recognise(graph.links, {});
  REQUIRE(s);
  const Grid same = machine("mesh", {29, 37});
  const Target exact(same, all_nodes(same));
  for (const char* name : {"maximum-overlap", "maximum-overlap-aligned", "expand-from-corner", "corners-to-centre",
                           "affine", "stepwise"}) {
    CAPTURE(name);
    const auto map = grid_heuristic_map(grid_heuristic_from(name), *s, target);
    REQUIRE(map);
    require_map(graph, target, *map);
    // The machine's dimensions are joined in other numbers here: all need a place, some a good one.
    const auto on_itself = grid_heuristic_map(grid_heuristic_from(name), *s, exact);
    REQUIRE(on_itself);
    require_map(graph, exact, *on_itself);
  }
  const auto aligned = grid_heuristic_map(GridHeuristic::maximum_overlap_aligned, *s, exact);
  CHECK(dilation(graph, exact, *aligned) == doctest::Approx(1));
  const auto overlap = grid_heuristic_map(GridHeuristic::maximum_overlap, *s, target);
  CHECK(dilation(graph, target, *overlap) < 1.5);
  CHECK_THROWS_AS(grid_heuristic_from("maximal-overlap"), InvalidInput);
}

TEST_CASE("geometric bisection on allocations with holes") {
  const TaskGraph graph = with_bytes(scrambled_grid({16, 16, 16}, {false, false, false}, false, 4));
  const auto s = recognise(graph.links, {});
  REQUIRE(s);
  const std::vector<double> at(s->coordinates.begin(), s->coordinates.end());
  {
    const Grid mesh = machine("mesh", {16, 16, 16});
    const Target target(mesh, all_nodes(mesh));
    CHECK(dilation(graph, target, geometric_map(graph, at, 3, target)) == doctest::Approx(1));
  }
  const Grid torus = machine("torus", {16, 16, 18});
  Rng rng(7);
  std::vector<Vertex> nodes = all_nodes(torus);
  while (nodes.size() > 4200) nodes.erase(nodes.begin() + rng.below(static_cast<std::uint32_t>(nodes.size())));
  const Target target(torus, nodes);
  CHECK(dilation(graph, target, geometric_map(graph, at, 3, target)) < 3.5);  // 12.4 on average at random
  const auto map = fold_map(graph, target, *s);
  REQUIRE(map);
  CHECK(dilation(graph, target, *map) < 1.5);
  const Target small(torus, {0, 1, 2});
  CHECK_THROWS_AS(geometric_map(graph, at, 3, small), InvalidInput);
  CHECK_THROWS_AS(geometric_map(graph, at, 2, target), InvalidInput);
}
