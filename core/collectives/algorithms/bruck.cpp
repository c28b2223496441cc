#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"

namespace isthmus::collectives {
namespace bruck {
namespace {

/// A rank gathers its own block and those of the ranks after it, in this order, in scratch, and turns them into place
/// in the end. Rank 0 has them in place from the start.
void gather_turned(const CollectiveCall& call, Emitter& out, std::uint64_t radix) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const bool turned = call.rank != 0;
  const std::uint64_t own = blocks(call.rank);
  const auto at = [&](std::uint64_t place) {
    const std::uint64_t offset = blocks.sum(call.rank, place);
    return turned ? at_scratch(offset) : at_output(offset);
  };
  if (turned) rounds.copy_too(own, own_block(call), at(0));
  keep_own_block(rounds, call);
  rounds.next();
  for (std::uint64_t step = 1; step < call.ranks; step *= radix) {
    for (std::uint64_t way = step; way < std::min<std::uint64_t>(step * radix, call.ranks); way += step) {
      const std::uint64_t count = std::min(step, call.ranks - way);
      rounds.send(below(call, way), blocks.sum(call.rank, count), at(0));
      rounds.recv(above(call, way), blocks.sum(above(call, way), count), at(way));
    }
    rounds.next();
  }
  if (!turned) return;
  const std::uint64_t until_end = blocks.all() - blocks.offset(call.rank);
  rounds.copy_too(until_end - own, at(1), at_output(blocks.offset(call.rank + std::uint64_t{1})));
  rounds.copy_too(blocks.offset(call.rank), at_scratch(until_end), at_output());
}

}  // namespace

void allgather(const CollectiveCall& call, Emitter& out) { gather_turned(call, out, call.options->radix); }

}  // namespace bruck

void dissemination::allgather(const CollectiveCall& call, Emitter& out) { bruck::gather_turned(call, out, 2); }

}  // namespace isthmus::collectives
