#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/even_split.hpp"
#include "collectives/write/sums.hpp"

namespace isthmus::collectives {
namespace {

/// Receives several vectors at once, then adds them in the order in which they are given.
class Several {
 public:
  Several(Rounds& rounds, const CollectiveCall& call, Sum& sum) : rounds_(rounds), bytes_(call.bytes), sum_(sum) {}
  void take(Rank from, ReduceOrder order) {
    const bool first = orders_.empty() && !sum_.begun();
    const Slice room = first ? sum_.sum() : sum_.room() + orders_.size() * bytes_;
    rounds_.recv(from, bytes_, room);
    orders_.push_back(order);
  }
  void add() {
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      rounds_.next();
      if (sum_.begun()) {
        rounds_.reduce_too(bytes_, sum_.room() + i * bytes_, sum_.sum(), orders_[i]);
      } else {
        sum_.add_too(rounds_, 0, bytes_, orders_[i]);
      }
      sum_.begin();
    }
    rounds_.next();
    orders_.clear();
  }

 private:
  Rounds& rounds_;
  std::uint64_t bytes_;
  Sum& sum_;
  std::vector<ReduceOrder> orders_;
};

}  // namespace

void recursive_multiplying::allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const std::uint64_t radix = call.options->radix;
  std::uint64_t places = 1;
  while (places * radix <= call.ranks) places *= radix;
  // Each place stands for floor or ceil(ranks / places) neighbouring ranks, the first of which is in it.
  const EvenSplit ranks(call.ranks, places);
  const std::uint64_t least = call.ranks / places;
  const std::uint64_t longer = call.ranks % places * (least + 1);
  const std::uint64_t me =
      call.rank < longer ? call.rank / (least + 1) : call.ranks % places + (call.rank - longer) / least;
  const auto head = [&](std::uint64_t place) { return static_cast<Rank>(ranks.offset(place)); };
  Sum sum(call, true);
  if (call.rank != head(me)) {
    rounds.send(head(me), call.bytes, sum.now());
    rounds.next();
    rounds.recv(head(me), call.bytes, at_output());
    return;
  }
  Several several(rounds, call, sum);
  for (Rank rank = call.rank + 1; rank < head(me + 1); ++rank) several.take(rank, ReduceOrder::after);
  several.add();
  for (std::uint64_t weight = 1; weight < places; weight *= radix) {
    const std::uint64_t digit = me / weight % radix;
    const std::uint64_t first = me - digit * weight;
    for (std::uint64_t other = 0; other < radix; ++other) {
      if (other != digit) rounds.send(head(first + other * weight), call.bytes, sum.now());
    }
    // From the next below down, then from the next above up: what is added are always neighbours.
    for (std::uint64_t other = digit; other-- > 0;) several.take(head(first + other * weight), ReduceOrder::before);
    for (std::uint64_t other = digit + 1; other < radix; ++other) {
      several.take(head(first + other * weight), ReduceOrder::after);
    }
    several.add();
  }
  sum.finish(rounds);
  for (Rank rank = call.rank + 1; rank < head(me + 1); ++rank) rounds.send(rank, call.bytes, at_output());
}

}  // namespace isthmus::collectives
