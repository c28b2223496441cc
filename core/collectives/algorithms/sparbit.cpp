#include <bit>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"

namespace isthmus::collectives {

void sparbit::allgather(const CollectiveCall& call, Emitter& out) {
  const Blocks blocks(call);
  const std::uint64_t ranks = call.ranks;
  // Every block has a message of its own, which waits for the one that brought the block.
  std::vector<std::uint32_t> brought(ranks, Slice::none);
  std::uint64_t held = 1;  // blocks: the own one and those at every second distance before it
  for (int bit = std::bit_width(ranks - 1) - 1; bit >= 0; --bit) {
    const std::uint64_t step = std::uint64_t{1} << bit;
    // ceil(ranks / step) blocks after the round.
    const std::uint64_t after = (ranks + step - 1) / step;
    const std::uint64_t messages = after - held;
    const Rank to = above(call, step);
    const Rank from = below(call, step);
    std::uint32_t last_send = Slice::none;
    std::uint32_t last_recv = Slice::none;
    for (std::uint64_t i = 0; i < messages; ++i) {
      const Rank sent = below(call, 2 * i * step);
      const Rank taken = below(call, (2 * i + 1) * step);
      const std::uint32_t send =
          out.send(to, blocks(sent), sent == call.rank ? own_block(call) : at_output(blocks.offset(sent)));
      const std::uint32_t recv = out.recv(from, blocks(taken), at_output(blocks.offset(taken)));
      if (brought[sent] != Slice::none) out.require(send, brought[sent]);
      if (last_send != Slice::none) {
        out.require_start(send, last_send);
        out.require_start(recv, last_recv);
      }
      brought[taken] = last_recv = recv;
      last_send = send;
    }
    held = after;
  }
  const std::uint64_t own = blocks(call.rank);
  if (!call.in_place && own != 0) out.copy(own, at_input(), at_output(blocks.offset(call.rank)));
}

}  // namespace isthmus::collectives
