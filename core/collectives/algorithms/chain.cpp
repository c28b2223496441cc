#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/tree_streams.hpp"

namespace isthmus::collectives::chain {
namespace {

Chains chains(const CollectiveCall& call) { return {call, call.root, call.options->radix}; }
Chains one(const CollectiveCall& call) { return {call, call.root, 1}; }

}  // namespace

void bcast(const CollectiveCall& call, Emitter& out) { bcast_down(call, out, chains(call)); }
void reduce(const CollectiveCall& call, Emitter& out) { reduce_up(call, out, chains(call)); }
void pipeline_bcast(const CollectiveCall& call, Emitter& out) { bcast_down(call, out, one(call)); }
void pipeline_reduce(const CollectiveCall& call, Emitter& out) { reduce_up(call, out, one(call)); }

}  // namespace isthmus::collectives::chain
