#include "collectives/algorithms.hpp"

namespace isthmus::dissemination {

void barrier(const CollectiveCall& call, Emitter& out) {
  Rounds rounds(out);
  for (std::uint64_t step = 1; step < call.ranks; step <<= 1) {
    rounds.send(above(call, step), 0);
    rounds.recv(below(call, step), 0);
    rounds.next();
  }
}

}  // namespace isthmus::dissemination
