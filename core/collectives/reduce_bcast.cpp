#include "collectives/algorithms.hpp"
#include "collectives/sums.hpp"
#include "collectives/trees.hpp"

namespace isthmus {

void reduce_bcast::allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Knomial tree(call, 0, call.options->radix);
  Sum sum(call, true);
  tree.up([&](std::uint64_t child, std::uint64_t) { sum.take(rounds, tree.rank(child)); });
  if (tree.me() == 0) {
    sum.finish(rounds);
  } else {
    rounds.send(tree.rank(tree.parent()), call.bytes, sum.now());
    rounds.next();
    rounds.recv(tree.rank(tree.parent()), call.bytes, at_output());
  }
  rounds.next();
  tree.down([&](std::uint64_t child, std::uint64_t) { rounds.send(tree.rank(child), call.bytes, at_output()); });
}

}  // namespace isthmus
