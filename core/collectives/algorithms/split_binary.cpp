#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/two_trees.hpp"

namespace isthmus::collectives::split_binary {
namespace {

/// The places after the root in two halves, the first of which has one more if they are odd. Those of one half are a
/// complete binary tree below the root; on each hangs the place of the other half that has the same number within it.
/// The last place of the first half hangs on the root in the second tree if it has no such partner.
class HalfTree : public TreePlace {
 public:
  HalfTree(const CollectiveCall& call, Rank root, bool second)
      : TreePlace(call, root),
        shift_(ranks_ / 2),
        begin_(second ? 1 + shift_ : 1),
        end_(second ? ranks_ : 1 + shift_),
        second_(second) {}
  [[nodiscard]] std::uint64_t parent() const {
    if (inside()) return me_ == begin_ ? 0 : begin_ + (me_ - begin_ - 1) / 2;
    if (!second_) return me_ - shift_;
    return me_ + shift_ < ranks_ ? me_ + shift_ : 0;
  }
  template <class F>
  void down(F f) const {
    branch(f);
    leaf(f);
  }
  template <class F>
  void up(F f) const {
    leaf(f);
    branch(f);
  }

 private:
  [[nodiscard]] bool inside() const { return me_ >= begin_ && me_ < end_; }
  template <class F>
  void branch(F& f) const {
    const std::uint64_t first = me_ == 0 ? begin_ : begin_ + 2 * (me_ - begin_) + 1;
    const std::uint64_t last = me_ == 0 ? begin_ : first + 1;
    if (me_ != 0 && !inside()) return;
    for (std::uint64_t child = first; child <= last && child < end_; ++child) f(child, std::uint64_t{0});
  }
  template <class F>
  void leaf(F& f) const {
    std::uint64_t partner = 0;
    if (inside()) partner = second_ ? me_ - shift_ : me_ + shift_;
    if (me_ == 0 && second_ && ranks_ % 2 == 0) partner = shift_;
    if (partner != 0 && partner < ranks_) f(partner, std::uint64_t{0});
  }

  std::uint64_t shift_;  // from a place of the first half to that of the same number in the second
  std::uint64_t begin_;  // the places of this tree's half
  std::uint64_t end_;
  bool second_;
};

}  // namespace

void bcast(const CollectiveCall& call, Emitter& out) { bcast_down_both<HalfTree>(call, out); }
void reduce(const CollectiveCall& call, Emitter& out) { reduce_up_both<HalfTree>(call, out); }

}  // namespace isthmus::collectives::split_binary
