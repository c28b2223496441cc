#include <bit>

#include "collectives/algorithms.hpp"

namespace isthmus::recursive_doubling {
namespace {

/// Who takes part in the exchanges. Of the first 2 * excess ranks, the even ones hand over to the odd one above them;
/// what is left is a power of two of places.
struct Fold {
  explicit Fold(const CollectiveCall& call)
      : places(std::bit_floor(call.ranks)),
        excess(call.ranks - places),
        paired(call.rank < 2 * std::uint64_t{excess}),
        outside(paired && call.rank % 2 == 0),
        place(paired ? call.rank / 2 : call.rank - excess) {}

  /// The rank in a place.
  [[nodiscard]] Rank rank(std::uint32_t p) const { return p < excess ? 2 * p + 1 : p + excess; }
  /// The first rank whose part a place holds; the parts of neighbouring places are neighbours.
  [[nodiscard]] std::uint64_t first(std::uint64_t p) const { return p < excess ? 2 * p : p + excess; }

  std::uint32_t places;
  std::uint32_t excess;
  bool paired;
  bool outside;
  std::uint32_t place;
};

/// Both scans. `exclusive`: a rank's result starts with the first part that it gets from below.
void scan_ranks(const CollectiveCall& call, Emitter& out, bool exclusive) {
  Rounds rounds(out);
  bool started = !exclusive;
  for (std::uint64_t bit = 1; bit < call.ranks; bit <<= 1) {
    const std::uint64_t peer = call.rank ^ bit;
    if (peer >= call.ranks) continue;
    rounds.send(static_cast<Rank>(peer), call.bytes);
    rounds.recv(static_cast<Rank>(peer), call.bytes);
    rounds.reduce(call.bytes);
    if (peer > call.rank) continue;
    // What came from below belongs to the result too.
    if (started) {
      rounds.reduce(call.bytes);
    } else {
      rounds.copy(call.bytes);
    }
    started = true;
  }
}

}  // namespace

void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Fold fold(call);
  if (fold.outside) {
    rounds.send(call.rank + 1, call.bytes);
    rounds.next();
    rounds.recv(call.rank + 1, call.bytes);
    return;
  }
  if (fold.paired) {
    rounds.recv(call.rank - 1, call.bytes);
    rounds.reduce(call.bytes);
  }
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1) {
    const Rank peer = fold.rank(fold.place ^ bit);
    rounds.send(peer, call.bytes);
    rounds.recv(peer, call.bytes);
    rounds.reduce(call.bytes);
  }
  if (fold.paired) rounds.send(call.rank - 1, call.bytes);
}

void allgather(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const Fold fold(call);
  if (fold.outside) {
    rounds.send(call.rank + 1, blocks(call.rank));
    rounds.next();
    rounds.recv(call.rank + 1, blocks.all());
    return;
  }
  if (fold.paired) {
    rounds.recv(call.rank - 1, blocks(call.rank - 1));
    rounds.next();
  }
  // In every round a place holds the parts of the aligned group of `bit` places around it.
  const auto held = [&](std::uint64_t place, std::uint64_t bit) {
    const std::uint64_t first = place & ~(bit - 1);
    return blocks.sum(fold.first(first), fold.first(first + bit) - fold.first(first));
  };
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    rounds.send(fold.rank(peer), held(fold.place, bit));
    rounds.recv(fold.rank(peer), held(peer, bit));
    rounds.next();
  }
  if (fold.paired) rounds.send(call.rank - 1, blocks.all());
}

void scan(const CollectiveCall& call, Emitter& out) { scan_ranks(call, out, false); }
void exscan(const CollectiveCall& call, Emitter& out) { scan_ranks(call, out, true); }

}  // namespace isthmus::recursive_doubling
