// Blocks of all ranks along trees whose subtrees are neighbouring places: gather and scatter.
#pragma once

#include "collectives/write/trees.hpp"

namespace isthmus::collectives {

/// Where the blocks of neighbouring places are in the root's buffer of all blocks. Of the root's subtrees at most one
/// holds both the last and the first rank: its blocks are apart, and pass through scratch.
class RootBlocks {
 public:
  RootBlocks(const CollectiveCall& call, Rank first, std::uint64_t count)
      : blocks_(call),
        first_(first),
        bytes_(blocks_.sum(first, count)),
        turned_(first + count > call.ranks),
        until_end_(turned_ ? blocks_.all() - blocks_.offset(first) : bytes_) {}
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Are there bytes on both sides?
  [[nodiscard]] bool apart() const { return turned_ && until_end_ != 0 && until_end_ != bytes_; }
  /// Bytes of the blocks up to the last rank's, and where they are.
  [[nodiscard]] std::uint64_t until_end() const { return until_end_; }
  [[nodiscard]] std::uint64_t offset() const { return until_end_ == 0 ? 0 : blocks_.offset(first_); }

 private:
  Blocks blocks_;
  Rank first_;
  std::uint64_t bytes_;
  bool turned_;
  std::uint64_t until_end_;
};

/// Every rank hands in the blocks of its subtree at once; those within the tree put their own before them in scratch.
template <class Tree>
void gather_up(const CollectiveCall& call, Emitter& out, const Tree& tree) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const std::uint64_t own = blocks(call.rank);
  const auto subtree = [&](std::uint64_t place, std::uint64_t span) { return blocks.sum(tree.rank(place), span); };
  if (tree.me() != 0) {
    const bool alone = tree.span() == 1;
    tree.up([&](std::uint64_t child, std::uint64_t span) {
      rounds.recv(tree.rank(child), subtree(child, span), at_scratch(subtree(tree.me(), child - tree.me())));
    });
    if (!alone) rounds.copy_too(own, at_input(), at_scratch());
    rounds.next();
    rounds.send(tree.rank(tree.parent()), subtree(tree.me(), tree.span()), alone ? at_input() : at_scratch());
    return;
  }
  tree.up([&](std::uint64_t child, std::uint64_t span) {
    const RootBlocks there(call, tree.rank(child), span);
    const auto got =
        out.recv(tree.rank(child), there.bytes(), there.apart() ? at_scratch() : at_output(there.offset()));
    if (!there.apart()) return;
    out.require(out.copy(there.until_end(), at_scratch(), at_output(there.offset())), got);
    out.require(out.copy(there.bytes() - there.until_end(), at_scratch(there.until_end()), at_output()), got);
  });
  if (!call.in_place && own != 0) out.copy(own, at_input(), at_output(blocks.offset(call.rank)));
}

/// Scatters blocks down the tree, the reverse of the gather above.
template <class Tree>
void scatter_down(const CollectiveCall& call, Emitter& out, const Tree& tree) {
  Rounds rounds(out);
  const Blocks blocks(call);
  const std::uint64_t own = blocks(call.rank);
  const auto subtree = [&](std::uint64_t place, std::uint64_t span) { return blocks.sum(tree.rank(place), span); };
  if (tree.me() != 0) {
    const bool alone = tree.span() == 1;
    rounds.recv(tree.rank(tree.parent()), subtree(tree.me(), tree.span()), alone ? at_output() : at_scratch());
    rounds.next();
    tree.down([&](std::uint64_t child, std::uint64_t span) {
      rounds.send(tree.rank(child), subtree(child, span), at_scratch(subtree(tree.me(), child - tree.me())));
    });
    if (!alone) rounds.copy_too(own, at_scratch(), at_output());
    return;
  }
  tree.down([&](std::uint64_t child, std::uint64_t span) {
    const RootBlocks there(call, tree.rank(child), span);
    if (!there.apart()) {
      out.send(tree.rank(child), there.bytes(), at_input(there.offset()));
      return;
    }
    const auto end = out.copy(there.until_end(), at_input(there.offset()), at_scratch());
    const auto begin = out.copy(there.bytes() - there.until_end(), at_input(), at_scratch(there.until_end()));
    const auto sent = out.send(tree.rank(child), there.bytes(), at_scratch());
    out.require(sent, end);
    out.require(sent, begin);
  });
  if (!call.in_place && own != 0) out.copy(own, at_input(blocks.offset(call.rank)), at_output());
}

}  // namespace isthmus::collectives
