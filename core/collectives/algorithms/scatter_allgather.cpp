#include <bit>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/even_split.hpp"
#include "collectives/write/trees.hpp"

namespace isthmus::collectives::scatter_allgather {
namespace {

/// Part i of the message to place i, down the binomial tree over the first `places`.
void scatter_parts(Rounds& rounds, const Knomial& tree, const EvenSplit& parts) {
  const std::uint64_t me = tree.me();
  if (me != 0) {
    rounds.recv(tree.rank(tree.parent()), parts.between(me, me + tree.span()), at_output(parts.offset(me)));
  }
  rounds.next();
  tree.down([&](std::uint64_t child, std::uint64_t span) {
    rounds.send(tree.rank(child), parts.between(child, child + span), at_output(parts.offset(child)));
  });
  rounds.next();
}

}  // namespace

void bcast(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const std::uint64_t places = std::bit_floor(call.ranks);
  const FromRoot at(call, call.root);
  const std::uint64_t me = at.me();
  if (me >= places) {
    rounds.recv(at(me - places), call.bytes, at_output());
    return;
  }
  const EvenSplit parts(call.bytes, places);
  scatter_parts(rounds, Knomial(call, call.root, 2, places), parts);
  for (std::uint64_t bit = 1; bit < places; bit <<= 1) {
    // The parts of the aligned group of `bit` places around it.
    const std::uint64_t mine = me & ~(bit - 1), other = mine ^ bit;
    rounds.send(at(me ^ bit), parts.between(mine, mine + bit), at_output(parts.offset(mine)));
    rounds.recv(at(me ^ bit), parts.between(other, other + bit), at_output(parts.offset(other)));
    rounds.next();
  }
  if (me + places < call.ranks) rounds.send(at(me + places), call.bytes, at_output());
}

void ring_bcast(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const EvenSplit parts(call.bytes, call.ranks);
  const Knomial tree(call, call.root, 2);
  scatter_parts(rounds, tree, parts);
  std::uint64_t got = tree.me();
  for (std::uint64_t step = 1; step < call.ranks; ++step) {
    const std::uint64_t sent = got;
    got = (sent == 0 ? call.ranks : sent) - 1;
    rounds.send(above(call, 1), parts(sent), at_output(parts.offset(sent)));
    rounds.recv(below(call, 1), parts(got), at_output(parts.offset(got)));
    rounds.next();
  }
}

}  // namespace isthmus::collectives::scatter_allgather
