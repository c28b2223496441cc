// An allreduce of any number of ranks by what a power of two of them do.
#pragma once

#include "collectives/write/power_of_two.hpp"
#include "collectives/write/sums.hpp"

namespace isthmus::collectives {

/// Ranks outside hand over their vectors to their neighbour and get the result from it in the end. False: this rank is
/// one of them, and has nothing else to do. `order`: of the vector that is handed over.
inline bool begin_folded(Rounds& rounds, const CollectiveCall& call, Sum& sum, const PowerOfTwo& fold, Rank neighbour,
                         ReduceOrder order = ReduceOrder::before) {
  if (fold.outside) {
    rounds.send(neighbour, call.bytes, sum.now());
    rounds.next();
    rounds.recv(neighbour, call.bytes, at_output());
    sum.begin();
    return false;
  }
  if (fold.paired) sum.take(rounds, neighbour, order);
  return true;
}

/// The other end of it.
inline void end_folded(Rounds& rounds, const CollectiveCall& call, Sum& sum, const PowerOfTwo& fold, Rank neighbour) {
  sum.finish(rounds);
  if (fold.paired) rounds.send(neighbour, call.bytes, at_output());
}

}  // namespace isthmus::collectives
