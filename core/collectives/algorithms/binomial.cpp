#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/tree_blocks.hpp"
#include "collectives/write/tree_sums.hpp"

namespace isthmus::collectives::binomial {
namespace {

Knomial tree(const CollectiveCall& call) { return {call, call.root, 2}; }

}  // namespace

void bcast(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  bcast_over(rounds, call, tree(call));
}

void reduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  reduce_over(rounds, call, tree(call), false);
}

void allreduce(const CollectiveCall& call, Emitter& out) { allreduce_over(call, out, Knomial(call, 0, 2)); }

void barrier(const CollectiveCall& call, Emitter& out) {
  CollectiveCall nothing = call;
  nothing.bytes = 0;
  allreduce(nothing, out);
}

void gather(const CollectiveCall& call, Emitter& out) { gather_up(call, out, tree(call)); }
void scatter(const CollectiveCall& call, Emitter& out) { scatter_down(call, out, tree(call)); }

}  // namespace isthmus::collectives::binomial
