#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "collectives/algorithms.hpp"
#include "collectives/combining.hpp"
#include "collectives/exchange.hpp"
#include "collectives/torus.hpp"

namespace isthmus {
namespace {

/// Where the block for the rank at one relative position goes first and what comes from the opposite one in the end.
Combining::Block block_between(const Exchange& blocks, const CollectiveCall& call, Rank to, Rank from,
                               std::uint32_t hops) {
  Combining::Block block{blocks.from(to), blocks.to(from), blocks.sent(to), hops};
  // In place the own block is where it belongs.
  if (to == call.rank && call.in_place) block.at = block.target;
  return block;
}

/// Calls f(number) for the numbers below `end` whose digit of this weight is `digit`.
template <class F>
void with_digit(std::uint64_t end, std::uint64_t weight, std::uint64_t radix, std::uint64_t digit, F f) {
  for (std::uint64_t first = digit * weight; first < end; first += weight * radix) {
    for (std::uint64_t n = first; n < std::min(first + weight, end); ++n) f(static_cast<std::uint32_t>(n));
  }
}

/// A message between ranks as one of them sees it: how far along the torus, as a number, and where it is.
struct Message {
  std::uint64_t way;
  std::uint64_t bytes;
  Slice at;
};

}  // namespace

void bruck::alltoall(const CollectiveCall& call, Emitter& out) {
  // Who passes blocks on would have to know the counts of others.
  if (!call.counts.empty()) return pairwise::alltoall(call, out);
  const std::uint64_t radix = call.options->radix;
  const Exchange exchange(call);
  std::vector<Combining::Block> blocks;
  blocks.reserve(call.ranks);
  blocks.push_back(block_between(exchange, call, call.rank, call.rank, 0));
  // A hop more than without the first digit.
  for (std::uint64_t weight = 1; weight < call.ranks; weight *= radix) {
    for (std::uint64_t first = weight; first < std::min<std::uint64_t>(weight * radix, call.ranks); first += weight) {
      for (std::uint64_t i = first; i < std::min<std::uint64_t>(first + weight, call.ranks); ++i) {
        blocks.push_back(block_between(exchange, call, above(call, i), below(call, i), blocks[i - first].hops + 1));
      }
    }
  }
  Combining all(out, std::move(blocks));
  std::vector<std::uint32_t> numbers;
  for (std::uint64_t weight = 1; weight < call.ranks; weight *= radix) {
    for (std::uint64_t digit = 1; digit < radix && digit * weight < call.ranks; ++digit) {
      numbers.clear();
      with_digit(call.ranks, weight, radix, digit, [&](std::uint32_t n) { numbers.push_back(n); });
      all.exchange(above(call, digit * weight), below(call, digit * weight), numbers);
    }
    all.next();
  }
  all.finish();
}

void torus::alltoall(const CollectiveCall& call, Emitter& out) {
  if (!call.counts.empty()) return pairwise::alltoall(call, out);
  const std::vector<Rank>& dims = torus_of(call).dims;
  const Exchange exchange(call);
  std::vector<Combining::Block> blocks;
  blocks.reserve(call.ranks);
  blocks.push_back(block_between(exchange, call, call.rank, call.rank, 0));
  // Along one dimension more than those from where the first coordinate is 0.
  std::vector<std::pair<Rank, Rank>> ends = {{call.rank, call.rank}};
  ends.reserve(call.ranks);
  std::uint64_t size = 1;
  for (std::size_t d = dims.size(); d-- > 0; size *= dims[d]) {
    for (std::uint64_t steps = 1; steps < dims[d]; ++steps) {
      const Rank up = along(call.rank, size, dims[d], steps) - call.rank;  // modulo 2^32
      const Rank down = along(call.rank, size, dims[d], dims[d] - steps) - call.rank;
      for (std::uint64_t i = 0; i < size; ++i) {
        const auto [to, from] = ends.emplace_back(ends[i].first + up, ends[i].second + down);
        blocks.push_back(block_between(exchange, call, to, from, blocks[i].hops + 1));
      }
    }
  }
  Combining all(out, std::move(blocks));
  std::vector<std::uint32_t> numbers;
  std::uint64_t weight = 1;
  for (std::size_t d = dims.size(); d-- > 0; weight *= dims[d]) {
    for (std::uint64_t steps = 1; steps < dims[d]; ++steps) {
      numbers.clear();
      with_digit(call.ranks, weight, dims[d], steps, [&](std::uint32_t n) { numbers.push_back(n); });
      all.exchange(along(call.rank, weight, dims[d], steps), along(call.rank, weight, dims[d], dims[d] - steps),
                   numbers);
    }
    all.next();
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

}  // namespace isthmus
