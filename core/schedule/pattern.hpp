// The Pattern: who sends how much to whom.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/columns.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::schedule {

/// Bytes and messages from each rank to its partners [first[r], first[r + 1]), which are in ascending order.
struct Pattern {
  Rank ranks = 0;
  std::vector<std::uint64_t> first{0};  ///< ranks + 1
  std::vector<Rank> peer;
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint64_t> messages;
};

/// Transfers: sends and puts from their rank, gets from their peer. Receives add nothing.
Pattern pattern_of(const Schedule& schedule);

/// Transfers in any order; those of the same source and target are added up. Throws InvalidInput for a rank out of
/// range.
Pattern pattern_of(Rank ranks, std::span<const Rank> source, std::span<const Rank> target,
                   const Column<std::uint64_t>& bytes, const Column<std::uint64_t>& messages);

/// Picoseconds of calc on each rank.
std::vector<double> load_of(const Schedule& schedule);

}  // namespace isthmus::schedule
