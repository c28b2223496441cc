// Where blocks are in the buffers of allgather and alltoall.
#pragma once

#include <cstdint>

#include "collectives/write/rounds.hpp"

namespace isthmus::collectives {

/// A rank's own block of an allgather at the start.
inline Slice own_block(const CollectiveCall& call) {
  return call.in_place ? at_output(Blocks(call).offset(call.rank)) : at_input();
}
/// Moves it to its place among all, together with the operations of this round; nothing in place.
inline void keep_own_block(Rounds& rounds, const CollectiveCall& call) {
  const Blocks blocks(call);
  if (!call.in_place) rounds.copy_too(blocks(call.rank), at_input(), at_output(blocks.offset(call.rank)));
}

/// The blocks of one rank of an alltoall: those for the others in input, those from the others in output. Counts have
/// a second half, of what comes in.
class AlltoallBlocks {
 public:
  explicit AlltoallBlocks(const CollectiveCall& call) : call_(call), blocks_(call) {}
  [[nodiscard]] std::uint64_t sent(Rank to) const { return blocks_(to); }
  [[nodiscard]] std::uint64_t taken(Rank from) const { return blocks_(std::uint64_t{call_.ranks} + from); }
  [[nodiscard]] Slice from(Rank to) const { return at_input(blocks_.offset(to)); }
  [[nodiscard]] Slice to(Rank from) const {
    return at_output(blocks_.offset(std::uint64_t{call_.ranks} + from) - blocks_.all());
  }
  /// Moves what the rank has for itself; nothing in place.
  void copy_own(Emitter& out) const {
    if (!call_.in_place && sent(call_.rank) != 0) out.copy(sent(call_.rank), from(call_.rank), to(call_.rank));
  }

 private:
  const CollectiveCall& call_;
  Blocks blocks_;
};

}  // namespace isthmus::collectives
