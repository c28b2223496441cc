#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"

namespace isthmus::collectives::pairwise {

void alltoall(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const AlltoallBlocks blocks(call);
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    const Rank to = above(call, i);
    const Rank from = below(call, i);
    rounds.send(to, blocks.sent(to), blocks.from(to));
    rounds.recv(from, blocks.taken(from), blocks.to(from));
    rounds.next();
  }
  blocks.copy_own(out);
}

void reduce_scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const std::uint64_t own = blocks(call.rank);
  const Slice vector = at_input(blocks.offset(call.rank));
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    const Rank to = above(call, i);
    rounds.send(to, blocks(to), at_input(blocks.offset(to)));
    // What comes first is the beginning of the sum, to which the own block is added.
    rounds.recv(below(call, i), own, i == 1 ? at_output() : at_scratch());
    rounds.reduce(own, i == 1 ? vector : at_scratch(), at_output());
  }
  if (call.ranks == 1 && !call.in_place) rounds.copy(own, vector, at_output());
}

}  // namespace isthmus::collectives::pairwise
