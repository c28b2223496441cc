// Recursive doubling of sums among some ranks.
#pragma once

#include "collectives/write/power_of_two.hpp"
#include "collectives/write/sums.hpp"

namespace isthmus::collectives {

/// The sum of all members of `fold` ends in the output of each; `rank_of` has their ranks.
template <class RankOf>
void double_sums(Rounds& rounds, const CollectiveCall& call, Sum& sum, const PowerOfTwo& fold, std::uint32_t member,
                 const RankOf& rank_of) {
  if (fold.outside) {
    rounds.send(rank_of(member + 1), call.bytes, sum.now());
    rounds.next();
    rounds.recv(rank_of(member + 1), call.bytes, at_output());
    sum.begin();
    return;
  }
  if (fold.paired) sum.take(rounds, rank_of(member - 1), ReduceOrder::before);
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const Rank rank = rank_of(fold.rank(peer));
    rounds.send(rank, call.bytes, sum.now());
    sum.take(rounds, rank, order_from(peer, fold.place));
  }
  sum.finish(rounds);
  if (fold.paired) rounds.send(rank_of(member - 1), call.bytes, at_output());
}

}  // namespace isthmus::collectives
