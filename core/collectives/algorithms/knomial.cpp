#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/tree_blocks.hpp"
#include "collectives/write/tree_streams.hpp"

namespace isthmus::collectives::knomial {
namespace {

Knomial tree(const CollectiveCall& call) { return {call, call.root, call.options->radix}; }

}  // namespace

void barrier(const CollectiveCall& call, Emitter& out) { barrier_over(out, Knomial(call, 0, call.options->radix)); }
void bcast(const CollectiveCall& call, Emitter& out) { bcast_down(call, out, tree(call)); }
void reduce(const CollectiveCall& call, Emitter& out) { reduce_up(call, out, tree(call)); }
void gather(const CollectiveCall& call, Emitter& out) { gather_up(call, out, tree(call)); }
void scatter(const CollectiveCall& call, Emitter& out) { scatter_down(call, out, tree(call)); }

}  // namespace isthmus::collectives::knomial
