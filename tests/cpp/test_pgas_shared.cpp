// Shared arrays beside the rule itself: a walk over all elements, one after the other.
#include <doctest/doctest.h>
#include <isthmus/pgas.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "pgas_ranks.hpp"

namespace isthmus::test {
namespace {

/// Where every element lies: blocks are dealt out in turn, and elements of a rank lie one behind the other.
std::vector<isthmus_shared> walk(std::uint64_t elements, std::uint64_t bytes, std::uint32_t block,
                                 std::uint32_t ranks) {
  std::vector<isthmus_shared> places;
  std::vector<std::uint64_t> used(ranks);
  std::uint32_t rank = 0, phase = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    places.push_back({bytes * used[rank]++, rank, phase});
    if (block == 0) {
      ++phase;
    } else if (++phase == block) {
      phase = 0;
      if (++rank == ranks) rank = 0;
    }
  }
  return places;
}

}  // namespace

TEST_CASE("places of shared arrays, and arithmetic with them, follow the layout rule") {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 8U})
    for (const std::uint32_t block : {0U, 1U, 2U, 3U, 7U, 16U})
      for (const std::uint64_t bytes : {1U, 4U, 12U}) {
        constexpr std::int64_t elements = 90;
        const std::vector<isthmus_shared> places = walk(elements, bytes, block, ranks);
        std::vector<std::uint64_t> local(ranks);
        bool right = true;
        for (std::int64_t i = 0; i < elements; ++i) {
          const isthmus_shared& place = places[i];
          right &= isthmus_shared_index(local[place.rank]++, block, ranks, place.rank) == static_cast<std::uint64_t>(i);
          for (std::int64_t k = 0; k < elements; ++k) {
            const isthmus_shared found = isthmus_shared_add(place, k - i, bytes, block, ranks);
            right &= isthmus_shared_equal(found, places[k]) != 0 && (block == 0 || found.phase == places[k].phase);
            right &= isthmus_shared_difference(places[k], place, bytes, block, ranks) == k - i;
          }
        }
        std::uint64_t most = 0;
        for (std::uint32_t r = 0; r < ranks; ++r) {
          right &= isthmus_shared_local(elements, block, ranks, r) == local[r];
          most = std::max(most, local[r]);
        }
        const std::uint64_t taken = isthmus_shared_bytes(elements, bytes, block, ranks);
        right &= taken >= most * bytes && taken < (most + std::max(block, 1U)) * bytes;
        CHECK_MESSAGE(right, ranks << " ranks, blocks of " << block << ", " << bytes << " bytes");
      }
}

TEST_CASE("ranks fill their elements of a shared array, and read those of all") {
  for (const std::uint32_t ranks : {1U, 3U, 4U}) {
    on_ranks(ranks, [](Rank& own) {
      for (const std::uint32_t block : {0U, 1U, 5U, 64U}) {
        constexpr std::uint64_t size = 333;
        pgas::shared_array<std::uint64_t> array(own.space, size, block);
        std::uint64_t mine = 0;
        for (auto [i, x] : array.mine()) {
          x = 7 * i;
          own.expect(array.rank_of(i) == own.rank, "owner");
          ++mine;
        }
        own.expect(mine == array.local_size(), "how many are mine");
        own.barrier();
        std::uint64_t i = 0;
        for (auto p = array.begin(); p != array.end(); ++p, ++i) own.expect(*p == 7 * i, "element");
        own.expect(i == size && array.end() - array.begin() == size && array.begin() < array.end(), "the end");
        own.barrier();
        if (own.rank == own.ranks - 1)
          for (std::uint64_t k = 0; k < size; ++k) array[k] = array[k] + 1;
        own.barrier();
        for (auto [k, x] : array.mine()) own.expect(x == 7 * k + 1, "element after");
        const pgas::global_ptr<std::uint64_t> first = (&array[0]).global();
        own.expect(first.rank() == 0 && first.get() == 1 && first.local() != nullptr, "the first element");
      }
      try {
        pgas::shared_array<std::uint64_t> large(own.space, std::uint64_t{1} << 40, 0);
        own.expect(false, "no memory");
      } catch (const pgas::error& error) {
        own.expect(error.status() == ISTHMUS_MEMORY, "status of no memory");
      }
    });
  }
}

}  // namespace isthmus::test
