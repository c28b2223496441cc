// A vector in two halves, each along a tree of its own over all ranks.
#pragma once

#include "collectives/write/tree_streams.hpp"

namespace isthmus::collectives {

/// The halves in segments; the first has a byte more if the bytes are odd.
struct Halves {
  explicit Halves(const CollectiveCall& call)
      : first(0, call.bytes - call.bytes / 2, call.options->segment),
        second(call.bytes - call.bytes / 2, call.bytes / 2, call.options->segment) {}
  Segments first;
  Segments second;
};

/// Two ranks have one way only, on which halves would get into each other's way: they take the vector as a whole.
template <class Tree>
void bcast_down_both(const CollectiveCall& call, Emitter& out) {
  if (call.ranks <= 2) return bcast_down(call, out, Chains(call, call.root, 1));
  const Tree first(call, call.root, false), second(call, call.root, true);
  const Halves halves(call);
  Downward<Tree> one(out, first, halves.first), two(out, second, halves.second);
  for (std::uint64_t i = 0; i < halves.first.count(); ++i) {
    one.next();
    if (i < halves.second.count()) two.next();
  }
}

template <class Tree>
void reduce_up_both(const CollectiveCall& call, Emitter& out) {
  if (call.ranks <= 2) return reduce_up(call, out, Chains(call, call.root, 1));
  const Tree first(call, call.root, false), second(call, call.root, true);
  const Halves halves(call);
  const Slice room = Sum(call, first.me() == 0).room();
  Upward<Tree> one(call, out, first, halves.first, room);
  Upward<Tree> two(call, out, second, halves.second, room + one.room_bytes());
  for (std::uint64_t i = 0; i < halves.first.count(); ++i) {
    one.next();
    if (i < halves.second.count()) two.next();
  }
}

}  // namespace isthmus::collectives
