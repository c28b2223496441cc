// Transfers of many pieces, beside a list of all bytes that go from where to where.
#include <doctest/doctest.h>
#include <isthmus/isthmus_pgas.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "pgas_ranks.hpp"

namespace isthmus::test {
namespace {

/// Strides under which elements of a box do not overlap, in any order of the dimensions and in both directions; the
/// bytes that the box takes, and how many of them lie before the first element.
struct Layout {
  std::vector<std::int64_t> strides;
  std::uint64_t bytes = 0, before = 0;

  Layout(Rank& own, std::size_t element, const std::vector<std::size_t>& extents)
      : strides(extents.size()), bytes(element) {
    std::vector<std::size_t> order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), own.random);
    for (const std::size_t d : order) {
      const std::uint64_t stride = bytes + (own.below(2) == 0 ? 0 : own.below(20));
      if (extents[d] == 0) continue;
      const std::uint64_t reach = stride * (extents[d] - 1);
      const bool back = own.below(3) == 0;
      strides[d] = back ? -static_cast<std::int64_t>(stride) : static_cast<std::int64_t>(stride);
      if (back) before += reach;
      bytes += reach;
    }
  }
};

}  // namespace

TEST_CASE("boxes and lists of pieces come where they belong, and nothing else is touched") {
  for (const Shape shape : {Shape(1), Shape(3), Shape(2, 1), Shape(3, 1), Shape(5, 2)}) {
    on_ranks(shape, [&](Rank& own) {
      constexpr std::uint64_t part = 200000;
      const int turns = shape.per_node == 0 ? 150 : 60;
      const std::uint32_t other = (own.rank + 1) % own.ranks;
      std::uint64_t place = 0;
      own.done(isthmus_allocate_all(own.space, part, &place), "allocate");
      std::vector<unsigned char> there(part), mine(part);
      for (int turn = 0; turn < turns; ++turn) {
        for (unsigned char& byte : there) byte = static_cast<unsigned char>(own.random());
        for (unsigned char& byte : mine) byte = static_cast<unsigned char>(own.random());
        own.done(isthmus_put(own.space, other, place, there.data(), part), "put");
        std::vector<unsigned char> space_after = there, mine_after = mine;
        const bool puts = own.below(2) == 0;
        const auto move = [&](std::uint64_t in_space, std::uint64_t in_mine, std::uint64_t bytes) {
          for (std::uint64_t i = 0; i < bytes; ++i)
            if (puts) space_after[in_space + i] = mine[in_mine + i];
            else mine_after[in_mine + i] = there[in_space + i];
        };
        const std::string words = std::string(puts ? "put " : "get ") + std::to_string(turn);
        // Waiting, with an event, or with nothing but isthmus_wait_all(), from a list that is overwritten.
        const std::uint64_t way = own.below(3);
        isthmus_event event = 0;
        isthmus_event* const given = way == 1 ? &event : nullptr;
        const auto finish = [&](int status) {
          own.done(status, words);
          own.done(way == 1 ? isthmus_wait_event(own.space, &event) : isthmus_wait_all(own.space), words);
          own.expect(event == 0, words);
        };
        if (own.below(2) == 0) {
          const std::size_t element = own.below(3) == 0 ? std::size_t{1} << own.below(7) : own.below(40);
          std::vector<std::size_t> extents(own.below(5));
          for (std::size_t& extent : extents) extent = own.below(12) == 0 ? 0 : 1 + own.below(4);
          if (element < 12 && !extents.empty() && own.below(2) == 0)
            extents[own.below(extents.size())] += own.below(70);
          const Layout in_space(own, element, extents), in_mine(own, element, extents);
          const std::uint64_t first = in_space.before + own.below(part - in_space.bytes + 1);
          const std::uint64_t from = in_mine.before + own.below(part - in_mine.bytes + 1);
          std::vector<std::size_t> at(extents.size());
          for (bool ends = std::find(extents.begin(), extents.end(), 0) != extents.end(); !ends;) {
            std::int64_t a = 0, b = 0;
            for (std::size_t d = 0; d < at.size(); ++d) {
              a += static_cast<std::int64_t>(at[d]) * in_space.strides[d];
              b += static_cast<std::int64_t>(at[d]) * in_mine.strides[d];
            }
            move(first + static_cast<std::uint64_t>(a), from + static_cast<std::uint64_t>(b), element);
            ends = true;
            for (std::size_t d = 0; d < at.size() && ends; ++d) {
              ends = ++at[d] == extents[d];
              if (ends) at[d] = 0;
            }
          }
          const auto dimensions = static_cast<std::uint32_t>(extents.size());
          std::vector<std::int64_t> there_strides = in_space.strides, own_strides = in_mine.strides;
          const auto call = [&](auto put, auto get, auto... more) {
            return puts ? put(own.space, other, place + first, there_strides.data(), &mine[from], own_strides.data(),
                              element, extents.data(), dimensions, more...)
                        : get(own.space, &mine[from], own_strides.data(), other, place + first, there_strides.data(),
                              element, extents.data(), dimensions, more...);
          };
          const int status = way == 0 ? call(isthmus_put_strided, isthmus_get_strided)
                                      : call(isthmus_begin_put_strided, isthmus_begin_get_strided, given);
          std::fill(there_strides.begin(), there_strides.end(), 1 << 20);
          std::fill(own_strides.begin(), own_strides.end(), 1 << 20);
          finish(status);
        } else {
          // Both sides cut the same bytes, each where it likes; pieces lie in any order.
          const bool equal = own.below(2) == 0;
          const bool large = own.below(4) == 0;  // many letters, and pieces that are longer than one
          const std::size_t a = (1 + own.below(9)) * (large ? 1200 : 1), many = 1 + own.below(9),
                            all = equal ? a * many * own.below(large ? 2 : 60) : own.below(large ? 100000 : 3000);
          const bool together = own.below(3) == 0;  // in the memory of this rank
          const std::size_t b = together ? std::max<std::size_t>(all, 1) : many;
          const auto cut = [&](std::size_t size) {
            std::vector<std::size_t> sizes;
            for (std::size_t left = all; left > 0; left -= sizes.back())
              sizes.push_back(equal ? size
                                    : std::min<std::size_t>(left, own.below(large && own.below(3) == 0 ? 20000 : 200)));
            return sizes;
          };
          const auto places = [&](const std::vector<std::size_t>& sizes) {
            std::vector<std::uint64_t> found(sizes.size());
            std::vector<std::size_t> order(sizes.size());
            std::iota(order.begin(), order.end(), 0);
            std::shuffle(order.begin(), order.end(), own.random);
            std::uint64_t next = 0;
            for (const std::size_t i : order) {
              found[i] = next + own.below(8);
              next = found[i] + sizes[i];
            }
            return found;
          };
          const std::vector<std::size_t> in_space = cut(a),
                                         in_mine = together && all > 0 ? std::vector<std::size_t>{all} : cut(b);
          const std::vector<std::uint64_t> offsets = places(in_space), own_offsets = places(in_mine);
          std::vector<std::uint64_t> from, to;  // of every byte
          for (std::size_t i = 0; i < in_space.size(); ++i)
            for (std::size_t k = 0; k < in_space[i]; ++k) to.push_back(offsets[i] + k);
          for (std::size_t i = 0; i < in_mine.size(); ++i)
            for (std::size_t k = 0; k < in_mine[i]; ++k) from.push_back(own_offsets[i] + k);
          for (std::size_t i = 0; i < all; ++i) move(to[i], from[i], 1);
          if (equal) {
            std::vector<std::uint64_t> absolute;
            std::vector<void*> pointers;
            for (const std::uint64_t offset : offsets) absolute.push_back(place + offset);
            for (const std::uint64_t offset : own_offsets) pointers.push_back(&mine[offset]);
            const auto call = [&](auto put, auto get, auto... more) {
              return puts ? put(own.space, other, absolute.data(), absolute.size(), a, pointers.data(), pointers.size(),
                                b, more...)
                          : get(own.space, pointers.data(), pointers.size(), b, other, absolute.data(), absolute.size(),
                                a, more...);
            };
            const int status = way == 0 ? call(isthmus_put_indexed, isthmus_get_indexed)
                                        : call(isthmus_begin_put_indexed, isthmus_begin_get_indexed, given);
            std::fill(absolute.begin(), absolute.end(), 0);
            std::fill(pointers.begin(), pointers.end(), nullptr);
            finish(status);
          } else {
            std::vector<isthmus_piece> pieces;
            std::vector<isthmus_block> memory;
            for (std::size_t i = 0; i < in_space.size(); ++i) pieces.push_back({place + offsets[i], in_space[i]});
            for (std::size_t i = 0; i < in_mine.size(); ++i) memory.push_back({&mine[own_offsets[i]], in_mine[i]});
            const auto call = [&](auto put, auto get, auto... more) {
              return puts ? put(own.space, other, pieces.data(), pieces.size(), memory.data(), memory.size(), more...)
                          : get(own.space, memory.data(), memory.size(), other, pieces.data(), pieces.size(), more...);
            };
            const int status = way == 0 ? call(isthmus_put_vector, isthmus_get_vector)
                                        : call(isthmus_begin_put_vector, isthmus_begin_get_vector, given);
            std::fill(pieces.begin(), pieces.end(), isthmus_piece{});
            std::fill(memory.begin(), memory.end(), isthmus_block{});
            finish(status);
          }
        }
        own.done(isthmus_get(own.space, there.data(), other, place, part), "get");
        own.expect(space_after == there, words + ": the space");
        own.expect(mine_after == mine, words + ": memory of this rank");
      }
      const auto refused = [&](int status, const std::string& message) {
        own.expect(status == ISTHMUS_INVALID && isthmus_last_error() == message, message);
      };
      const std::int64_t back = -64, far = INT64_MAX;
      const std::size_t two = 2;
      refused(isthmus_put_strided(own.space, 0, 0, &back, mine.data(), &back, 8, &two, 1),
              "isthmus_put_strided: strides below 0 reach 64 bytes before offset 0");
      refused(isthmus_put_strided(own.space, 0, 0, &far, mine.data(), &back, 8, &two, 1),
              "isthmus_put_strided: dimension 0 of 2 elements at strides of 9223372036854775807 and -64 bytes is too "
              "large");
      refused(isthmus_get_strided(own.space, mine.data(), &back, own.ranks, 64, &back, 8, &two, 1),
              "isthmus_get_strided: rank " + std::to_string(own.ranks) + " does not exist: there are " +
                  std::to_string(own.ranks) + " ranks");
      const isthmus_piece piece{place, 8};
      const isthmus_block memory{mine.data(), 9};
      refused(isthmus_put_vector(own.space, 0, &piece, 1, &memory, 1),
              "isthmus_put_vector: there are 8 bytes in the space and 9 of this rank");
      const isthmus_piece outside{reinterpret_cast<const isthmus_space_head*>(own.space)->extent - 1, 8};
      refused(isthmus_get_vector(own.space, &memory, 1, 0, &outside, 1),
              "isthmus_get_vector: piece 0 of 8 bytes at offset " + std::to_string(outside.offset) +
                  " is outside the space: offsets are below " +
                  std::to_string(reinterpret_cast<const isthmus_space_head*>(own.space)->extent));
      own.barrier();
    });
  }
}

}  // namespace isthmus::test
