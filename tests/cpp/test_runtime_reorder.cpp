// Orders of new communicators: every one is checked against hops that are counted pair by pair.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "runtime/places/places.hpp"
#include "runtime/reorder/reorder.hpp"

using namespace isthmus;
using isthmus::runtime::Exchanges;
using isthmus::runtime::Order;
using isthmus::runtime::Places;

namespace {

/// A torus or mesh whose nodes have as many ranks each, block by block or in random order.
Places grid(std::vector<std::uint32_t> extents, bool wraps, std::uint32_t each, std::uint64_t seed = 0) {
  std::string text = "isthmus places 1\n";
  std::uint32_t nodes = 1;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    text += message("dimension ", static_cast<char>('a' + k), " ", extents[k]);
    text += wraps ? message(" ring ", extents[k], "\n") : "\n";
    nodes *= extents[k];
  }
  std::vector<std::uint32_t> node(static_cast<std::size_t>(nodes) * each);
  for (std::size_t r = 0; r < node.size(); ++r) node[r] = static_cast<std::uint32_t>(r / each);
  Rng rng(seed);
  for (std::size_t r = node.size(); seed > 0 && r > 1; --r) std::swap(node[r - 1], node[rng.below(r)]);
  for (std::size_t r = 0; r < node.size(); ++r) {
    text += message("rank ", r, " node ", node[r], " n", node[r], " core 0 at");
    std::uint32_t rest = node[r];
    for (const std::uint32_t e : extents) {
      text += message(" ", rest % e);
      rest /= e;
    }
    text += "\n";
  }
  return {text + "hops grid\n", "F"};
}

Exchanges stencil(const std::vector<std::uint32_t>& extents, bool wraps) {
  Exchanges out;
  out.ranks = 1;
  for (const std::uint32_t e : extents) out.ranks *= e;
  for (std::uint32_t r = 0; r < out.ranks; ++r) {
    std::uint32_t stride = out.ranks;  // the last varies fastest, as in MPI
    for (const std::uint32_t e : extents) {
      stride /= e;
      const std::uint32_t x = r / stride % e;
      if (x + 1 == e && !wraps) continue;
      out.from.push_back(r);
      out.to.push_back(r - x * stride + (x + 1) % e * stride);
      out.bytes.push_back(1);
    }
  }
  return out;
}

double cost(const Places& places, const std::vector<std::uint32_t>& members, const Exchanges& what,
            const std::vector<std::uint32_t>& rank) {
  std::vector<std::uint32_t> process(rank.size());
  for (std::size_t i = 0; i < rank.size(); ++i) process[rank[i]] = members[i];
  double sum = 0;
  for (std::size_t i = 0; i < what.from.size(); ++i)
    sum += what.bytes[i] * places.hops(process[what.from[i]], process[what.to[i]]);
  return sum;
}

std::vector<std::uint32_t> numbers(std::uint32_t n) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

/// What holds of every order.
Order checked(const Places& places, const std::vector<std::uint32_t>& members, const Exchanges& what) {
  Order out = runtime::reorder(places, members, what, 0);
  std::vector<std::uint32_t> sorted = out.rank;
  std::sort(sorted.begin(), sorted.end());
  const auto usual = numbers(static_cast<std::uint32_t>(members.size()));
  REQUIRE(sorted == usual);
  CHECK(out.before == doctest::Approx(cost(places, members, what, usual)));
  CHECK(out.after == doctest::Approx(cost(places, members, what, out.rank)));
  CHECK(out.after <= out.before);
  if (out.after == out.before) CHECK(out.rank == usual);
  return out;
}

}  // namespace

TEST_CASE("reorder: a grid in its torus") {
  // 8 x 8 x 8 in 4 x 4 x 4 nodes of 8: cubes of 2 x 2 x 2, of which each face has 4 neighbours.
  const Order found = checked(grid({4, 4, 4}, true, 8), numbers(512), stencil({8, 8, 8}, true));
  CHECK(found.after == 64 * 6 * 4 / 2);
}

TEST_CASE("reorder: nothing is better than what is best already") {
  const Order found = checked(grid({4, 4}, true, 1), numbers(16), stencil({4, 4}, true));
  CHECK(found.after == found.before);
  CHECK(found.before == 32);
}

TEST_CASE("reorder: ranks that came in any order, and too many of them") {
  const Order found = checked(grid({4, 4}, true, 2, 7), numbers(32), stencil({4, 6}, false));
  CHECK(found.after < found.before);
}

TEST_CASE("reorder: some ranks of a job, on some nodes") {
  const Places places = grid({3, 3, 3}, false, 2, 5);
  std::vector<std::uint32_t> members;
  for (std::uint32_t r = 0; r < 54; r += 1 + r % 3) members.push_back(53 - r);
  checked(places, members, stencil({2, static_cast<std::uint32_t>(members.size()) / 2}, true));
}

TEST_CASE("reorder: any graph on any machine") {
  Rng rng(3);
  for (int round = 0; round < 40; ++round) {
    // A table of hops that is not symmetric in form: nodes of a star of stars.
    const auto nodes = static_cast<std::uint32_t>(1 + rng.below(9)),
               ranks = static_cast<std::uint32_t>(1 + rng.below(24));
    std::string text = "isthmus places 1\n";
    for (std::uint32_t r = 0; r < ranks; ++r)
      text += message("rank ", r, " node ", rng.below(nodes) * 10, " n core 0 at\n");
    for (std::uint32_t i = 0; i < nodes; ++i) {
      text += message("hops ", i * 10, " ");
      for (std::uint32_t j = 0; j < nodes; ++j) text += i == j ? "0" : i / 3 == j / 3 ? "2" : "4";
      text += "\n";
    }
    const Places places(text, "F");
    Exchanges what;
    what.ranks = static_cast<std::uint32_t>(rng.below(ranks + 1));
    for (std::uint64_t i = 0; what.ranks > 0 && i < rng.below(80); ++i) {
      what.from.push_back(static_cast<std::uint32_t>(rng.below(what.ranks)));
      what.to.push_back(static_cast<std::uint32_t>(rng.below(what.ranks)));
      what.bytes.push_back(static_cast<double>(rng.below(1000)));
    }
    checked(places, numbers(ranks), what);
  }
}

TEST_CASE("reorder: what cannot be done is said") {
  const Places places = grid({2, 2}, true, 1);
  const auto what = stencil({2, 2}, true);
  CHECK_THROWS_WITH_AS(runtime::reorder(places, numbers(3), what, 0),
                       "4 ranks that exchange something, and 3 members: must be as many or more", InvalidInput);
  CHECK_THROWS_WITH_AS(runtime::reorder(places, std::vector<std::uint32_t>{0, 1, 2, 4}, what, 0),
                       "rank 4 does not exist: there are places of 4 ranks", InvalidInput);
  CHECK_THROWS_WITH_AS(runtime::reorder(places, std::vector<std::uint32_t>{0, 1, 2, 1}, what, 0), "rank 1 comes twice",
                       InvalidInput);
  Exchanges wrong = what;
  wrong.bytes[0] = -1;
  CHECK_THROWS_AS(runtime::reorder(places, numbers(4), wrong, 0), InvalidInput);
  const Places silent("isthmus places 1\nrank 0 node 1 a core 0 at\nrank 1 node 2 b core 0 at\n", "F");
  CHECK_THROWS_AS(runtime::reorder(silent, numbers(2), stencil({2}, false), 0), Unsupported);
}
