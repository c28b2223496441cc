// Messages in segments along trees: segments follow each other, every rank passes one on while the next arrives.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "collectives/write/sums.hpp"
#include "collectives/write/trees.hpp"

namespace isthmus::collectives {

/// A part of a vector, in segments of equal size but the last. A part of 0 bytes is one segment.
class Segments {
 public:
  Segments(std::uint64_t offset, std::uint64_t bytes, std::uint64_t segment)
      : offset_(offset),
        bytes_(bytes),
        segment_(segment == 0 ? bytes : std::min(segment, bytes)),
        count_(bytes == 0 ? 1 : (bytes - 1) / segment_ + 1) {}
  /// The whole vector in segments as the call's options say.
  explicit Segments(const CollectiveCall& call) : Segments(0, call.bytes, call.options->segment) {}

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Size of all segments but the last.
  [[nodiscard]] std::uint64_t size() const { return segment_; }
  [[nodiscard]] std::uint64_t size(std::uint64_t i) const { return i + 1 < count_ ? segment_ : bytes_ - i * segment_; }
  [[nodiscard]] std::uint64_t offset(std::uint64_t i) const { return offset_ + i * segment_; }

 private:
  std::uint64_t offset_;
  std::uint64_t bytes_;
  std::uint64_t segment_;
  std::uint64_t count_;
};

/// Down a tree, from output to output. Two receives are posted at a time; a segment is sent on when it and all before
/// it are there, so that segments stay in order also where a short last one comes in before a long one.
template <class Tree>
class Downward {
 public:
  Downward(Emitter& out, const Tree& tree, const Segments& segments) : out_(out), tree_(tree), segments_(segments) {}

  /// Writes the operations of the next segment.
  void next() {
    const std::uint64_t bytes = segments_.size(at_);
    const Slice slice = at_output(segments_.offset(at_));
    if (tree_.me() == 0) {
      tree_.down([&](std::uint64_t child, std::uint64_t) { out_.send(tree_.rank(child), bytes, slice); });
      ++at_;
      return;
    }
    const std::uint32_t got = out_.recv(tree_.rank(tree_.parent()), bytes, slice);
    // Not after the one before, but after all earlier ones; of those the last two wait for the others.
    if (at_ > 1) out_.require(got, got_[1]);
    if (at_ > 2) out_.require(got, got_[2]);
    tree_.down([&](std::uint64_t child, std::uint64_t) {
      const std::uint32_t sent = out_.send(tree_.rank(child), bytes, slice);
      out_.require(sent, got);
      if (at_ > 0) out_.require(sent, got_[0]);
    });
    got_ = {got, got_[0], got_[1]};
    ++at_;
  }

 private:
  Emitter& out_;
  const Tree& tree_;
  Segments segments_;
  std::uint64_t at_ = 0;
  std::array<std::uint32_t, 3> got_{};  // the last receives, the latest first
};

/// Up a tree: sums grow as those of Sum, segment by segment and child by child. `window` receives are posted ahead of
/// the reductions, 0: all; each has its room.
template <class Tree>
class Upward {
 public:
  Upward(const CollectiveCall& call, Emitter& out, const Tree& tree, const Segments& segments, Slice room)
      : out_(out), tree_(tree), segments_(segments), sum_(call, tree.me() == 0), room_(room) {
    tree_.up([&](std::uint64_t, std::uint64_t) { ++children_; });
    direct_ = sum_.begun() ? 0 : 1;
    const std::uint64_t roomy = children_ > direct_ ? (children_ - direct_) * segments_.count() : 0;
    window_ = call.options->window == 0 ? roomy : std::min<std::uint64_t>(call.options->window, roomy);
    if (window_ < roomy) readers_.resize(window_);
  }
  /// Scratch for what comes in.
  [[nodiscard]] std::uint64_t room_bytes() const { return window_ * segments_.size(); }

  /// Writes the operations of the next segment.
  void next() {
    const std::uint64_t bytes = segments_.size(at_);
    const std::uint64_t offset = segments_.offset(at_);
    const Slice own = sum_.own() + offset;
    const Slice sum = sum_.sum() + offset;
    std::uint64_t child = 0;
    std::uint32_t last = 0;
    tree_.up([&](std::uint64_t place, std::uint64_t) {
      last = child < direct_ ? add(out_.recv(tree_.rank(place), bytes, sum), bytes, own, sum, !tree_.left(place))
                             : take(place, bytes, sum);
      ++child;
    });
    if (tree_.me() != 0) {
      const std::uint32_t sent = out_.send(tree_.rank(tree_.parent()), bytes, children_ == 0 ? own : sum);
      // Without bytes nothing is reduced: the receives, which have no order, are what to wait for.
      if (bytes == 0) {
        for (std::uint64_t i = 0; i < children_; ++i) out_.require(sent, last - static_cast<std::uint32_t>(i));
      } else if (children_ != 0) {
        out_.require(sent, last);
      }
    } else if (children_ == 0 && !sum_.begun() && bytes != 0) {
      out_.copy(bytes, own, sum);
    }
    ++at_;
  }

 private:
  /// Receives into the room that comes next, as soon as what was there has been added.
  std::uint32_t take(std::uint64_t place, std::uint64_t bytes, Slice sum) {
    const Slice room = room_ + slot_ * segments_.size();
    const std::uint32_t got = out_.recv(tree_.rank(place), bytes, room);
    if (taken_ >= window_ && bytes != 0) out_.require(got, readers_[slot_]);
    const std::uint32_t added = add(got, bytes, room, sum, tree_.left(place));
    if (!readers_.empty()) readers_[slot_] = added;
    ++taken_;
    if (++slot_ == window_) slot_ = 0;
    return added;
  }
  std::uint32_t add(std::uint32_t got, std::uint64_t bytes, Slice from, Slice to, bool first) {
    if (bytes == 0) return got;
    const std::uint32_t added = out_.reduce(bytes, from, to, first ? ReduceOrder::before : ReduceOrder::after);
    out_.require(added, got);
    if (adding_) out_.require(added, added_);
    adding_ = true;
    return added_ = added;
  }

  Emitter& out_;
  const Tree& tree_;
  Segments segments_;
  Sum sum_;
  Slice room_;
  std::uint64_t children_ = 0;
  std::uint64_t direct_ = 0;  // children whose segments go to the place of the sum
  std::uint64_t window_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t taken_ = 0;  // segments that have gone through rooms
  std::uint64_t slot_ = 0;
  bool adding_ = false;
  std::uint32_t added_ = 0;             // the last reduction so far
  std::vector<std::uint32_t> readers_;  // the last reduction out of each room; empty if every room is used once
};

/// The whole message down one tree.
template <class Tree>
void bcast_down(const CollectiveCall& call, Emitter& out, const Tree& tree) {
  const Segments segments(call);
  Downward<Tree> message(out, tree, segments);
  for (std::uint64_t i = 0; i < segments.count(); ++i) message.next();
}

/// The whole vectors up one tree.
template <class Tree>
void reduce_up(const CollectiveCall& call, Emitter& out, const Tree& tree) {
  const Segments segments(call);
  Upward<Tree> vectors(call, out, tree, segments, Sum(call, tree.me() == 0).room());
  for (std::uint64_t i = 0; i < segments.count(); ++i) vectors.next();
}

/// Nothing up the tree to rank 0 and down again.
template <class Tree>
void barrier_over(Emitter& out, const Tree& tree) {
  Rounds rounds(out);
  tree.up([&](std::uint64_t child, std::uint64_t) { rounds.recv(tree.rank(child), 0); });
  rounds.next();
  if (tree.me() != 0) {
    rounds.send(tree.rank(tree.parent()), 0);
    rounds.next();
    rounds.recv(tree.rank(tree.parent()), 0);
    rounds.next();
  }
  tree.down([&](std::uint64_t child, std::uint64_t) { rounds.send(tree.rank(child), 0); });
}

}  // namespace isthmus::collectives
