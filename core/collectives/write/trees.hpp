// Trees over ranks: who is above and who is below a rank, in the order in which it sends to them.
//
// Places count from the root. A tree is made for one rank and answers for this rank only:
//
//   me(), parent(), rank(place)
//   down(f)   f(place, span) for every child in the order in which a broadcast serves them
//   up(f)     the same in the order in which a reduction takes them
//   left(p)   the child's subtree has the places before this one, not behind it
//   span()    ranks of the subtree, this one among them
//
// In Knomial, Chains and Fork a subtree is the places [me, me + span) and up() goes by places, so that a reduction
// which adds what comes in behind what is there combines ranks in the order of their places. Others have no spans.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "collectives/write/rounds.hpp"

namespace isthmus::collectives {

class TreePlace {
 public:
  TreePlace(const CollectiveCall& call, Rank root) : at_(call, root), me_(at_.me()), ranks_(call.ranks) {}
  [[nodiscard]] std::uint64_t me() const { return me_; }
  [[nodiscard]] Rank rank(std::uint64_t place) const { return at_(place); }
  [[nodiscard]] static bool left(std::uint64_t) { return false; }

 protected:
  FromRoot at_;
  std::uint64_t me_;
  std::uint64_t ranks_;
};

/// A place in digits to the base `radix`: the parent has its lowest digit that is not 0 set to 0, children have one of
/// the zeros below that digit set. Radix 2: the binomial tree.
class Knomial : public TreePlace {
 public:
  Knomial(const CollectiveCall& call, Rank root, std::uint64_t radix) : Knomial(call, root, radix, call.ranks) {}
  /// Over the first `places`, of which the rank has one.
  Knomial(const CollectiveCall& call, Rank root, std::uint64_t radix, std::uint64_t places)
      : TreePlace(call, root), radix_(radix) {
    ranks_ = places;
    if (radix_ == 2) {
      weight_ = me_ == 0 ? std::bit_ceil(ranks_) : me_ & (~me_ + 1);
      below_ = weight_ >> 1;
      digit_ = me_ == 0 ? 0 : 1;
      return;
    }
    // Few divisions, and of 32 bits: schedules have millions of ranks.
    auto rest = static_cast<Rank>(me_);
    const auto base = static_cast<Rank>(radix_);
    while (weight_ < ranks_ && rest % base == 0) {
      rest /= base;
      below_ = weight_;
      weight_ *= radix_;
    }
    digit_ = rest % base;
  }
  [[nodiscard]] std::uint64_t parent() const { return me_ - digit_ * weight_; }
  [[nodiscard]] std::uint64_t span() const { return std::min(weight_, ranks_ - me_); }
  template <class F>
  void down(F f) const {
    for (std::uint64_t w = below_; w != 0; w = radix_ == 2 ? w >> 1 : w == 1 ? 0 : w / radix_) level(w, f);
  }
  template <class F>
  void up(F f) const {
    for (std::uint64_t w = 1; w < weight_ && me_ + w < ranks_; w *= radix_) level(w, f);
  }

 private:
  template <class F>
  void level(std::uint64_t w, F& f) const {
    std::uint64_t child = me_ + w;
    for (std::uint64_t digit = 1; digit < radix_ && child < ranks_; ++digit, child += w) {
      f(child, std::min(w, ranks_ - child));
    }
  }

  std::uint64_t radix_;
  std::uint64_t weight_ = 1;  // of the digit that the parent does not have; places of the subtree if all exist
  std::uint64_t below_ = 0;   // weight of the digit below that one
  std::uint64_t digit_;
};

/// The children of place p are the `radix` places from radix * p + 1 on: as flat as a tree of this fan-out can be.
class Kary : public TreePlace {
 public:
  Kary(const CollectiveCall& call, Rank root, std::uint64_t radix) : TreePlace(call, root), radix_(radix) {}
  [[nodiscard]] std::uint64_t parent() const { return (me_ - 1) / radix_; }
  template <class F>
  void down(F f) const {
    const std::uint64_t first = me_ * radix_ + 1;
    const std::uint64_t end = std::min(first + radix_, ranks_);
    for (std::uint64_t child = first; child < end; ++child) f(child, std::uint64_t{0});
  }
  template <class F>
  void up(F f) const {
    down(f);
  }

 private:
  std::uint64_t radix_;
};

/// `count` chains of neighbouring places, as equal as can be, that all hang on the root.
class Chains : public TreePlace {
 public:
  Chains(const CollectiveCall& call, Rank root, std::uint64_t count)
      : TreePlace(call, root),
        chains_(std::min(count, ranks_ - 1)),
        length_(chains_ == 0 ? 0 : (ranks_ - 1) / chains_),
        longer_(chains_ == 0 ? 0 : (ranks_ - 1) % chains_) {
    if (me_ == 0) return;
    // The first chains have one place more.
    const std::uint64_t in_longer = longer_ * (length_ + 1);
    const bool early = me_ - 1 < in_longer;
    const std::uint64_t length = early ? length_ + 1 : length_;
    const std::uint64_t step = (early ? me_ - 1 : me_ - 1 - in_longer) % length;
    head_ = step == 0;
    span_ = length - step;
  }
  [[nodiscard]] std::uint64_t parent() const { return head_ ? 0 : me_ - 1; }
  [[nodiscard]] std::uint64_t span() const { return me_ == 0 ? ranks_ : span_; }
  template <class F>
  void down(F f) const {
    if (me_ != 0) {
      if (span_ > 1) f(me_ + 1, span_ - 1);
      return;
    }
    std::uint64_t head = 1;
    for (std::uint64_t chain = 0; chain < chains_; ++chain) {
      const std::uint64_t length = length_ + (chain < longer_ ? 1 : 0);
      f(head, length);
      head += length;
    }
  }
  template <class F>
  void up(F f) const {
    down(f);
  }

 private:
  std::uint64_t chains_;
  std::uint64_t length_;
  std::uint64_t longer_;
  bool head_ = false;
  std::uint64_t span_ = 1;
};

/// A grid of places, the last extent varying fastest: the message runs along the first extent, from every place there
/// along the second, and so on. Extents hold at least as many places as there are; those beyond do not exist.
class Fork : public TreePlace {
 public:
  Fork(const CollectiveCall& call, Rank root, std::span<const Rank> extents) : TreePlace(call, root), dims_(extents) {
    // The last coordinate that is not 0 leads to the parent; children are one step further along it or along later
    // ones.
    first_ = dims_.size();
    while (first_ != 0 && me_ % (below_ * dims_[first_ - 1]) == 0) below_ *= dims_[--first_];
  }
  [[nodiscard]] std::uint64_t parent() const { return me_ - below_; }
  template <class F>
  void down(F f) const {
    std::uint64_t stride = below_;
    // Along the own line, the first places of which hold all others.
    if (first_ != 0) step(stride, dims_[first_ - 1], f);
    for (std::size_t d = first_; d < dims_.size(); ++d) {
      stride /= dims_[d];
      step(stride, dims_[d], f);
    }
  }
  template <class F>
  void up(F f) const {
    std::uint64_t stride = 1;
    for (std::size_t d = dims_.size(); d > first_; --d) {
      step(stride, dims_[d - 1], f);
      stride *= dims_[d - 1];
    }
    if (first_ != 0) step(stride, dims_[first_ - 1], f);
  }

 private:
  template <class F>
  void step(std::uint64_t stride, std::uint64_t extent, F& f) const {
    const std::uint64_t coordinate = me_ / stride % extent;
    const std::uint64_t child = me_ + stride;
    if (coordinate + 1 < extent && child < ranks_) {
      f(child, std::min(stride * (extent - 1 - coordinate), ranks_ - child));
    }
  }

  std::span<const Rank> dims_;
  std::size_t first_ = 0;    // 1 + the dimension of the way from the parent; 0 for the root
  std::uint64_t below_ = 1;  // places of one step along that dimension
};

}  // namespace isthmus::collectives
