// Counts of partitioned matrices beside a set for every pair of parts.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "multigrid/counts.hpp"

using namespace isthmus;
using namespace isthmus::multigrid;

namespace {

template <class Index>
void compare(std::uint64_t seed) {
  Rng rng(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  const std::uint32_t rows = 1 + below(40), columns = 1 + below(40), parts = 1 + below(9);
  std::vector<std::uint32_t> row_owner(rows), column_owner(columns);
  for (auto& p : row_owner) p = below(parts);
  for (auto& p : column_owner) p = below(parts);
  std::vector<Index> first{0}, column;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> needed;
  std::vector<std::uint64_t> held(parts), nonzeros(parts);
  for (std::uint32_t i = 0; i < rows; ++i) {
    ++held[row_owner[i]];
    for (std::uint32_t k = below(6); k > 0; --k) {
      const std::uint32_t j = below(columns);
      column.push_back(static_cast<Index>(j));
      ++nonzeros[row_owner[i]];
      if (column_owner[j] != row_owner[i]) needed[{row_owner[i], column_owner[j]}].insert(j);
    }
    first.push_back(static_cast<Index>(column.size()));
  }
  const Counts found = count<Index>({first, column}, row_owner, column_owner, parts);
  CHECK(found.rows == held);
  CHECK(found.nonzeros == nonzeros);
  REQUIRE(found.first.size() == parts + 1);
  REQUIRE(found.first.back() == needed.size());
  std::size_t at = 0;
  for (const auto& [pair, elements] : needed) {
    CHECK(found.first[pair.first] <= at);
    CHECK(at < found.first[pair.first + 1]);
    CHECK(found.from[at] == pair.second);
    CHECK(found.elements[at] == elements.size());
    ++at;
  }
}

}  // namespace

TEST_CASE("what parts of a matrix receive is what their rows need, once") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    compare<std::int32_t>(seed);
    compare<std::int64_t>(seed);
  }
}

TEST_CASE("matrices and owners that do not fit are refused") {
  const std::vector<std::int32_t> first{0, 1, 2}, column{0, 1}, falling{0, 2, 1}, far{0, 2}, negative{0, -1};
  const std::vector<std::uint32_t> two{0, 1}, wrong{0, 2}, one{0};
  const auto of = [&](const auto& f, const auto& c, const auto& r, const auto& o) {
    return count<std::int32_t>({f, c}, r, o, 2);
  };
  CHECK(of(first, column, two, two).elements.empty());
  CHECK_THROWS_WITH_AS(of(first, column, wrong, two), "row 1 belongs to part 2; there are 2", InvalidInput);
  CHECK_THROWS_WITH_AS(of(first, column, two, wrong), "column 1 belongs to part 2; there are 2", InvalidInput);
  CHECK_THROWS_WITH_AS(of(first, column, one, two), "the matrix has 2 rows, and owners of 1 are given", InvalidInput);
  CHECK_THROWS_AS(of(falling, column, two, two), InvalidInput);
  CHECK_THROWS_WITH_AS(of(first, far, two, two), "a nonzero is in column 2, and owners of 2 are given", InvalidInput);
  CHECK_THROWS_AS(of(first, negative, two, two), InvalidInput);
}
