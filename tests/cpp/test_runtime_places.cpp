// Files of places, whole and with one defect each.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "runtime/places/places.hpp"

using isthmus::InvalidInput;
using isthmus::Unsupported;
using isthmus::runtime::Places;

namespace {

const std::string good =
    "isthmus places 1\n"
    "machine any name\n"
    "dimension x 3 ring 8\n"
    "dimension y 2\n"
    "rank 0 node 9 n9 core 1 at 2 0\n"
    "rank 1 node 4 n4 core 0 at 0 1\n"
    "rank 2 node 9 n9 core 0 at 2 0\n"
    "hops grid\n";

std::string with(const std::string& old, const std::string& now) {
  std::string text = good;
  return text.replace(text.find(old), old.size(), now);
}

}  // namespace

TEST_CASE("places: what a file says") {
  const Places places(good, "F");
  REQUIRE(places.ranks() == 3);
  REQUIRE(places.dimensions().size() == 2);
  CHECK(places.dimensions()[0].ring == 8);
  CHECK_FALSE(places.dimensions()[0].wraps);
  CHECK(places.node(1) == 4);
  CHECK(places.core(0) == 1);
  CHECK(places.coordinates(2)[0] == 2);
  CHECK(places.hops(0, 1) == 3);
  CHECK(places.hops(0, 2) == 0);
  const std::array<std::uint32_t, 2> shared{2, 0}, empty{1, 1};
  REQUIRE(places.at(shared).size() == 2);
  CHECK(places.at(shared)[0] == 0);
  CHECK(places.at(shared)[1] == 2);
  CHECK(places.at(empty).empty());
}

TEST_CASE("places: hops by table") {
  const Places places(with("hops grid\n", "hops 4 0Z\nhops 9 b0\n"), "F");
  CHECK(places.hops(1, 0) == 61);
  CHECK(places.hops(2, 1) == 11);
  CHECK_THROWS_AS((void)Places(with("hops grid\n", ""), "F").hops(0, 1), Unsupported);
}

TEST_CASE("places: one defect each") {
  const std::vector<std::pair<std::string, std::string>> defects = {
      {"", "F: is empty; the first line must be 'isthmus places 1'"},
      {"isthmus places 2\n", "F:1: the first line must be 'isthmus places 1'"},
      {"isthmus places 1\n", "F: has no ranks"},
      {with("dimension y 2", "dimension y"), "F:4: its extent is missing"},
      {with("dimension y 2", "dimension y two"), "F:4: its extent two: must be a whole number from 0"},
      {with("dimension y 2", "dimension y 0"), "F:4: extent 0: must be at least 1"},
      {with("dimension y 2", "dimension y 2 wide"), "F:4: 'wide' where 'ring' is expected"},
      {with("ring 8", "ring 2"), "F:3: a ring of 2: shorter than the extent 3"},
      {with("rank 1", "rank 2"), "F:6: rank 2: must be 1, ranks come in their order"},
      {with("node 4", "node 4294967296"), "F:6: the node 4294967296: must be a whole number from 0"},
      {with("at 0 1", "at 3 1"), "F:6: coordinate 3 of x: must be 0 to 2"},
      {with("at 0 1", "at 0"), "F:6: a coordinate is missing"},
      {with("at 0 1", "at 0 1 1"), "F:6: '1' is too much"},
      {with("hops grid", "hops 9 00\nhops 9 00"), "F:9: hops of node 9 come twice"},
      {with("hops grid", "hops 9 00\nhops 4 0"), "F:9: hops to 1 nodes, before to 2"},
      {with("hops grid", "hops 9 00"), "F: hops of 1 nodes: must be a row for each column"},
      {with("hops grid", "hops 9 00\nhops 5 00"), "F: no hops of node 4"},
      {with("hops grid", "hops 9 0-"), "F:8: hops '-': must be 0-9, a-z or A-Z"},
      {with("hops grid", "dimension z 1"), "F:8: dimensions come before ranks"},
      {with("hops grid", "frob"), "F:8: 'frob': must be machine, dimension, rank or hops"},
  };
  for (const auto& [text, words] : defects) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS((void)Places(text, "F"), words.c_str(), InvalidInput);
  }
}
