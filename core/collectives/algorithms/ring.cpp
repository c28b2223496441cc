#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"
#include "collectives/write/even_split.hpp"
#include "collectives/write/sums.hpp"

namespace isthmus::collectives::ring {
namespace {

/// Every rank ends with its own block, summed over all ranks. `own`: where the rank's part of a block is; `room`: where
/// a sum comes in, `sum`: where it is in the end.
template <class Size, class Own, class Room, class Total>
void reduce_scatter_blocks(Rounds& rounds, const CollectiveCall& call, const Size& size, const Own& own,
                           const Room& room, const Total& sum) {
  for (std::uint64_t step = 1; step < call.ranks; ++step) {
    const Rank sent = below(call, step);
    const Rank mine = below(call, step + 1);
    rounds.send(above(call, 1), size(sent), step == 1 ? own(sent) : sum(sent));
    rounds.recv(below(call, 1), size(mine), room(mine));
    const Slice other = room(mine).buffer == sum(mine).buffer ? own(mine) : room(mine);
    rounds.reduce(size(mine), other, sum(mine));
  }
}

/// Every rank starts with its own block, which is in `own`, and ends with all.
template <class Size>
void allgather_blocks(Rounds& rounds, const CollectiveCall& call, const Size& size, Slice own) {
  for (std::uint64_t step = 1; step < call.ranks; ++step) {
    const Rank sent = below(call, step - 1);
    const Rank mine = below(call, step);
    rounds.send(above(call, 1), size(sent), step == 1 ? own : at_output(size.offset(sent)));
    rounds.recv(below(call, 1), size(mine), at_output(size.offset(mine)));
    rounds.next();
  }
}

}  // namespace

void bcast(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const FromRoot at(call, call.root);
  if (at.me() > 0) rounds.recv(at(at.me() - 1), call.bytes, at_output());
  rounds.next();
  if (at.me() + 1 < call.ranks) rounds.send(at(at.me() + 1), call.bytes, at_output());
}

void reduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const FromRoot at(call, call.root);
  Sum sum(call, at.me() == 0);
  if (at.me() + 1 < call.ranks) sum.take(rounds, at(at.me() + 1));
  if (at.me() > 0) {
    rounds.send(at(at.me() - 1), call.bytes, sum.now());
  } else {
    sum.finish(rounds);
  }
}

void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const EvenSplit parts(call.bytes, call.ranks);
  const auto result = [&](Rank block) { return at_output(parts.offset(block)); };
  if (call.in_place) {
    reduce_scatter_blocks(rounds, call, parts, result, [](Rank) { return at_scratch(); }, result);
  } else {
    const auto vector = [&](Rank block) { return at_input(parts.offset(block)); };
    reduce_scatter_blocks(rounds, call, parts, vector, result, result);
    if (call.ranks == 1) rounds.copy(call.bytes, at_input(), at_output());
  }
  allgather_blocks(rounds, call, parts, result(call.rank));
}

void allgather(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  allgather_blocks(rounds, call, Blocks(call), own_block(call));
  keep_own_block(rounds, call);
}

void reduce_scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const auto vector = [&](Rank block) { return at_input(blocks.offset(block)); };
  // The last block is the own one.
  const auto sum = [&](Rank block) { return block == call.rank ? at_output() : at_scratch(blocks.offset(block)); };
  reduce_scatter_blocks(rounds, call, blocks, vector, sum, sum);
  if (call.ranks == 1 && !call.in_place) rounds.copy(blocks(0), at_input(), at_output());
}

}  // namespace isthmus::collectives::ring
