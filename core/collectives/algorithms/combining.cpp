#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/combining.hpp"
#include "collectives/write/torus.hpp"

namespace isthmus::collectives::combining {
namespace {

/// A message between ranks as one of them sees it: how far along the torus, as a number, and where it is.
struct Message {
  std::uint64_t way;
  std::uint64_t bytes;
  Slice at;
};

}  // namespace

void neighbor_alltoall(const CollectiveCall& call, Emitter& out) {
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

}  // namespace isthmus::collectives::combining
