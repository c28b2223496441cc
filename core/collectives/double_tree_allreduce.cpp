#include <bit>

#include "collectives/algorithms.hpp"
#include "collectives/double_tree.hpp"
#include "collectives/pieces.hpp"
#include "collectives/two_trees.hpp"

namespace isthmus {
namespace {

/// What two ranks send each other in both trees, up and down, is in one order on both sides: each message is begun
/// after the one before.
class Channels {
 public:
  explicit Channels(Emitter& out) : out_(out) {}
  std::uint32_t send(Rank to, std::uint64_t bytes, Slice from) {
    const std::uint32_t op = out_.send(to, bytes, from);
    follow(op, of(to).sent);
    return op;
  }
  std::uint32_t recv(Rank from, std::uint64_t bytes, Slice to) {
    const std::uint32_t op = out_.recv(from, bytes, to);
    follow(op, of(from).taken);
    return op;
  }

 private:
  struct Channel {
    Rank peer;
    std::uint32_t sent = no_operation;
    std::uint32_t taken = no_operation;
  };
  Channel& of(Rank peer) {
    for (Channel& channel : channels_) {
      if (channel.peer == peer) return channel;
    }
    return channels_.emplace_back(Channel{peer});
  }
  void follow(std::uint32_t op, std::uint32_t& last) {
    if (last != no_operation) out_.require_start(op, last);
    last = op;
  }

  Emitter& out_;
  std::vector<Channel> channels_;  // at most six
};

/// One half of the vector in one of the trees, segment by segment.
class HalfTree {
 public:
  HalfTree(const CollectiveCall& call, Emitter& out, Channels& channels, bool second, const Segments& segments)
      : call_(call), out_(out), channels_(channels), tree_(call, 0, second), segments_(segments) {}

  /// Takes a segment from the children, adds it and hands it to the parent.
  void up(std::uint64_t segment) {
    const std::uint64_t bytes = segments_.size(segment);
    const std::uint64_t offset = segments_.offset(segment);
    const Slice sum = at_output(offset);
    bool begun = call_.in_place;
    std::uint64_t room = offset;
    std::uint32_t came[2] = {no_operation, no_operation};
    std::size_t children = 0;
    std::uint32_t last = no_operation;
    tree_.up([&](std::uint64_t child, std::uint64_t) {
      const Slice into = begun ? at_scratch(room) : sum;
      const std::uint32_t got = came[children++] = channels_.recv(tree_.rank(child), bytes, into);
      if (bytes != 0) {
        const bool before = tree_.left(child) == begun;
        const std::uint32_t added =
            out_.reduce(bytes, begun ? into : at_input(offset), sum, before ? ReduceOrder::before : ReduceOrder::after);
        out_.require(added, got);
        if (last != no_operation) out_.require(added, last);
        last = added;
      }
      if (begun) room += call_.bytes;
      begun = true;
    });
    // Without bytes nothing is added: the messages themselves are what to wait for.
    if (last != no_operation) came[0] = last;
    done_.assign(came, came + (last != no_operation ? 1 : children));
    if (tree_.me() == 0) {
      sums_.push_back(done_);
      return;
    }
    const std::uint32_t sent = channels_.send(tree_.rank(tree_.parent()), bytes, begun ? sum : at_input(offset));
    for (const std::uint32_t op : done_) out_.require(sent, op);
    sums_.push_back({sent});
  }

  /// Takes the result of a segment from the parent and hands it to the children.
  void down(std::uint64_t segment) {
    const std::uint64_t bytes = segments_.size(segment);
    const Slice result = at_output(segments_.offset(segment));
    std::vector<std::uint32_t> ready = sums_[segment];
    if (tree_.me() != 0) {
      const std::uint32_t got = channels_.recv(tree_.rank(tree_.parent()), bytes, result);
      for (const std::uint32_t op : ready) out_.require(got, op);
      ready.assign(1, got);
    }
    tree_.down([&](std::uint64_t child, std::uint64_t) {
      const std::uint32_t sent = channels_.send(tree_.rank(child), bytes, result);
      for (const std::uint32_t op : ready) out_.require(sent, op);
    });
  }
  [[nodiscard]] std::uint64_t count() const { return segments_.count(); }

 private:
  const CollectiveCall& call_;
  Emitter& out_;
  Channels& channels_;
  InorderTree tree_;
  Segments segments_;
  std::vector<std::uint32_t> done_;
  std::vector<std::vector<std::uint32_t>> sums_;  // by segment: after what the result may come
};

}  // namespace

void double_tree::allreduce(const CollectiveCall& call, Emitter& out) {
  if (call.ranks == 1) {
    if (!call.in_place && call.bytes != 0) out.copy(call.bytes, at_input(), at_output());
    return;
  }
  Channels channels(out);
  const Halves halves(call);
  HalfTree trees[] = {{call, out, channels, false, halves.first}, {call, out, channels, true, halves.second}};
  // A segment comes back when it may have been to the root: meanwhile as many others go up as the trees have levels.
  const std::uint64_t levels = static_cast<std::uint64_t>(std::bit_width(call.ranks));
  for (std::uint64_t time = 0; time < halves.first.count() + levels; ++time) {
    for (HalfTree& tree : trees) {
      if (time < tree.count()) tree.up(time);
    }
    for (HalfTree& tree : trees) {
      if (time >= levels && time - levels < tree.count()) tree.down(time - levels);
    }
  }
}

}  // namespace isthmus
