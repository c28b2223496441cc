#include "collectives/algorithms.hpp"
#include "collectives/sums.hpp"
#include "collectives/tree_blocks.hpp"

namespace isthmus::binomial {
namespace {

// Places count from the root. The parent of place p is p without its lowest set bit, its children are p + 2^k for the
// bits below that one; child p + 2^k heads the places [p + 2^k, p + 2^(k + 1)), as far as they exist.

std::uint64_t lowest_bit(std::uint64_t place, std::uint64_t ranks) {
  std::uint64_t bit = 1;
  while (bit < ranks && (place & bit) == 0) bit <<= 1;
  return bit;
}

/// `everywhere`: all ranks have an output, of which this is the first half of an allreduce.
void reduce_to(Rounds& rounds, const CollectiveCall& call, Rank root, bool everywhere) {
  const FromRoot at(call, root);
  const std::uint64_t me = at.me();
  const std::uint64_t parent = lowest_bit(me, call.ranks);
  Sum sum(call, everywhere || me == 0);
  for (std::uint64_t bit = 1; bit < parent && me + bit < call.ranks; bit <<= 1) sum.take(rounds, at(me + bit));
  if (me != 0) {
    rounds.send(at(me - parent), call.bytes, sum.now());
  } else {
    sum.finish(rounds);
  }
  rounds.next();
}

void bcast_from(Rounds& rounds, const CollectiveCall& call, Rank root) {
  const FromRoot at(call, root);
  const std::uint64_t me = at.me();
  const std::uint64_t parent = lowest_bit(me, call.ranks);
  if (me != 0) rounds.recv(at(me - parent), call.bytes, at_output());
  rounds.next();
  for (std::uint64_t bit = parent >> 1; bit != 0; bit >>= 1) {
    if (me + bit < call.ranks) rounds.send(at(me + bit), call.bytes, at_output());
  }
}

}  // namespace

void bcast(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  bcast_from(rounds, call, call.root);
}

void reduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  reduce_to(rounds, call, call.root, false);
}

void allreduce(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  reduce_to(rounds, call, 0, true);
  bcast_from(rounds, call, 0);
}

void barrier(const CollectiveCall& call, Emitter& out) {
  CollectiveCall nothing = call;
  nothing.bytes = 0;
  allreduce(nothing, out);
}

void gather(const CollectiveCall& call, Emitter& out) { gather_up(call, out, Knomial(call, call.root, 2)); }

void scatter(const CollectiveCall& call, Emitter& out) { scatter_down(call, out, Knomial(call, call.root, 2)); }

}  // namespace isthmus::binomial
