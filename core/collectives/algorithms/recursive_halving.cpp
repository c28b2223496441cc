#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/even_split.hpp"
#include "collectives/write/power_of_two.hpp"
#include "collectives/write/sums.hpp"

namespace isthmus::collectives {
namespace {

/// The last half of a reduce_scatter on places: what is left when blocks [first, last) are the place's.
struct Kept {
  std::uint64_t begin;  ///< bytes of the whole vector
  std::uint64_t end;
  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

/// A reduce_scatter's sum on one rank: the input to begin with, then scratch laid out like it. What comes in first goes
/// to its place there, so that the input is only read.
class HalvedSum {
 public:
  HalvedSum(Rounds& rounds, const CollectiveCall& call) : rounds_(rounds), all_(Blocks(call).all()) {}
  [[nodiscard]] Slice now(std::uint64_t offset) const { return begun_ ? at_scratch(offset) : at_input(offset); }

  /// Gives away one part of the sum for the other part of another's. `last`: the kept part is the result.
  void exchange(Rank peer, Kept given, Kept kept, ReduceOrder order, bool last = false) {
    rounds_.send(peer, given.bytes(), now(given.begin));
    take(peer, kept, order, last);
  }
  void take(Rank peer, Kept kept, ReduceOrder order, bool last = false) {
    const Slice sum = now(kept.begin);
    const Slice target = last ? at_output() : at_scratch(kept.begin);
    const bool aside = begun_ && !last;
    rounds_.recv(peer, kept.bytes(), aside ? at_scratch(all_) : target);
    if (aside) {
      rounds_.reduce(kept.bytes(), at_scratch(all_), target, order);
    } else {
      rounds_.reduce(kept.bytes(), sum, target, order == ReduceOrder::after ? ReduceOrder::before : ReduceOrder::after);
    }
    begun_ = true;
  }

 private:
  Rounds& rounds_;
  std::uint64_t all_;
  bool begun_ = false;
};

}  // namespace

void recursive_halving::reduce_scatter(const CollectiveCall& call, Emitter& out) {
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

void butterfly::reduce_scatter(const CollectiveCall& call, Emitter& out) {
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

/// The vector in as many parts as there are places: halves of it are exchanged at distances 1, 2, 4 ..., so that
/// neighbours are combined first and the order is kept, and come back the same way.
void rabenseifner::allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const PowerOfTwo fold(call.rank, call.ranks);
  const EvenSplit parts(call.bytes, fold.places);
  Sum sum(call, true);
  if (fold.outside) {
    rounds.send(call.rank + 1, call.bytes, sum.now());
    rounds.next();
    rounds.recv(call.rank + 1, call.bytes, at_output());
    return;
  }
  if (fold.paired) sum.take(rounds, call.rank - 1, ReduceOrder::before);
  const auto of_parts = [&](std::uint64_t first, std::uint64_t count) {
    return Kept{parts.offset(first), parts.offset(first + count)};
  };
  std::uint32_t first = 0;
  std::uint32_t half = fold.places >> 1;
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1, half >>= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const bool upper = (fold.place & bit) != 0;
    const Kept given = of_parts(upper ? first : first + half, half);
    if (upper) first += half;
    const Kept kept = of_parts(first, half);
    rounds.send(fold.rank(peer), given.bytes(), sum.now() + given.begin);
    sum.take(rounds, fold.rank(peer), order_from(peer, fold.place), kept.begin, kept.bytes());
  }
  for (std::uint32_t bit = fold.places >> 1; bit != 0; bit >>= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const std::uint32_t count = fold.places / (2 * bit);
    const std::uint32_t theirs = first ^ count;
    const Kept held = of_parts(first, count);
    const Kept missing = of_parts(theirs, count);
    rounds.send(fold.rank(peer), held.bytes(), at_output(held.begin));
    rounds.recv(fold.rank(peer), missing.bytes(), at_output(missing.begin));
    rounds.next();
    first &= ~count;
  }
  sum.finish(rounds);
  if (fold.paired) rounds.send(call.rank - 1, call.bytes, at_output());
}

}  // namespace isthmus::collectives
