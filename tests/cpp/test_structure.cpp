#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "grids_of_tasks.hpp"
#include "mapping/problem/pattern_graph.hpp"
#include "mapping/regular/structure.hpp"

using namespace isthmus;
using namespace isthmus::mapping;
using namespace isthmus::test;

namespace {

std::string text(const std::vector<Factor>& factors) {
  std::string out;
  for (const Factor& f : factors) out += "pckit"[static_cast<int>(f.kind)] + std::to_string(f.extent) + " ";
  return out;
}

std::string found(const Csr& graph) {
  const auto s = recognise(graph, {});
  if (!s) return "nothing";
  CHECK(s->explained == doctest::Approx(1));
  CHECK(is_product(graph, s->factors, s->coordinates, s->stencil == Stencil::box));
  return text(s->factors);
}
}  // namespace

TEST_CASE("grids and tori of all kinds are recognised") {
  CHECK(found(scrambled_grid({9, 5}, {false, false}, false, 1)) == "p9 p5 ");
  CHECK(found(scrambled_grid({9, 5}, {true, false}, false, 2)) == "c9 p5 ");
  CHECK(found(scrambled_grid({3, 7, 5}, {true, true, false}, false, 3)) == "c7 p5 c3 ");
  CHECK(found(scrambled_grid({4, 8, 2}, {true, true, false}, false, 4)) == "c8 c4 p2 ");
  CHECK(found(scrambled_grid({4, 4, 5}, {true, true, true}, false, 5)) == "c5 c4 c4 ");
  CHECK(found(scrambled_grid({2, 2, 8}, {false, false, false}, false, 6)) == "p8 p2 p2 ");
  CHECK(found(scrambled_grid({4, 3, 5, 6}, {false, false, true, false}, false, 7)) == "p6 c5 p4 p3 ");
  CHECK(found(scrambled_grid({17}, {true}, false, 8)) == "c17 ");
  CHECK(found(scrambled_grid({4}, {true}, false, 9)) == "c4 ");
  CHECK(found(scrambled_grid({40}, {false}, false, 10)) == "p40 ");
  CHECK(found(scrambled_grid({2}, {false}, false, 10)) == "p2 ");
  CHECK(found(scrambled_grid({2, 2, 2, 2, 2}, Wraps(5, false), false, 11)) == "p2 p2 p2 p2 p2 ");
}

TEST_CASE("a torus of extent 4 is a hypercube") {
  CHECK(found(scrambled_grid({4, 4, 4}, Wraps(3, true), false, 1)) == "p2 p2 p2 p2 p2 p2 ");
}

TEST_CASE("random grids, with and without diagonals") {
  Rng rng(99);
  for (int i = 0; i < 150; ++i) {
    const std::size_t d = 1 + rng.below(4);
    Extents extents;
    Wraps wrap;
    std::uint32_t cells = 1;
    for (std::size_t k = 0; k < d; ++k) {
      extents.push_back(2 + rng.below(k == 0 ? 12 : 5));
      wrap.push_back(rng.below(2) == 1);
      cells *= extents.back();
    }
    if (cells > 600) continue;
    const bool diagonals = d > 1 && rng.below(2) == 1;
    const Csr graph = scrambled_grid(extents, wrap, diagonals, 1000 + static_cast<std::uint64_t>(i));
    CAPTURE(i);
    const std::string what = found(graph);
    CHECK(what != "nothing");
  }
}

TEST_CASE("stencils with diagonals") {
  CHECK(found(scrambled_grid({9, 5}, {false, false}, true, 1)) == "p9 p5 ");
  CHECK(found(scrambled_grid({9, 5, 6}, {true, false, false}, true, 2)) == "c9 p6 p5 ");
  CHECK(found(scrambled_grid({2, 5, 5}, {false, false, false}, true, 3)) == "p5 p5 p2 ");
  CHECK(found(scrambled_grid({4, 4, 4}, {true, true, true}, true, 4)) == "c4 c4 c4 ");
  CHECK(found(scrambled_grid({3, 3, 3}, {false, false, false}, true, 5)) == "p3 p3 p3 ");
}

TEST_CASE("all-to-all along rows, and copies") {
  CHECK(found(complete(7)) == "k7 ");
  CHECK(found(scrambled_product(complete(8), complete(5), 1)) == "k8 k5 ");
  CHECK(found(scrambled_product(complete(6), scrambled_grid({9}, {true}, false, 1), 2)) == "c9 k6 ");
  Csr apart;
  apart.offsets.assign(6, 0);
  CHECK(found(scrambled_product(apart, complete(4), 3)) == "i5 k4 ");
  CHECK(found(scrambled_product(apart, scrambled_grid({6, 4}, {false, false}, false, 1), 3)) == "i5 p6 p4 ");
}

TEST_CASE("a tree gets depth-first numbers") {
  Csr tree;  // vertex v hangs on (v - 1) / 3
  const std::uint32_t n = 121;
  tree.offsets.push_back(0);
  for (std::uint32_t v = 0; v < n; ++v) {
    if (v > 0) tree.targets.push_back((v - 1) / 3);
    for (std::uint32_t c = 3 * v + 1; c <= 3 * v + 3 && c < n; ++c) tree.targets.push_back(c);
    tree.offsets.push_back(tree.targets.size());
  }
  const auto s = recognise(tree, {});
  REQUIRE(s);
  CHECK(text(s->factors) == "t121 ");
  auto numbers = s->coordinates;
  std::sort(numbers.begin(), numbers.end());
  for (std::uint32_t v = 0; v < n; ++v) CHECK(numbers[v] == v);
}

TEST_CASE("nothing in what is not regular") {
  Rng rng(5);
  Csr graph;
  graph.offsets.push_back(0);
  std::vector<std::vector<std::uint32_t>> rows(300);
  for (int i = 0; i < 900; ++i) {
    const std::uint32_t a = rng.below(300);
    const std::uint32_t b = rng.below(300);
    if (a == b || std::find(rows[a].begin(), rows[a].end(), b) != rows[a].end()) continue;
    rows[a].push_back(b);
    rows[b].push_back(a);
  }
  for (const auto& row : rows) {
    graph.targets.insert(graph.targets.end(), row.begin(), row.end());
    graph.offsets.push_back(graph.targets.size());
  }
  CHECK_FALSE(recognise(graph, {}));
  CHECK_FALSE(recognise(Csr{}, {}));
  Csr alone;
  alone.offsets.assign(4, 0);
  CHECK_FALSE(recognise(alone, {}));
}

TEST_CASE("light edges may be left out") {
  const Csr grid = scrambled_grid({12, 10}, {false, false}, false, 3);
  const Csr more = scrambled_grid({12, 10}, {false, false}, false, 3, {0, 0, 60});
  std::vector<double> weights;
  for (std::uint32_t v = 0; v < more.vertices(); ++v) {
    const auto row = grid.row(v);
    for (const std::uint32_t w : more.row(v)) {
      weights.push_back(std::find(row.begin(), row.end(), w) != row.end() ? 1000.0 : 8.0);
    }
  }
  const auto s = recognise(more, weights);
  REQUIRE(s);
  CHECK(text(s->factors) == "p12 p10 ");
  CHECK(s->explained < 1);
  CHECK(s->explained > 0.99);
  CHECK(is_product(grid, s->factors, s->coordinates, false));
}

TEST_CASE("grids with vertices and edges missing and added") {
  struct Case {
    Extents extents;
    Wraps wrap;
    bool diagonals;
    Damage damage;
  };
  const std::vector<Case> cases{
      {{32, 32}, {false, false}, false, {0.02, 0, 0}},
      {{32, 32}, {false, false}, false, {0, 0.02, 0}},
      {{32, 32}, {false, false}, false, {0, 0, 20}},
      {{40, 40}, {true, true}, false, {0.02, 0.01, 10}},
      {{16, 16, 16}, {true, true, true}, false, {0.02, 0, 0}},
      {{16, 16, 16}, {false, false, false}, false, {0.03, 0, 20}},
      {{32, 32}, {false, false}, true, {0.02, 0, 0}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    CAPTURE(i);
    const auto s = recognise(scrambled_grid(c.extents, c.wrap, c.diagonals, 70 + i, c.damage), {});
    REQUIRE(s);
    CHECK(s->explained > 0.97);
    REQUIRE(s->factors.size() == c.extents.size());
    for (std::size_t k = 0; k < c.extents.size(); ++k) {
      CHECK((s->factors[k].kind == FactorKind::cycle) == c.wrap[k]);
      CHECK(s->factors[k].extent >= c.extents[k] - 1);
      CHECK(s->factors[k].extent <= c.extents[k] + 2);
    }
  }
}

TEST_CASE("damaged grids get the extents of the whole grid") {
  struct Case {
    Extents extents;
    bool wrap;
    bool diagonals;
    Damage damage;
  };
  const std::vector<Case> cases{
      {{64, 64}, false, false, {0, 0.05, 0}},      {{64, 64}, false, false, {0, 0.1, 0}},
      {{64, 64}, true, false, {0, 0.1, 0}},        {{50, 30}, false, false, {0, 0.1, 0}},
      {{16, 16, 16}, false, false, {0, 0.2, 0}},   {{16, 16, 16}, true, false, {0, 0.1, 0}},
      {{20, 12, 8}, false, false, {0.1, 0.05, 0}}, {{20, 12, 8}, false, false, {0, 0.05, 40}},
      {{40, 40}, false, true, {0, 0.02, 0}},       {{12, 12, 12}, false, true, {0, 0.1, 0}},
      {{64, 64}, false, false, {0, 0.15, 0}},      {{100, 40}, false, false, {0, 0.15, 0}},
  };
  // Where a corner has lost all its edges nobody can say that it was there: of each kind, most seeds.
  constexpr int seeds = 5;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    CAPTURE(i);
    int right = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const Wraps wrap(c.extents.size(), c.wrap);
      const auto s = recognise(scrambled_grid(c.extents, wrap, c.diagonals, 500 + seed, c.damage), {});
      REQUIRE(s);
      CHECK(s->explained > 0.94);
      bool same = s->factors.size() == c.extents.size();
      for (std::size_t k = 0; same && k < c.extents.size(); ++k) {
        same = s->factors[k] == Factor{c.wrap ? FactorKind::cycle : FactorKind::path, c.extents[k]};
      }
      right += same;
    }
    CHECK(right >= 4);
  }
}

TEST_CASE("the graph of a pattern is that of its transfers") {
  Rng rng(17);
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t n = 1 + rng.below(30);
    std::vector<std::uint64_t> first{0};
    std::vector<std::uint32_t> from;
    std::vector<std::uint32_t> to;
    std::vector<std::uint64_t> bytes;
    std::vector<double> reals;
    for (std::uint32_t v = 0; v < n; ++v) {
      for (std::uint32_t w = 0; w < n; ++w) {
        if (rng.below(4) > 0) continue;
        from.push_back(v);
        to.push_back(w);
        bytes.push_back(rng.below(3));
        reals.push_back(static_cast<double>(bytes.back()));
      }
      first.push_back(to.size());
    }
    const TaskGraph fast = pattern_graph(first, to, bytes);
    const TaskGraph slow = task_graph(n, from, to, reals);
    CHECK(fast.links.offsets == slow.links.offsets);
    CHECK(fast.links.targets == slow.links.targets);
    CHECK(fast.bytes == slow.bytes);
  }
  CHECK_THROWS_AS(pattern_graph(std::vector<std::uint64_t>{0, 2}, std::vector<std::uint32_t>{0, 0},
                                std::vector<std::uint64_t>{1, 1}),
                  InvalidInput);
  CHECK_THROWS_AS(
      pattern_graph(std::vector<std::uint64_t>{0, 1}, std::vector<std::uint32_t>{1}, std::vector<std::uint64_t>{1}),
      InvalidInput);
}
