// Algorithms of barrier, broadcast, reduction, gather and scatter beyond the plain ones of algorithms.hpp, one family a
// file. What segment, radix and window are is said in the catalogue.
#pragma once

#include <memory>

#include "collectives/write/rounds.hpp"

namespace isthmus::collectives {

/// Trees of ranks in digits to the base `radix`, the binomial ones for other bases than 2: R. Nishtala, Automatically
/// tuning collective communication for one-sided programming models, PhD thesis, UC Berkeley, 2009.
namespace knomial {
void barrier(const CollectiveCall& call, Emitter& out);
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
void gather(const CollectiveCall& call, Emitter& out);
void scatter(const CollectiveCall& call, Emitter& out);
}  // namespace knomial

/// Complete trees of `radix` children, and of two (J. Pjesivac-Grbovic et al., Performance analysis of MPI collective
/// operations, Cluster Computing 10(2), 2007).
namespace kary {
void barrier(const CollectiveCall& call, Emitter& out);
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
void binary_bcast(const CollectiveCall& call, Emitter& out);
void binary_reduce(const CollectiveCall& call, Emitter& out);
}  // namespace kary

/// `radix` chains that hang on the root, and one (Pjesivac-Grbovic et al. 2007).
namespace chain {
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
void pipeline_bcast(const CollectiveCall& call, Emitter& out);
void pipeline_reduce(const CollectiveCall& call, Emitter& out);
}  // namespace chain

/// Along the first extent of a grid of ranks, from there along the second, and so on (Nishtala 2009, trees for tori).
/// Without `dims` the grid has two extents, as equal as can be.
namespace fork {
std::shared_ptr<const Plan> prepare(const CollectiveCall& call);
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
}  // namespace fork

/// The broadcast of one message that is fastest under LogP, and the same backwards: R. M. Karp, A. Sahay, E. E. Santos,
/// K. E. Schauser, Optimal broadcast and summation in the LogP model, SPAA 1993.
namespace optimal {
std::shared_ptr<const Plan> prepare(const CollectiveCall& call);
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
}  // namespace optimal

/// Each half of the message in a binary tree over half of the ranks, which exchange them in the end
/// (Pjesivac-Grbovic et al. 2007); the reduction is the same backwards.
namespace split_binary {
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
}  // namespace split_binary

/// Each half of the message in a binary tree over all ranks, where (but for one or two) nobody passes on both: P.
/// Sanders, J. Speck, J. L. Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel
/// Computing 35(12), 2009.
namespace double_tree {
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
}  // namespace double_tree

/// Parts scattered by a binomial tree, then gathered by all: M. Barnett, L. Shuler, S. Gupta, D. G. Payne, R. A. van de
/// Geijn, J. Watts, Interprocessor collective communication library (InterCom), SHPCC 1994.
namespace scatter_allgather {
/// By exchanges at distances 1, 2, 4 ... among a power of two of ranks; each in excess gets the whole from one of them.
void bcast(const CollectiveCall& call, Emitter& out);
void ring_bcast(const CollectiveCall& call, Emitter& out);  ///< parts handed round the circle
}  // namespace scatter_allgather

/// Halves exchanged and added at distances 1, 2, 4 ..., then gathered by a binomial tree: R. Rabenseifner, Optimization
/// of collective reduction operations, ICCS 2004. Ranks in excess of a power of two hand over to a neighbour first.
namespace rabenseifner {
void reduce(const CollectiveCall& call, Emitter& out);
}  // namespace rabenseifner

/// Everybody directly, but at most `window` at once: the root asks for each block (Pjesivac-Grbovic et al. 2007: linear
/// with synchronisation), or is told that it is there.
namespace linear_sync {
void gather(const CollectiveCall& call, Emitter& out);
void scatter(const CollectiveCall& call, Emitter& out);
}  // namespace linear_sync

/// Several messages a round: T. Hoefler, T. Mehlan, F. Mietke, W. Rehm, Fast barrier synchronization for InfiniBand,
/// IPDPS 2006 (n ways: radix n + 1).
namespace nway {
void dissemination_barrier(const CollectiveCall& call, Emitter& out);  ///< radix - 1 messages a round
void barrier(const CollectiveCall& call, Emitter& out);                ///< `radix` messages a round
/// Pairs at distances 1, 2, 4 ...; ranks in excess of a power of two report to one that takes part and are told by it.
void recursive_doubling_barrier(const CollectiveCall& call, Emitter& out);
}  // namespace nway

}  // namespace isthmus::collectives
