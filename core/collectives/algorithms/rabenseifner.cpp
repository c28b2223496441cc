#include <bit>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/even_split.hpp"
#include "collectives/write/folded_sum.hpp"

namespace isthmus::collectives::rabenseifner {
namespace {

/// Odd places among the first 2 * excess hand over to the even one before them; those that stay are numbered anew.
struct Staying {
  Staying(std::uint64_t ranks, std::uint64_t place)
      : count(std::bit_floor(ranks)),
        excess(ranks - count),
        paired(place < 2 * excess),
        outside(paired && place % 2 != 0),
        number(paired ? place / 2 : place - excess) {}
  [[nodiscard]] std::uint64_t place(std::uint64_t n) const { return n < excess ? 2 * n : n + excess; }

  std::uint64_t count;
  std::uint64_t excess;
  bool paired;
  bool outside;
  std::uint64_t number;
};

}  // namespace

void reduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const FromRoot at(call, call.root);
  const Staying staying(call.ranks, at.me());
  Sum sum(call, at.me() == 0);
  if (staying.outside) {
    rounds.send(at(at.me() - 1), call.bytes, sum.own());
    return;
  }
  if (staying.paired) sum.take(rounds, at(at.me() + 1));
  // One rank keeps the first half of the parts [begin, end), its partner the second: numbers that have been added are
  // always neighbours.
  const EvenSplit parts(call.bytes, staying.count);
  const std::uint64_t me = staying.number;
  std::uint64_t begin = 0, end = staying.count;
  for (std::uint64_t bit = 1; bit < staying.count; bit <<= 1) {
    const Rank partner = at(staying.place(me ^ bit));
    const std::uint64_t middle = begin + (end - begin) / 2;
    const bool upper = (me & bit) != 0;
    const std::uint64_t given = upper ? begin : middle;
    rounds.send(partner, parts.between(given, given + (middle - begin)), sum.now() + parts.offset(given));
    (upper ? begin : end) = middle;
    sum.take(rounds, partner, upper ? ReduceOrder::before : ReduceOrder::after, parts.offset(begin),
             parts.between(begin, end));
  }
  for (std::uint64_t bit = staying.count >> 1; bit != 0; bit >>= 1) {
    const Rank partner = at(staying.place(me ^ bit));
    if ((me & bit) != 0) {
      rounds.send(partner, parts.between(begin, end), sum.sum() + parts.offset(begin));
      return;
    }
    const std::uint64_t length = end - begin;
    rounds.recv(partner, parts.between(end, end + length), sum.sum() + parts.offset(end));
    rounds.next();
    end += length;
  }
  sum.finish(rounds);
}

/// The vector in as many parts as there are places: halves of it are exchanged at distances 1, 2, 4 ..., so that
/// neighbours are combined first and the order is kept, and come back the same way.
void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const PowerOfTwo fold(call.rank, call.ranks);
  const EvenSplit parts(call.bytes, fold.places);
  Sum sum(call, true);
  const Rank neighbour = fold.neighbour(call.rank);
  if (!begin_folded(rounds, call, sum, fold, neighbour)) return;
  std::uint32_t first = 0;
  std::uint32_t half = fold.places >> 1;
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1, half >>= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const bool upper = (fold.place & bit) != 0;
    const std::uint32_t given = upper ? first : first + half;
    if (upper) first += half;
    rounds.send(fold.rank(peer), parts.between(given, given + half), sum.now() + parts.offset(given));
    sum.take(rounds, fold.rank(peer), order_from(peer, fold.place), parts.offset(first),
             parts.between(first, first + half));
  }
  for (std::uint32_t bit = fold.places >> 1; bit != 0; bit >>= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const std::uint32_t count = fold.places / (2 * bit);
    const std::uint32_t theirs = first ^ count;
    rounds.send(fold.rank(peer), parts.between(first, first + count), at_output(parts.offset(first)));
    rounds.recv(fold.rank(peer), parts.between(theirs, theirs + count), at_output(parts.offset(theirs)));
    rounds.next();
    first &= ~count;
  }
  end_folded(rounds, call, sum, fold, neighbour);
}

}  // namespace isthmus::collectives::rabenseifner
