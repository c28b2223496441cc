#include "collectives/buffers.hpp"

#include "collectives/write/rounds.hpp"

namespace isthmus::collectives {

BufferBytes buffer_bytes(const CollectiveCall& call) {
  const Blocks blocks(call);
  const bool root = call.rank == call.root;
  const bool in_place = call.in_place;
  switch (call.kind) {
    case CollectiveKind::barrier: return {};
    case CollectiveKind::bcast: return {0, call.bytes};
    case CollectiveKind::reduce: return {root && in_place ? 0 : call.bytes, root ? call.bytes : 0};
    case CollectiveKind::allreduce:
    case CollectiveKind::scan:
    case CollectiveKind::exscan: return {in_place ? 0 : call.bytes, call.bytes};
    case CollectiveKind::reduce_scatter: return {blocks.all(), blocks(call.rank)};
    case CollectiveKind::gather: return {root && in_place ? 0 : blocks(call.rank), root ? blocks.all() : 0};
    case CollectiveKind::scatter: return {root ? blocks.all() : 0, root && in_place ? 0 : blocks(call.rank)};
    case CollectiveKind::allgather: return {in_place ? 0 : blocks(call.rank), blocks.all()};
    case CollectiveKind::alltoall: {
      if (call.counts.empty()) return {blocks.all(), blocks.all()};
      const std::uint64_t sent = call.offsets[call.ranks];
      return {sent, call.offsets[2 * std::size_t{call.ranks}] - sent};
    }
    case CollectiveKind::neighbor_alltoall: {
      BufferBytes sum;
      for (std::size_t i = 0; i + 2 < call.counts.size(); i += 3) {
        sum.input += static_cast<std::uint64_t>(call.counts[i + 1]);
        sum.output += static_cast<std::uint64_t>(call.counts[i + 2]);
      }
      return sum;
    }
  }
  return {};
}

}  // namespace isthmus::collectives
