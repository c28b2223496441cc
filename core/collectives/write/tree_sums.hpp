// Whole vectors up a tree and down again, in rounds: a rank takes in one child after the other.
#pragma once

#include "collectives/write/sums.hpp"
#include "collectives/write/trees.hpp"

namespace isthmus::collectives {

/// `everywhere`: all ranks have an output, of which this is the first half of an allreduce.
template <class Tree>
void reduce_over(Rounds& rounds, const CollectiveCall& call, const Tree& tree, bool everywhere) {
  Sum sum(call, everywhere || tree.me() == 0);
  tree.up([&](std::uint64_t child, std::uint64_t) { sum.take(rounds, tree.rank(child)); });
  if (tree.me() != 0) {
    rounds.send(tree.rank(tree.parent()), call.bytes, sum.now());
  } else {
    sum.finish(rounds);
  }
  rounds.next();
}

template <class Tree>
void bcast_over(Rounds& rounds, const CollectiveCall& call, const Tree& tree) {
  if (tree.me() != 0) rounds.recv(tree.rank(tree.parent()), call.bytes, at_output());
  rounds.next();
  tree.down([&](std::uint64_t child, std::uint64_t) { rounds.send(tree.rank(child), call.bytes, at_output()); });
}

template <class Tree>
void allreduce_over(const CollectiveCall& call, Emitter& out, const Tree& tree) {
  Rounds rounds(out);
  reduce_over(rounds, call, tree, true);
  bcast_over(rounds, call, tree);
}

}  // namespace isthmus::collectives
