#include <utility>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"
#include "collectives/write/digit_exchange.hpp"
#include "collectives/write/torus.hpp"

namespace isthmus::collectives::torus {

void alltoall(const CollectiveCall& call, Emitter& out) {
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

}  // namespace isthmus::collectives::torus
