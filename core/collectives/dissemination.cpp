#include <algorithm>

#include "collectives/algorithms.hpp"

namespace isthmus::dissemination {

void allgather(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  for (std::uint64_t step = 1; step < call.ranks; step <<= 1) {
    const std::uint64_t count = std::min(step, call.ranks - step);
    rounds.send(below(call, step), blocks.sum(call.rank, count));
    rounds.recv(above(call, step), blocks.sum(above(call, step), count));
    rounds.next();
  }
  if (call.rank != 0) rounds.copy(blocks.all());
}

}  // namespace isthmus::dissemination
