#include "collectives/algorithms.hpp"
#include "collectives/sums.hpp"
#include "collectives/tree_blocks.hpp"

namespace isthmus {
namespace {

/// `everywhere`: all ranks have an output, of which this is the first half of an allreduce.
void reduce_over(Rounds& rounds, const CollectiveCall& call, const Knomial& tree, bool everywhere) {
  Sum sum(call, everywhere || tree.me() == 0);
  tree.up([&](std::uint64_t child, std::uint64_t) { sum.take(rounds, tree.rank(child)); });
  if (tree.me() != 0) {
    rounds.send(tree.rank(tree.parent()), call.bytes, sum.now());
  } else {
    sum.finish(rounds);
  }
  rounds.next();
}

void bcast_over(Rounds& rounds, const CollectiveCall& call, const Knomial& tree) {
  if (tree.me() != 0) rounds.recv(tree.rank(tree.parent()), call.bytes, at_output());
  rounds.next();
  tree.down([&](std::uint64_t child, std::uint64_t) { rounds.send(tree.rank(child), call.bytes, at_output()); });
}

void allreduce_over(const CollectiveCall& call, Emitter& out, std::uint64_t radix) {
  Rounds rounds(out);
  const Knomial tree(call, 0, radix);
  reduce_over(rounds, call, tree, true);
  bcast_over(rounds, call, tree);
}

Knomial tree_of(const CollectiveCall& call) { return {call, call.root, 2}; }

}  // namespace

namespace binomial {

void bcast(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  bcast_over(rounds, call, tree_of(call));
}

void reduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  reduce_over(rounds, call, tree_of(call), false);
}

void allreduce(const CollectiveCall& call, Emitter& out) { allreduce_over(call, out, 2); }

void barrier(const CollectiveCall& call, Emitter& out) {
  CollectiveCall nothing = call;
  nothing.bytes = 0;
  allreduce(nothing, out);
}

void gather(const CollectiveCall& call, Emitter& out) { gather_up(call, out, tree_of(call)); }
void scatter(const CollectiveCall& call, Emitter& out) { scatter_down(call, out, tree_of(call)); }

}  // namespace binomial

void reduce_bcast::allreduce(const CollectiveCall& call, Emitter& out) {
  allreduce_over(call, out, call.options->radix);
}

}  // namespace isthmus
