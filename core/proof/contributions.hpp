// Contents of bytes: sets of ranks whose contributions are combined in them. Equal sets have equal numbers, so
// that a set is stored once however many bytes of however many ranks hold it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// Ranks first, first + 1, ..., end - 1.
struct RankRange {
  Rank first = 0;
  Rank end = 0;
  bool operator==(const RankRange&) const = default;
};

/// Sets of ranks by number.
class Contributions {
 public:
  using Set = std::uint32_t;
  static constexpr Set nothing = 0;  ///< bytes that nobody has written
  static constexpr Set unknown = 1;  ///< bytes that a defect reported before has spoilt

  explicit Contributions(Rank ranks);

  [[nodiscard]] Set single(Rank rank) const { return 2 + rank; }
  /// The set of one range; `nothing` for an empty one.
  Set range(RankRange range);
  [[nodiscard]] std::span<const RankRange> ranges(Set set) const;

  /// Two sets without a common rank put together; `nothing` if they have one.
  Set sum(Set a, Set b);
  /// Like sum(), but the ranks of `b` must follow those of `a` immediately; `nothing` if they do not.
  Set concatenation(Set a, Set b);
  /// The set of ranks so many further round the circle.
  Set rotated(Set set, Rank by);
  /// All ranks of both.
  Set all_of(Set a, Set b);

  /// A rank that both sets have, any_rank if there is none.
  [[nodiscard]] Rank common(Set a, Set b) const;
  /// "ranks 0-3 and 7", at most a few ranges of it.
  [[nodiscard]] std::string text(Set set) const;

 private:
  Set find(std::span<const RankRange> ranges);
  void rehash(std::size_t slots);
  [[nodiscard]] static std::uint64_t hash(std::span<const RankRange> ranges);
  /// Sorted ranges of both, put together; false if they overlap and must not.
  bool merge(Set a, Set b, bool may_overlap);

  Rank ranks_;
  std::vector<RankRange> pool_;
  std::vector<std::uint64_t> first_;  // of each set in pool_, and the end
  std::vector<Set> table_;            // open addressing by hash; 0: free
  std::unordered_map<std::uint64_t, Set> sums_;
  std::unordered_map<std::uint64_t, Set> unions_;
  std::vector<RankRange> merged_;
};

}  // namespace isthmus::proof
