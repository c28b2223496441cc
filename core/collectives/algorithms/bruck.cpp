#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"
#include "collectives/write/digit_exchange.hpp"

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

/// The blocks for the ranks above, in their order.
struct BlocksAbove {
  const CollectiveCall& call;
  const AlltoallBlocks& blocks;
  Slice operator()(std::uint64_t n) const {
    // In place the own block is where it belongs.
    return n == 0 && call.in_place ? blocks.to(call.rank) : blocks.from(above(call, n));
  }
  /// Up to the last rank; number 0 is no part of a run.
  [[nodiscard]] std::uint64_t run(std::uint64_t n, std::uint64_t step) const {
    const std::uint64_t end = call.ranks - call.rank;
    return ((n < end ? end : std::uint64_t{call.ranks}) - 1 - n) / step + 1;
  }
};
/// Those from the ranks below.
struct BlocksBelow {
  const CollectiveCall& call;
  const AlltoallBlocks& blocks;
  Slice operator()(std::uint64_t n) const { return blocks.to(below(call, n)); }
  /// Down to rank 0.
  [[nodiscard]] std::uint64_t run(std::uint64_t n, std::uint64_t step) const {
    return ((n <= call.rank ? call.rank : std::uint64_t{call.ranks} - 1) - n) / step + 1;
  }
};

}  // namespace

void allgather(const CollectiveCall& call, Emitter& out) { gather_turned(call, out, call.options->radix); }

void alltoall(const CollectiveCall& call, Emitter& out) {
  // Who passes blocks on would have to know the counts of others.
  if (!call.counts.empty()) return pairwise::alltoall(call, out);
  const std::uint64_t radix = call.options->radix;
  const AlltoallBlocks blocks(call);
  DigitExchange all(out, call.ranks, call.bytes, BlocksAbove{call, blocks}, BlocksBelow{call, blocks});
  for (std::uint64_t weight = 1; weight < call.ranks; weight *= radix) {
    all.phase(radix);
    for (std::uint64_t digit = 1; digit < radix && digit * weight < call.ranks; ++digit) {
      all.exchange(above(call, digit * weight), below(call, digit * weight), digit);
    }
  }
  all.finish();
}

}  // namespace bruck

void dissemination::allgather(const CollectiveCall& call, Emitter& out) { bruck::gather_turned(call, out, 2); }

}  // namespace isthmus::collectives
