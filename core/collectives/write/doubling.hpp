// Recursive doubling of sums among some ranks.
#pragma once

#include "collectives/write/folded_sum.hpp"

namespace isthmus::collectives {

/// The sum of all members of `fold` ends in the output of each; `rank_of` has their ranks.
template <class RankOf>
void double_sums(Rounds& rounds, const CollectiveCall& call, Sum& sum, const PowerOfTwo& fold, std::uint32_t member,
                 const RankOf& rank_of) {
  const Rank neighbour = rank_of(fold.neighbour(member));
  if (!begin_folded(rounds, call, sum, fold, neighbour)) return;
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const Rank rank = rank_of(fold.rank(peer));
    rounds.send(rank, call.bytes, sum.now());
    sum.take(rounds, rank, order_from(peer, fold.place));
  }
  end_folded(rounds, call, sum, fold, neighbour);
}

}  // namespace isthmus::collectives
