#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/halved_sum.hpp"
#include "collectives/write/power_of_two.hpp"

namespace isthmus::collectives::recursive_halving {

void reduce_scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const PowerOfTwo fold(call.rank, call.ranks);
  HalvedSum sum(rounds, call);
  if (fold.outside) {
    rounds.send(call.rank + 1, blocks.all(), at_input());
    rounds.next();
    rounds.recv(call.rank + 1, blocks(call.rank), at_output());
    return;
  }
  if (call.ranks == 1 && !call.in_place) rounds.copy(blocks.all(), at_input(), at_output());
  if (fold.paired) sum.take(call.rank - 1, {0, blocks.all()}, ReduceOrder::before);
  const auto of_places = [&](std::uint64_t first, std::uint64_t count) {
    return Kept{blocks.offset(fold.first(first)), blocks.offset(fold.first(first + count))};
  };
  for (std::uint32_t bit = fold.places >> 1; bit != 0; bit >>= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const std::uint32_t mine = fold.place & ~(bit - 1);
    sum.exchange(fold.rank(peer), of_places(mine ^ bit, bit), of_places(mine, bit), order_from(peer, fold.place),
                 bit == 1 && !fold.paired);
  }
  if (!fold.paired) return;
  rounds.send(call.rank - 1, blocks(call.rank - 1), sum.now(blocks.offset(call.rank - 1)));
  rounds.copy_too(blocks(call.rank), sum.now(blocks.offset(call.rank)), at_output());
}

}  // namespace isthmus::collectives::recursive_halving
