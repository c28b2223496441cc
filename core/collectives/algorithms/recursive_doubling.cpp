#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/block_places.hpp"
#include "collectives/write/doubling.hpp"

namespace isthmus::collectives::recursive_doubling {
namespace {

/// Both scans. Beside its result, which is in output, a rank keeps the sum of all that it has heard of in scratch.
/// `exclusive`: the result starts with the first part that comes from below.
void scan_ranks(const CollectiveCall& call, Emitter& out, bool exclusive) {
  Rounds rounds(out);
  const Slice own = call.in_place ? at_output() : at_input();
  const Slice heard = at_scratch();
  const Slice came = at_scratch(call.bytes);
  if (!exclusive && !call.in_place) rounds.copy_too(call.bytes, at_input(), at_output());
  if (call.ranks > 1) rounds.copy_too(call.bytes, own, heard);
  rounds.next();
  bool started = !exclusive;
  for (std::uint64_t bit = 1; bit < call.ranks; bit <<= 1) {
    const std::uint64_t peer = call.rank ^ bit;
    if (peer >= call.ranks) continue;
    rounds.send(static_cast<Rank>(peer), call.bytes, heard);
    rounds.recv(static_cast<Rank>(peer), call.bytes, came);
    rounds.reduce(call.bytes, came, heard, order_from(peer, call.rank));
    if (peer > call.rank) continue;
    // What came from below belongs to the result too.
    if (started) {
      rounds.reduce(call.bytes, came, at_output(), ReduceOrder::before);
    } else {
      rounds.copy(call.bytes, came, at_output());
    }
    started = true;
  }
}

}  // namespace

void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  Sum sum(call, true);
  double_sums(rounds, call, sum, PowerOfTwo(call.rank, call.ranks), call.rank, [](Rank rank) { return rank; });
}

void allgather(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const PowerOfTwo fold(call.rank, call.ranks);
  if (fold.outside) {
    rounds.send(call.rank + 1, blocks(call.rank), own_block(call));
    rounds.next();
    rounds.recv(call.rank + 1, blocks.all(), at_output());
    return;
  }
  if (fold.paired) rounds.recv(call.rank - 1, blocks(call.rank - 1), at_output(blocks.offset(call.rank - 1)));
  // In every round a place holds the parts of the aligned group of `bit` places around it. Alone in it, it needs no
  // copy of its own block to send.
  const auto first = [&](std::uint64_t place, std::uint64_t bit) { return fold.first(place & ~(bit - 1)); };
  const auto held = [&](std::uint64_t place, std::uint64_t bit) {
    return blocks.offset(fold.first((place & ~(bit - 1)) + bit)) - blocks.offset(first(place, bit));
  };
  if (fold.paired) keep_own_block(rounds, call);
  rounds.next();
  for (std::uint32_t bit = 1; bit < fold.places; bit <<= 1) {
    const std::uint32_t peer = fold.place ^ bit;
    const bool alone = bit == 1 && !fold.paired;
    rounds.send(fold.rank(peer), held(fold.place, bit),
                alone ? own_block(call) : at_output(blocks.offset(first(fold.place, bit))));
    rounds.recv(fold.rank(peer), held(peer, bit), at_output(blocks.offset(first(peer, bit))));
    if (alone) keep_own_block(rounds, call);
    rounds.next();
  }
  if (fold.places == 1) keep_own_block(rounds, call);
  if (fold.paired) rounds.send(call.rank - 1, blocks.all(), at_output());
}

void scan(const CollectiveCall& call, Emitter& out) { scan_ranks(call, out, false); }
void exscan(const CollectiveCall& call, Emitter& out) { scan_ranks(call, out, true); }

}  // namespace isthmus::collectives::recursive_doubling
