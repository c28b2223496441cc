#include "collectives/write/double_tree.hpp"

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/two_trees.hpp"

namespace isthmus::collectives::double_tree {

void bcast(const CollectiveCall& call, Emitter& out) { bcast_down_both<InorderTree>(call, out); }
void reduce(const CollectiveCall& call, Emitter& out) { reduce_up_both<InorderTree>(call, out); }

}  // namespace isthmus::collectives::double_tree
