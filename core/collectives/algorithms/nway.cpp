#include <bit>

#include "collectives/algorithms/algorithms.hpp"

namespace isthmus::collectives::nway {
namespace {

/// After the rounds so far a rank knows of the `known` ranks up to itself; those of every further multiple tell it of
/// as many more.
void rounds_of(const CollectiveCall& call, Emitter& out, std::uint64_t ways) {
  Rounds rounds(out);
  for (std::uint64_t known = 1; known < call.ranks; known *= ways + 1) {
    std::uint64_t far = known;
    for (std::uint64_t way = 0; way < ways && far < call.ranks; ++way, far += known) {
      rounds.send(above(call, far), 0);
      rounds.recv(below(call, far), 0);
    }
    rounds.next();
  }
}

}  // namespace

void dissemination_barrier(const CollectiveCall& call, Emitter& out) {
  rounds_of(call, out, call.options->radix - std::uint64_t{1});
}

void barrier(const CollectiveCall& call, Emitter& out) { rounds_of(call, out, call.options->radix); }

void recursive_doubling_barrier(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  const Rank places = std::bit_floor(call.ranks);
  if (call.rank >= places) {
    rounds.send(call.rank - places, 0);
    rounds.next();
    rounds.recv(call.rank - places, 0);
    return;
  }
  const bool speaks = call.rank < call.ranks - places;
  if (speaks) rounds.recv(call.rank + places, 0);
  rounds.next();
  for (std::uint64_t bit = 1; bit < places; bit <<= 1) {
    const auto peer = static_cast<Rank>(call.rank ^ bit);
    rounds.send(peer, 0);
    rounds.recv(peer, 0);
    rounds.next();
  }
  if (speaks) rounds.send(call.rank + places, 0);
}

}  // namespace isthmus::collectives::nway
