// Two binary trees over the same ranks.
#pragma once

#include <bit>
#include <cstdint>

#include "collectives/write/trees.hpp"

namespace isthmus::collectives {

/// The root above a binary tree of all other places in their order (all to the left of a place are before it), in which
/// odd places are leaves. The second tree has the places mirrored if there is an odd number of ranks, otherwise moved
/// on by one, so that those leaves pass on in it.
class InorderTree : public TreePlace {
 public:
  InorderTree(const CollectiveCall& call, Rank root, bool second)
      : TreePlace(call, root), second_(second), label_(label(me_)), bit_(label_ & (~label_ + 1)) {}
  [[nodiscard]] std::uint64_t parent() const {
    const std::uint64_t without = label_ ^ bit_;
    const std::uint64_t above = without | (bit_ << 1);
    return place(above < ranks_ ? above : without);
  }
  [[nodiscard]] bool left(std::uint64_t child) const { return child < me_; }
  template <class F>
  void down(F f) const {
    if (me_ == 0) {
      if (ranks_ > 1) f(place(std::bit_floor(ranks_ - 1)), std::uint64_t{0});
      return;
    }
    std::uint64_t step = bit_ >> 1;
    if (step == 0) return;
    f(place(label_ - step), std::uint64_t{0});
    // Where the tree ends the right subtree is a smaller one.
    while (step != 0 && label_ + step >= ranks_) step >>= 1;
    if (step != 0) f(place(label_ + step), std::uint64_t{0});
  }
  template <class F>
  void up(F f) const {
    down(f);
  }

 private:
  // Places in the first tree; the root's is 0 in both.
  [[nodiscard]] std::uint64_t label(std::uint64_t place) const {
    if (!second_ || place == 0) return place;
    if (ranks_ % 2 != 0) return ranks_ - place;
    return place == 1 ? ranks_ - 1 : place - 1;
  }
  [[nodiscard]] std::uint64_t place(std::uint64_t label) const {
    if (!second_ || label == 0) return label;
    if (ranks_ % 2 != 0) return ranks_ - label;
    return label + 1 == ranks_ ? 1 : label + 1;
  }

  bool second_;
  std::uint64_t label_;
  std::uint64_t bit_;  // its lowest
};

}  // namespace isthmus::collectives
