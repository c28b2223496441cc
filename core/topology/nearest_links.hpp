// Which of the many links between two groups of a dragonfly are nearest to two routers.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "topology/all_to_all.hpp"
#include "topology/global_links.hpp"

namespace isthmus::topology {

/// A table of bits instead of comparisons of all links: for every slot of a group, place in it and number of local
/// hops, the copies whose router is so many hops away. What both ends have to say is joined 64 links at a time. Groups
/// are alike but for what their slots lead to, so that the table does not grow with their square: 35 KB for the 960
/// links of a group of 16 x 6 routers.
class NearestLinks {
 public:
  NearestLinks() = default;
  /// Where the table would need more than `most_bytes` bytes, its words are made when they are asked for.
  NearestLinks(const AllToAll& local, const GlobalLinks& global, std::size_t most_bytes = std::size_t{1} << 24);

  /// One end of a route: a place in a group and the group's slot that leads to the other group.
  struct End {
    std::uint32_t place;
    std::uint32_t slot;
  };
  /// Least links of a way local, global, local.
  [[nodiscard]] std::uint32_t length(End from, End to) const {
    for (std::uint32_t hops = 0;; ++hops)
      for (std::uint32_t w = 0; w < words_; ++w)
        if (joined(from, to, hops, w) != 0) return hops + 1;
  }
  /// The copy that `salt` picks among those with which the way has `length` links, the least.
  [[nodiscard]] std::uint32_t choose(End from, End to, std::uint32_t length, std::uint32_t salt) const {
    std::uint32_t count = 0;
    for (std::uint32_t w = 0; w < words_; ++w) count += bits(joined(from, to, length - 1, w));
    ISTHMUS_ASSERT(count > 0);  // some link is as near as the length says
    std::uint32_t skip = salt % count;
    for (std::uint32_t w = 0;; ++w) {
      std::uint64_t found = joined(from, to, length - 1, w);
      if (const std::uint32_t here = bits(found); skip >= here) {
        skip -= here;
        continue;
      }
      for (; skip > 0; --skip) found &= found - 1;
      return w * 64 + static_cast<std::uint32_t>(std::countr_zero(found));
    }
  }

 private:
  static std::uint32_t bits(std::uint64_t word) { return static_cast<std::uint32_t>(std::popcount(word)); }
  /// Of 64 copies those with so many local hops at both ends together.
  [[nodiscard]] std::uint64_t joined(End from, End to, std::uint32_t hops, std::uint32_t word) const {
    std::uint64_t found = 0;
    const std::uint32_t first = hops > farthest_ ? hops - farthest_ : 0;
    for (std::uint32_t near = first; near <= hops && near <= farthest_; ++near)
      found |= at(from, near, word) & at(to, hops - near, word);
    return found;
  }
  [[nodiscard]] std::uint64_t at(End end, std::uint32_t hops, std::uint32_t word) const {
    return table_.empty() ? made(end, hops, word) : table_[index(end, hops) + word];
  }
  [[nodiscard]] std::size_t index(End end, std::uint32_t hops) const {
    return ((std::size_t{end.slot} * local_.block() + end.place) * (farthest_ + 1) + hops) * words_;
  }
  [[nodiscard]] std::uint64_t made(End end, std::uint32_t hops, std::uint32_t word) const;

  AllToAll local_;
  GlobalLinks global_;
  std::uint32_t farthest_ = 0;  // local hops
  std::uint32_t words_ = 0;     // of the copies of a slot
  std::vector<std::uint64_t> table_;
};

}  // namespace isthmus::topology
