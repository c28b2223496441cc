// Purposes and sizes of the three buffers of a collective.
//
//                     input                   output
// bcast               -                       the vector; the root's holds it at the start
// reduce              the vector              the result, at the root
// allreduce, scan, exscan  the vector         the result (exscan: none on rank 0)
// reduce_scatter      all blocks in order     the own block of the result
// gather              the own block           all blocks in order, at the root
// scatter             all blocks, at the root the own block
// allgather           the own block           all blocks
// alltoall            blocks for all ranks    blocks from all ranks
// neighbor_alltoall   messages in the order of the counts; output: the same
//
// Inputs are only read. In place (MPI_IN_PLACE) what a rank contributes to its own result is there already:
// allreduce, scan, exscan, root of reduce: output holds the vector, there is no input; allgather, root of gather:
// output holds the own block in its place, there is no input; root of scatter: its own block stays in input, there is
// no output; alltoall and neighbor_alltoall: the own block is in output already; reduce_scatter: input may be changed,
// and a single rank has its result already.
#pragma once

#include <cstdint>

#include "schedule/collective.hpp"

namespace isthmus::collectives {
using namespace schedule;

struct BufferBytes {
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

/// Sizes of a rank's buffers; call.counts and call.offsets are the rank's own.
BufferBytes buffer_bytes(const CollectiveCall& call);

}  // namespace isthmus::collectives
