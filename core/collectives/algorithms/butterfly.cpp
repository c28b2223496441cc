#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/halved_sum.hpp"
#include "collectives/write/power_of_two.hpp"

namespace isthmus::collectives::butterfly {

void reduce_scatter(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const PowerOfTwo fold(call.rank, call.ranks);
  HalvedSum sum(rounds, call);
  // The place whose blocks this one sums up: its number with its bits in reverse order.
  std::uint32_t mirror = 0;
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1) mirror = 2 * mirror + ((fold.place & bit) != 0 ? 1 : 0);
  if (fold.outside) {
    rounds.send(call.rank + 1, blocks.all(), at_input());
    rounds.next();
    rounds.recv(fold.rank(mirror), blocks(call.rank), at_output());
    return;
  }
  if (call.ranks == 1 && !call.in_place) rounds.copy(blocks.all(), at_input(), at_output());
  if (fold.paired) sum.take(call.rank - 1, {0, blocks.all()}, ReduceOrder::before);
  const bool stays = mirror == fold.place;
  const auto of_places = [&](std::uint64_t first, std::uint64_t count) {
    return Kept{blocks.offset(fold.first(first)), blocks.offset(fold.first(first + count))};
  };
  std::uint32_t first = 0;
  std::uint32_t half = fold.places >> 1;
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1, half >>= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const std::uint32_t given = (fold.place & bit) != 0 ? first : first + half;
    first += (fold.place & bit) != 0 ? half : 0;
    sum.exchange(fold.rank(peer), of_places(given, half), of_places(first, half), order_from(peer, fold.place),
                 half == 1 && stays && !fold.paired);
  }
  // Sums go to those whose they are: to the rank in the mirrored place and to the one that handed over to it.
  const Rank head = fold.rank(mirror);
  const bool two = mirror < fold.excess;
  if (two) rounds.send(head - 1, blocks(head - 1), sum.now(blocks.offset(head - 1)));
  if (!stays) {
    rounds.send(head, blocks(head), sum.now(blocks.offset(head)));
    rounds.recv(head, blocks(call.rank), at_output());
  } else if (fold.paired) {
    rounds.copy_too(blocks(head), sum.now(blocks.offset(head)), at_output());
  }
}

}  // namespace isthmus::collectives::butterfly
