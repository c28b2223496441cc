#include "collectives/algorithms.hpp"

namespace isthmus::pairwise {

void alltoall(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks counts(call);
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    const Rank to = above(call, i);
    const Rank from = below(call, i);
    rounds.send(to, counts(to));
    // Counts have a second half, of what comes in.
    rounds.recv(from, counts(std::uint64_t{call.ranks} + from));
    rounds.next();
  }
}

void reduce_scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    rounds.send(above(call, i), blocks(above(call, i)));
    rounds.recv(below(call, i), blocks(call.rank));
    rounds.reduce(blocks(call.rank));
  }
}

}  // namespace isthmus::pairwise
