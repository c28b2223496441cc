// Arrays in tiles beside the rule itself: tiles are dealt out one after the other, row by row.
#include <doctest/doctest.h>
#include <isthmus/tiles.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pgas_ranks.hpp"

namespace isthmus::test {
namespace {

using Index = std::vector<std::uint64_t>;

/// Goes through a box, the last dimension fastest.
template <class F>
void each(const Index& extents, const F& what) {
  Index at(extents.size());
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  for (;;) {
    what(at);
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

Index divided(const Index& a, const Index& b) {
  Index out(a.size());
  for (std::size_t d = 0; d < a.size(); ++d) out[d] = (a[d] + b[d] - 1) / b[d];
  return out;
}

isthmus_tiles layout_of(const Index& extents, const Index& tile, const Index& grid, std::uint32_t ranks) {
  isthmus_tiles out{};
  out.dimensions = static_cast<std::uint32_t>(extents.size());
  out.ranks = ranks;
  for (std::size_t d = 0; d < std::min<std::size_t>(extents.size(), ISTHMUS_MOST_TILED); ++d) {
    out.extents[d] = extents[d];
    out.tile[d] = tile[d];
    out.grid[d] = grid.empty() ? 0 : static_cast<std::uint32_t>(grid[d]);
  }
  return out;
}

/// What is wrong with a layout beside a walk over all tiles and elements.
std::string wrong_with(const isthmus_tiles& layout, const Index& extents, const Index& tile, const Index& grid) {
  std::vector<std::uint64_t> dealt(layout.ranks);
  std::string wrong;
  std::uint64_t turn = 0, elements = 1;
  for (const std::uint64_t size : tile) elements *= size;
  const auto expect = [&](bool holds, const char* words) {
    if (!holds && wrong.empty()) wrong = words;
  };
  each(divided(extents, tile), [&](const Index& t) {
    std::uint64_t rank = 0;
    if (grid.empty()) rank = turn++ % layout.ranks;
    else
      for (std::size_t d = 0; d < t.size(); ++d) rank = rank * grid[d] + t[d] % grid[d];
    const std::uint64_t number = dealt[rank]++;
    Index first(t.size()), inside(t.size()), found_first(t.size()), found_inside(t.size());
    for (std::size_t d = 0; d < t.size(); ++d) {
      first[d] = t[d] * tile[d];
      inside[d] = std::min(tile[d], extents[d] - first[d]);
    }
    isthmus_tiles_nth(&layout, static_cast<std::uint32_t>(rank), number, found_first.data(), found_inside.data());
    expect(found_first == first && found_inside == inside, "a tile of a rank");
    std::uint64_t phase = 0;
    each(tile, [&](const Index& e) {
      Index at(first);
      bool is_inside = true;
      for (std::size_t d = 0; d < e.size(); ++d) {
        at[d] += e[d];
        is_inside &= e[d] < inside[d];
      }
      if (is_inside) {
        const isthmus_shared place = isthmus_tiles_place(&layout, 64, at.data(), 12);
        expect(place.rank == rank && place.phase == phase && place.offset == 64 + (number * elements + phase) * 12,
               "the place of an element");
      }
      ++phase;
    });
  });
  for (std::uint32_t r = 0; r < layout.ranks; ++r)
    expect(isthmus_tiles_local(&layout, r) == dealt[r], "how many tiles a rank has");
  expect(isthmus_tiles_bytes(&layout, 12) == *std::max_element(dealt.begin(), dealt.end()) * elements * 12, "bytes");
  return wrong;
}

}  // namespace

TEST_CASE("tiles are dealt out in turn or over a grid, and elements lie where a walk finds them") {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int turn = 0; turn < 400; ++turn) {
    const std::size_t dimensions = 1 + below(4);
    Index extents(dimensions), tile(dimensions), grid;
    for (std::size_t d = 0; d < dimensions; ++d) {
      extents[d] = below(dimensions > 2 ? 9 : 30);
      tile[d] = 1 + below(6);
    }
    std::uint32_t ranks = 1 + static_cast<std::uint32_t>(below(9));
    if (below(2) == 0) {
      std::uint64_t places = 1;
      for (std::size_t d = 0; d < dimensions; ++d) places *= grid.emplace_back(1 + below(3));
      ranks = static_cast<std::uint32_t>(places + below(3));  // some have no place
    }
    const isthmus_tiles layout = layout_of(extents, tile, grid, ranks);
    CHECK(isthmus_tiles_right(&layout) != 0);
    CHECK_MESSAGE(wrong_with(layout, extents, tile, grid) == "", "turn " << turn);
  }
  // In one dimension it is the rule of shared arrays.
  const isthmus_tiles line = layout_of({100}, {7}, {}, 3);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const isthmus_shared place = isthmus_tiles_place(&line, 128, &i, 8);
    const isthmus_shared usual = isthmus_shared_add(isthmus_shared_first(128), static_cast<std::int64_t>(i), 8, 7, 3);
    CHECK(isthmus_shared_equal(place, usual) != 0);
    CHECK(place.phase == usual.phase);
  }
}

TEST_CASE("layouts that cannot be are refused") {
  const auto right = [](const isthmus_tiles& layout) { return isthmus_tiles_right(&layout) != 0; };
  CHECK(right(layout_of({0, 4}, {1, 1}, {}, 1)));
  CHECK_FALSE(right(layout_of({}, {}, {}, 1)));
  CHECK_FALSE(right(layout_of({4}, {0}, {}, 1)));
  CHECK_FALSE(right(layout_of({4}, {1}, {}, 0)));
  CHECK_FALSE(right(layout_of({4, 4}, {1, 1}, {2, 0}, 4)));
  CHECK_FALSE(right(layout_of({4, 4}, {1, 1}, {2, 3}, 5)));
  CHECK_FALSE(right(layout_of({4, 4}, {1U << 16, 1U << 16}, {}, 5)));
  CHECK_FALSE(right(layout_of(Index(9, 2), Index(9, 1), {}, 5)));
}

TEST_CASE("ranks fill their tiles, and boxes of an array are got and put wherever they are") {
  for (const Shape shape : {Shape(1), Shape(4), Shape(3, 1), Shape(6, 2)}) {
    on_ranks(shape, [](Rank& own) {
      for (const bool in_grid : {false, true}) {
        const std::uint32_t down = own.ranks % 2 == 0 ? 2 : 1;
        constexpr std::uint64_t n = 37, m = 53;
        pgas::tiled_array<std::uint32_t, 2> array(
            own.space, {n, m}, {5, 8},
            in_grid ? std::array<std::uint32_t, 2>{down, own.ranks / down} : std::array<std::uint32_t, 2>{});
        std::uint64_t mine = 0, counted = 0;
        array.each_of_mine([&](const std::array<std::uint64_t, 2>& i, std::uint32_t& x) {
          x = static_cast<std::uint32_t>(1000 * i[0] + i[1]);
          own.expect(array.rank_of(i) == own.rank, "owner");
          ++mine;
        });
        own.barrier();
        for (const auto& tile : array.tiles()) {
          counted += tile.extents[0] * tile.extents[1];
          own.expect(tile({0, 0}) == 1000 * tile.first[0] + tile.first[1], "the first of a tile");
        }
        own.expect(counted == mine, "how many are mine");
        for (int turn = 0; turn < 40; ++turn) {
          const std::array<std::uint64_t, 2> first{own.below(n), own.below(m)};
          const std::array<std::uint64_t, 2> box{own.below(n - first[0] + 1), own.below(m - first[1] + 1)};
          std::vector<std::uint32_t> found(box[0] * box[1] + 1, 7);
          array.get(first, box, found.data());
          for (std::uint64_t i = 0; i < box[0]; ++i)
            for (std::uint64_t k = 0; k < box[1]; ++k)
              own.expect(found[i * box[1] + k] == 1000 * (first[0] + i) + first[1] + k, "a box");
          own.expect(found.back() == 7, "behind a box");
        }
        own.barrier();
        // Every rank writes rows of its own: none is left out, and none is written twice.
        for (std::uint64_t i = own.rank; i < n; i += own.ranks) {
          std::vector<std::uint32_t> row(m);
          for (std::uint64_t k = 0; k < m; ++k) row[k] = static_cast<std::uint32_t>(7 * i + k);
          array.put({i, 0}, {1, m}, row.data());
        }
        own.barrier();
        array.each_of_mine([&](const std::array<std::uint64_t, 2>& i, std::uint32_t x) {
          own.expect(x == 7 * i[0] + i[1], "rows that were put");
        });
        own.expect(array[{n - 1, m - 1}] == 7 * (n - 1) + m - 1, "the last element");
        own.barrier();
        try {
          std::uint32_t none = 0;
          array.get({n, 0}, {1, 1}, &none);
          own.expect(false, "outside");
        } catch (const pgas::error& error) {
          own.expect(std::string(error.what()) ==
                         "isthmus_tiles_get: 1 elements from 37 on are outside dimension 0, which has 37",
                     error.what());
        }
      }
      try {
        pgas::tiled_array<int, 1> wrong(own.space, {4}, {0});
        own.expect(false, "a tile of nothing");
      } catch (const pgas::error& error) {
        own.expect(error.status() == ISTHMUS_INVALID, error.what());
      }
    });
  }
}

}  // namespace isthmus::test
