#include "collectives/algorithms/algorithms.hpp"

namespace isthmus::collectives::linear_sync {
namespace {

std::uint64_t window_of(const CollectiveCall& call) {
  return call.options->window == 0 ? call.ranks : call.options->window;
}

}  // namespace

void gather(const CollectiveCall& call, Emitter& out) {
  const Blocks blocks(call);
  if (call.rank != call.root) {
    const auto asked = out.recv(call.root, 0);
    out.require(out.send(call.root, blocks(call.rank), at_input()), asked);
    return;
  }
  const std::uint64_t window = window_of(call);
  // A request and a receive for each rank.
  std::uint32_t first = 0;
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    const Rank from = above(call, i);
    const auto ask = out.send(from, 0);
    out.recv(from, blocks(from), at_output(blocks.offset(from)));
    if (i == 1) first = ask;
    if (i > window) out.require(ask, first + static_cast<std::uint32_t>(2 * (i - window - 1)) + 1);
  }
  const std::uint64_t own = blocks(call.rank);
  if (!call.in_place && own != 0) out.copy(own, at_input(), at_output(blocks.offset(call.rank)));
}

void scatter(const CollectiveCall& call, Emitter& out) {
  const Blocks blocks(call);
  if (call.rank != call.root) {
    const auto got = out.recv(call.root, blocks(call.rank), at_output());
    out.require(out.send(call.root, 0), got);
    return;
  }
  const std::uint64_t window = window_of(call);
  // A message and its answer for each rank.
  std::uint32_t first = 0;
  for (std::uint64_t i = 1; i < call.ranks; ++i) {
    const Rank to = above(call, i);
    const auto sent = out.send(to, blocks(to), at_input(blocks.offset(to)));
    out.recv(to, 0);
    if (i == 1) first = sent;
    if (i > window) out.require(sent, first + static_cast<std::uint32_t>(2 * (i - window - 1)) + 1);
  }
  const std::uint64_t own = blocks(call.rank);
  if (!call.in_place && own != 0) out.copy(own, at_input(blocks.offset(call.rank)), at_output());
}

}  // namespace isthmus::collectives::linear_sync
