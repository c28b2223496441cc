#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"

namespace isthmus::collectives {

void neighbor_exchange::allgather(const CollectiveCall& call, Emitter& out) {
  if (call.ranks % 2 != 0) return ring::allgather(call, out);
  Rounds rounds(out);
  const Blocks blocks(call);
  const std::uint64_t ranks = call.ranks;
  // First the two of a pair tell each other their blocks, then pairs of blocks go to and fro between pairs.
  const bool even = call.rank % 2 == 0;
  const Rank partner = even ? call.rank + 1 : call.rank - 1;
  const Rank other = even ? below(call, 1) : above(call, 1);
  rounds.send(partner, blocks(call.rank), own_block(call));
  rounds.recv(partner, blocks(partner), at_output(blocks.offset(partner)));
  keep_own_block(rounds, call);
  rounds.next();
  std::uint64_t sent = even ? call.rank : partner;  // the first of the two blocks that came last
  std::uint64_t taken[2] = {sent, sent};
  for (std::uint64_t round = 1; round < ranks / 2; ++round) {
    const Rank peer = round % 2 == 0 ? partner : other;
    // From the pair's own side come blocks further and further up for even ranks, down for odd ones.
    std::uint64_t& block = taken[round % 2];
    block = (round % 2 == 0) == even ? (block + 2) % ranks : (block + ranks - 2) % ranks;
    rounds.send(peer, blocks.sum(sent, 2), at_output(blocks.offset(sent)));
    rounds.recv(peer, blocks.sum(block, 2), at_output(blocks.offset(block)));
    rounds.next();
    sent = block;
  }
}

}  // namespace isthmus::collectives
