#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "graph/bisect.hpp"
#include "graph/traversal.hpp"

using namespace isthmus;
using namespace isthmus::graph;

namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Both directions of every edge.
Csr undirected(std::uint32_t vertices, const Edges& edges) {
  std::vector<std::vector<std::uint32_t>> rows(vertices);
  for (const auto& [a, b] : edges) {
    rows[a].push_back(b);
    rows[b].push_back(a);
  }
  Csr out;
  out.offsets.push_back(0);
  for (const auto& row : rows) {
    out.targets.insert(out.targets.end(), row.begin(), row.end());
    out.offsets.push_back(out.targets.size());
  }
  return out;
}

Cut unit_cut(const Csr& graph, std::uint32_t terminals) {
  return bisect(graph, std::vector<double>(graph.targets.size(), 1.0), terminals, 24, 1);
}

}  // namespace

TEST_CASE("breadth-first search counts hops and leaves the rest unreachable") {
  // 0 -> 1 -> 2 -> 0, 2 -> 3; 4 alone.
  const Csr graph{{0, 1, 2, 4, 4, 4}, {1, 2, 0, 3}};
  std::vector<std::uint32_t> hops(5);
  std::vector<std::uint32_t> queue;
  breadth_first(graph, 0, hops, queue);
  CHECK(hops == std::vector<std::uint32_t>{0, 1, 2, 3, unreachable});
  breadth_first(graph, 3, hops, queue);
  CHECK(hops == std::vector<std::uint32_t>{unreachable, unreachable, unreachable, 0, unreachable});
}

TEST_CASE("bisect finds known bisections") {
  Edges path;
  Edges ring;
  for (std::uint32_t v = 0; v < 40; ++v) {
    if (v + 1 < 40) path.emplace_back(v, v + 1);
    ring.emplace_back(v, (v + 1) % 40);
  }
  CHECK(unit_cut(undirected(40, path), 40).edges == 1);
  CHECK(unit_cut(undirected(40, ring), 40).edges == 2);
  Edges complete;
  for (std::uint32_t a = 0; a < 9; ++a) {
    for (std::uint32_t b = a + 1; b < 9; ++b) complete.emplace_back(a, b);
  }
  CHECK(unit_cut(undirected(9, complete), 9).edges == 20);
  // Two cliques joined by three edges, numbered so that neither is contiguous.
  Edges barbell = {{0, 1}, {2, 3}, {4, 5}};
  for (std::uint32_t a = 0; a < 24; ++a) {
    for (std::uint32_t b = a + 2; b < 24; b += 2) barbell.emplace_back(a, b);
  }
  CHECK(unit_cut(undirected(24, barbell), 24).edges == 3);
  Edges cube;
  for (std::uint32_t v = 0; v < 64; ++v) {
    for (std::uint32_t bit = 1; bit < 64; bit <<= 1) {
      if (v < (v ^ bit)) cube.emplace_back(v, v ^ bit);
    }
  }
  CHECK(unit_cut(undirected(64, cube), 64).edges == 32);
  // Petersen graph: bisection width 5.
  Edges petersen;
  for (std::uint32_t i = 0; i < 5; ++i) {
    petersen.emplace_back(i, (i + 1) % 5);
    petersen.emplace_back(i, i + 5);
    petersen.emplace_back(i + 5, (i + 2) % 5 + 5);
  }
  CHECK(unit_cut(undirected(10, petersen), 10).edges == 5);
}

TEST_CASE("bisect places vertices that are not terminals freely, and weights decide the weighted cut") {
  // A star: its centre is no terminal; half of the leaves are cut off.
  Edges star;
  for (std::uint32_t v = 0; v < 10; ++v) star.emplace_back(v, 10);
  CHECK(unit_cut(undirected(11, star), 10).edges == 5);
  CHECK(unit_cut(undirected(11, star), 1).edges == 0);
  // A ring of four with two heavy edges opposite: both cuts have two edges, the light one weighs 2.
  const Csr ring = undirected(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  std::vector<double> weights;
  for (std::uint32_t v = 0; v < 4; ++v) {
    for (const std::uint32_t w : ring.row(v)) weights.push_back(v / 2 == w / 2 ? 9 : 1);
  }
  const Cut cut = bisect(ring, weights, 4, 8, 1);
  CHECK(cut.edges == 2);
  CHECK(cut.weight == 2);
}

TEST_CASE("bisect counts the smaller direction of directed graphs and halves graphs in pieces") {
  // A directed ring is left once whatever half is cut off.
  Csr ring;
  ring.offsets.push_back(0);
  for (std::uint32_t v = 0; v < 12; ++v) {
    ring.targets.push_back((v + 1) % 12);
    ring.offsets.push_back(ring.targets.size());
  }
  CHECK(unit_cut(ring, 12).edges == 1);
  CHECK(unit_cut(undirected(6, {{0, 1}, {2, 3}, {4, 5}}), 6).edges == 1);  // in pieces: one pair is split
  CHECK(unit_cut(undirected(4, {{0, 1}, {2, 3}}), 4).edges == 0);
}
