// The algorithms, one family a file. Each is arithmetic on ranks, for any number of ranks and any root.
//
// Blocks that stay on their rank are not copied (MPI_IN_PLACE). Messages of 0 bytes are sent where the algorithm sends
// them; reductions and copies of 0 bytes are not written. What segment, radix and window are is said in the catalogue.
#pragma once

#include <memory>

#include "collectives/write/rounds.hpp"

namespace isthmus::collectives {

/// Trees in which the rank at distance 2^k from its parent is the root of 2^k ranks: S. L. Johnsson and C.-T. Ho,
/// Optimum broadcasting and personalized communication in hypercubes, IEEE Trans. Computers 38(9), 1989; for any number
/// of ranks as in R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in MPICH,
/// Int. J. High Performance Computing Applications 19(1), 2005.
namespace binomial {
void barrier(const CollectiveCall& call, Emitter& out);  ///< reduce, then bcast, of nothing
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
void allreduce(const CollectiveCall& call, Emitter& out);  ///< reduce to rank 0, then bcast
void gather(const CollectiveCall& call, Emitter& out);
void scatter(const CollectiveCall& call, Emitter& out);
}  // namespace binomial

/// Everybody directly: the flat tree of J. Pjesivac-Grbovic et al., Performance analysis of MPI collective operations,
/// Cluster Computing 10(2), 2007, and what Open MPI calls basic linear.
namespace linear {
void barrier(const CollectiveCall& call, Emitter& out);  ///< reduce to rank 0, then bcast, of nothing
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);     ///< the root takes one after the other
void allreduce(const CollectiveCall& call, Emitter& out);  ///< reduce to rank 0, then bcast
void gather(const CollectiveCall& call, Emitter& out);
void scatter(const CollectiveCall& call, Emitter& out);
void allgather(const CollectiveCall& call, Emitter& out);       ///< gather to rank 0, then bcast
void alltoall(const CollectiveCall& call, Emitter& out);        ///< all at once; with counts, no empty messages
void reduce_scatter(const CollectiveCall& call, Emitter& out);  ///< reduce to rank 0, then scatter
void scan(const CollectiveCall& call, Emitter& out);            ///< along the chain of ranks
void exscan(const CollectiveCall& call, Emitter& out);
/// All at once, no empty messages: T. Hoefler and J. L. Traeff, Sparse collective operations for MPI, HIPS 2009.
void neighbor_alltoall(const CollectiveCall& call, Emitter& out);
}  // namespace linear

/// Along the circle of ranks, or the chain that starts at the root.
namespace ring {
void bcast(const CollectiveCall& call, Emitter& out);   ///< chain, one segment (Pjesivac-Grbovic et al. 2007)
void reduce(const CollectiveCall& call, Emitter& out);  ///< the same backwards
/// Reduce-scatter, then allgather, of blocks of floor or ceil(bytes / ranks): P. Patarasuk and X. Yuan, Bandwidth
/// optimal all-reduce algorithms for clusters of workstations, J. Parallel and Distributed Computing 69(2), 2009.
void allreduce(const CollectiveCall& call, Emitter& out);
/// The bucket algorithms of E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, Collective communication: theory,
/// practice, and experience, Concurrency and Computation 19(13), 2007.
void allgather(const CollectiveCall& call, Emitter& out);
void reduce_scatter(const CollectiveCall& call, Emitter& out);
}  // namespace ring

/// Exchanges at distances 1, 2, 4 … (Thakur, Rabenseifner, Gropp 2005). Where the number of ranks is no power of two,
/// the excess ranks hand their part to a neighbour first and get the result from it in the end.
namespace recursive_doubling {
void allreduce(const CollectiveCall& call, Emitter& out);
void allgather(const CollectiveCall& call, Emitter& out);
/// As MPICH has them: besides its result, a rank keeps the sum over all ranks that it has heard of. No rank is in
/// excess.
void scan(const CollectiveCall& call, Emitter& out);
void exscan(const CollectiveCall& call, Emitter& out);
}  // namespace recursive_doubling

/// Halves of vectors exchanged between places (as recursive_doubling has them) at distances that halve: Thakur,
/// Rabenseifner, Gropp 2005. Operands do not keep their order.
namespace recursive_halving {
void reduce_scatter(const CollectiveCall& call, Emitter& out);
}  // namespace recursive_halving

/// Halving at distances 1, 2, 4 ..., which keeps the order of operands; blocks then are one message away from home:
/// J. L. Traeff, An improved algorithm for (non-commutative) reduce-scatter with an application, EuroPVM/MPI 2005.
namespace butterfly {
void reduce_scatter(const CollectiveCall& call, Emitter& out);
}  // namespace butterfly

/// Reduce-scatter by halves at distances 1, 2, 4 ..., then allgather the same way back: R. Rabenseifner, Optimization
/// of collective reduction operations, ICCS 2004. Ranks in excess of a power of two hand over to a neighbour first.
namespace rabenseifner {
/// Halves exchanged and added in the same way, then gathered by a binomial tree.
void reduce(const CollectiveCall& call, Emitter& out);
void allreduce(const CollectiveCall& call, Emitter& out);
}  // namespace rabenseifner

/// To the rank 2^k further on, from the rank 2^k before.
namespace dissemination {
void allgather(const CollectiveCall& call, Emitter& out);  ///< bruck::allgather of radix 2
}  // namespace dissemination

/// Numbers of ranks in digits to the base radix: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, Efficient
/// algorithms for all-to-all communications in multiport message-passing systems, IEEE Trans. Parallel and Distributed
/// Systems 8(11), 1997.
namespace bruck {
void allgather(const CollectiveCall& call, Emitter& out);  ///< ranks but the first turn their blocks in the end
void alltoall(const CollectiveCall& call, Emitter& out);   ///< with counts pairwise
}  // namespace bruck

/// Blocks go to and fro between neighbouring pairs of ranks; an odd number of ranks takes the ring: J. Chen, L. Zhang,
/// Y. Zhang, W. Yuan, Performance evaluation of allgather algorithms on terascale Linux cluster with fast Ethernet,
/// HPC Asia 2005.
namespace neighbor_exchange {
void allgather(const CollectiveCall& call, Emitter& out);
}  // namespace neighbor_exchange

/// At distances ..., 4, 2, 1, so that most blocks travel near: W. J. Loch and G. P. Koslovski, Sparbit: a new
/// logarithmic-cost and data locality-aware MPI allgather algorithm, SBAC-PAD 2021.
namespace sparbit {
void allgather(const CollectiveCall& call, Emitter& out);
}  // namespace sparbit

/// Recursive doubling of more ways: all `radix` ranks that differ in one digit exchange their vectors: M. Ruefenacht,
/// M. Bull, S. Booth, Generalisation of recursive doubling for AllReduce: now with simulation, Parallel Computing 69,
/// 2017. Ranks in excess hand over to one near them first.
namespace recursive_multiplying {
void allreduce(const CollectiveCall& call, Emitter& out);
}  // namespace recursive_multiplying

/// Up a k-nomial tree and down again.
namespace reduce_bcast {
void allreduce(const CollectiveCall& call, Emitter& out);
}  // namespace reduce_bcast

/// The ring allreduce in segments, so that adding one overlaps with the message of the next; what Open MPI calls
/// segmented ring.
namespace segmented_ring {
void allreduce(const CollectiveCall& call, Emitter& out);
}  // namespace segmented_ring

/// Each half of the message in a binary tree over all ranks, where (but for one or two) nobody passes on both; an
/// allreduce goes up and down: P. Sanders, J. Speck, J. L. Traeff, Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan, Parallel Computing 35(12), 2009.
namespace double_tree {
void bcast(const CollectiveCall& call, Emitter& out);
void reduce(const CollectiveCall& call, Emitter& out);
void allreduce(const CollectiveCall& call, Emitter& out);
}  // namespace double_tree

/// Exchanges at distances 1, -1, 3, -5 ..., which load the links of a torus less than those at 1, 2, 4 ...: D. De
/// Sensi, T. Bonato, D. Saam, T. Hoefler, Swing: short-cutting rings for higher bandwidth allreduce, NSDI 2024. The
/// vector is cut in one part for every dimension and direction; without `dims` or where an extent is no power of two,
/// ranks lie on one ring.
namespace swing {
std::shared_ptr<const Plan> prepare(const CollectiveCall& call);
void allreduce(const CollectiveCall& call, Emitter& out);
}  // namespace swing

/// Rings of one dimension of a torus after the other, for every dimension and direction a part of the vector: N. Jain
/// and Y. Sabharwal, Optimal bucket algorithms for large MPI collectives on torus interconnects, ICS 2010.
namespace bucket {
void allreduce(const CollectiveCall& call, Emitter& out);
}  // namespace bucket

/// In groups of ranks, by way of the first rank of each; N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E.
/// Lusk, J. Bresnahan, Exploiting hierarchy in parallel computer networks to optimize collective operation performance,
/// IPDPS 2000.
namespace hierarchical {
void allreduce(const CollectiveCall& call, Emitter& out);  ///< binomial in groups, recursive doubling between
void alltoall(const CollectiveCall& call, Emitter& out);   ///< with counts pairwise
}  // namespace hierarchical

/// Blocks go along one dimension of a torus after the other, all for one coordinate in one message: Y.-J. Suh and K. G.
/// Shin, All-to-all personalized communication in multidimensional torus and mesh networks, IEEE Trans. Parallel and
/// Distributed Systems 12(1), 2001.
namespace torus {
void alltoall(const CollectiveCall& call, Emitter& out);  ///< with counts pairwise
}  // namespace torus

/// Exchanges for neighbourhoods that look alike from all ranks: J. L. Traeff and S. Hunold, Cartesian collective
/// communication, ICPP 2019.
namespace combining {
void neighbor_alltoall(const CollectiveCall& call, Emitter& out);
}  // namespace combining

/// Up and down a binomial tree of ranges of ranks, every rank adding little: P. Sanders and J. L. Traeff, Parallel
/// prefix (scan) algorithms for MPI, EuroPVM/MPI 2006.
namespace binomial_scan {
void scan(const CollectiveCall& call, Emitter& out);
void exscan(const CollectiveCall& call, Emitter& out);
}  // namespace binomial_scan

/// Round i with the ranks i further on and i before (Thakur, Rabenseifner, Gropp 2005).
namespace pairwise {
void alltoall(const CollectiveCall& call, Emitter& out);
void reduce_scatter(const CollectiveCall& call, Emitter& out);
}  // namespace pairwise

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

/// Parts scattered by a binomial tree, then gathered by all: M. Barnett, L. Shuler, S. Gupta, D. G. Payne, R. A. van de
/// Geijn, J. Watts, Interprocessor collective communication library (InterCom), SHPCC 1994.
namespace scatter_allgather {
/// By exchanges at distances 1, 2, 4 ... among a power of two of ranks; each in excess gets the whole from one of them.
void bcast(const CollectiveCall& call, Emitter& out);
void ring_bcast(const CollectiveCall& call, Emitter& out);  ///< parts handed round the circle
}  // namespace scatter_allgather

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
