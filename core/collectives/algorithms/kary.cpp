#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/tree_streams.hpp"

namespace isthmus::collectives::kary {
namespace {

Kary tree(const CollectiveCall& call) { return {call, call.root, call.options->radix}; }
Kary binary(const CollectiveCall& call) { return {call, call.root, 2}; }

}  // namespace

void barrier(const CollectiveCall& call, Emitter& out) { barrier_over(out, Kary(call, 0, call.options->radix)); }
void bcast(const CollectiveCall& call, Emitter& out) { bcast_down(call, out, tree(call)); }
void reduce(const CollectiveCall& call, Emitter& out) { reduce_up(call, out, tree(call)); }
void binary_bcast(const CollectiveCall& call, Emitter& out) { bcast_down(call, out, binary(call)); }
void binary_reduce(const CollectiveCall& call, Emitter& out) { reduce_up(call, out, binary(call)); }

}  // namespace isthmus::collectives::kary
