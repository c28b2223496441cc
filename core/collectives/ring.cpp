#include "collectives/algorithms.hpp"
#include "collectives/sums.hpp"

namespace isthmus::ring {
namespace {

/// Every rank ends with its own block, summed over all ranks.
template <class Size>
void reduce_scatter_blocks(Rounds& rounds, const CollectiveCall& call, const Size& size) {
  for (std::uint64_t step = 1; step < call.ranks; ++step) {
    const std::uint64_t mine = size(below(call, step + 1));
    rounds.send(above(call, 1), size(below(call, step)));
    rounds.recv(below(call, 1), mine);
    rounds.reduce(mine);
  }
}

/// Every rank starts with its own block and ends with all.
template <class Size>
void allgather_blocks(Rounds& rounds, const CollectiveCall& call, const Size& size) {
  for (std::uint64_t step = 1; step < call.ranks; ++step) {
    rounds.send(above(call, 1), size(below(call, step - 1)));
    rounds.recv(below(call, 1), size(below(call, step)));
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
  const auto size = [&](Rank block) { return call.bytes / call.ranks + (block < call.bytes % call.ranks ? 1 : 0); };
  reduce_scatter_blocks(rounds, call, size);
  allgather_blocks(rounds, call, size);
}

void allgather(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  allgather_blocks(rounds, call, Blocks(call));
}

void reduce_scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  reduce_scatter_blocks(rounds, call, Blocks(call));
}

}  // namespace isthmus::ring
