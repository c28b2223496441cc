#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/tree_sums.hpp"

namespace isthmus::collectives {

void reduce_bcast::allreduce(const CollectiveCall& call, Emitter& out) {
  allreduce_over(call, out, Knomial(call, 0, call.options->radix));
}

}  // namespace isthmus::collectives
