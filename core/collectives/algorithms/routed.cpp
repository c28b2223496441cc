#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"
#include "collectives/write/combining.hpp"
#include "collectives/write/digit_exchange.hpp"
#include "collectives/write/torus.hpp"

namespace isthmus::collectives {
namespace {

/// A message between ranks as one of them sees it: how far along the torus, as a number, and where it is.
struct Message {
  std::uint64_t way;
  std::uint64_t bytes;
  Slice at;
};

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

void bruck::alltoall(const CollectiveCall& call, Emitter& out) {
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

void torus::alltoall(const CollectiveCall& call, Emitter& out) {
  if (!call.counts.empty()) return pairwise::alltoall(call, out);
  const std::vector<Rank>& dims = torus_of(call).dims;
  const AlltoallBlocks blocks(call);
  // The ranks so far away, and those from which it is as far; one dimension after the other.
  std::vector<std::pair<Rank, Rank>> ends = {{call.rank, call.rank}};
  ends.reserve(call.ranks);
  std::uint64_t size = 1;
  for (std::size_t d = dims.size(); d-- > 0; size *= dims[d]) {
    for (std::uint64_t steps = 1; steps < dims[d]; ++steps) {
      const Rank up = along(call.rank, size, dims[d], steps) - call.rank;  // modulo 2^32
      const Rank down = along(call.rank, size, dims[d], dims[d] - steps) - call.rank;
      for (std::uint64_t i = 0; i < size; ++i) ends.emplace_back(ends[i].first + up, ends[i].second + down);
    }
  }
  const auto from = [&](std::uint64_t n) {
    return n == 0 && call.in_place ? blocks.to(call.rank) : blocks.from(ends[n].first);
  };
  DigitExchange all(out, call.ranks, call.bytes, from, [&](std::uint64_t n) { return blocks.to(ends[n].second); });
  std::uint64_t weight = 1;
  for (std::size_t d = dims.size(); d-- > 0; weight *= dims[d]) {
    all.phase(dims[d]);
    for (std::uint64_t steps = 1; steps < dims[d]; ++steps) {
      all.exchange(along(call.rank, weight, dims[d], steps), along(call.rank, weight, dims[d], dims[d] - steps), steps);
    }
  }
  all.finish();
}

void combining::neighbor_alltoall(const CollectiveCall& call, Emitter& out) {
  const std::vector<Rank>& dims = torus_of(call).dims;
  if (dims.size() == 1) return linear::neighbor_alltoall(call, out);
  /// Steps from one rank to another in every dimension, as the number of the place that is so far from rank 0.
  const auto way = [&](Rank from, Rank to) {
    std::uint64_t steps = 0;
    std::uint64_t weight = 1;
    for (std::size_t d = dims.size(); d-- > 0; weight *= dims[d]) {
      const std::uint64_t a = from / weight % dims[d];
      const std::uint64_t b = to / weight % dims[d];
      steps += (b >= a ? b - a : b + dims[d] - a) * weight;
    }
    return steps;
  };
  std::vector<Message> sent;
  std::vector<Message> taken;
  Slice input = at_input();
  Slice output = at_output();
  for (std::size_t i = 0; i + 2 < call.counts.size(); i += 3) {
    const auto neighbour = static_cast<Rank>(call.counts[i]);
    const auto to = static_cast<std::uint64_t>(call.counts[i + 1]);
    const auto from = static_cast<std::uint64_t>(call.counts[i + 2]);
    if (to != 0) sent.push_back({way(call.rank, neighbour), to, input});
    if (from != 0) taken.push_back({way(neighbour, call.rank), from, output});
    input = input + to;
    output = output + from;
  }
  std::ranges::stable_sort(sent, {}, &Message::way);
  std::ranges::stable_sort(taken, {}, &Message::way);
  const auto alike = [](const Message& a, const Message& b) { return a.way == b.way && a.bytes == b.bytes; };
  require(std::ranges::equal(sent, taken, alike),
          "neighbor_alltoall: combining needs the same messages, as seen from "
          "each rank on the torus, on all ranks; those of rank ",
          call.rank, " differ from those that it passes on");
  std::vector<Combining::Block> blocks;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    std::uint32_t hops = 0;
    std::uint64_t rest = sent[i].way;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) hops += rest % dims[d] != 0 ? 1 : 0;
    const bool there = hops == 0 && call.in_place;
    blocks.push_back({there ? taken[i].at : sent[i].at, taken[i].at, sent[i].bytes, hops});
  }
  Combining all(out, std::move(blocks));
  std::vector<std::uint32_t> order(sent.size());
  std::vector<std::uint32_t> numbers;
  std::uint64_t weight = 1;
  for (std::size_t d = dims.size(); d-- > 0; weight *= dims[d]) {
    const auto steps = [&](std::uint32_t n) { return sent[n].way / weight % dims[d]; };
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, steps);
    for (std::size_t i = 0; i < order.size();) {
      const std::uint64_t far = steps(order[i]);
      numbers.clear();
      for (; i < order.size() && steps(order[i]) == far; ++i) numbers.push_back(order[i]);
      if (far == 0) continue;
      all.exchange(along(call.rank, weight, dims[d], far), along(call.rank, weight, dims[d], dims[d] - far), numbers);
    }
    all.next();
  }
  all.finish();
}

}  // namespace isthmus::collectives
