#include <array>
#include <bit>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/copy_list.hpp"
#include "collectives/write/double_tree.hpp"
#include "collectives/write/two_trees.hpp"

namespace isthmus::collectives {
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
    Ready ready;
    std::uint32_t last = no_operation;
    tree_.up([&](std::uint64_t child, std::uint64_t) {
      const Slice into = begun ? at_scratch(room) : sum;
      const std::uint32_t got = ready.ops[ready.count++] = channels_.recv(tree_.rank(child), bytes, into);
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
    if (last != no_operation) ready = {{last}, 1};
    if (tree_.me() != 0) {
      const std::uint32_t sent = channels_.send(tree_.rank(tree_.parent()), bytes, begun ? sum : at_input(offset));
      after(sent, ready);
      ready = {{sent}, 1};
    }
    sums_.push_back(ready);
  }

  /// Takes the result of a segment from the parent and hands it to the children.
  void down(std::uint64_t segment) {
    const std::uint64_t bytes = segments_.size(segment);
    const Slice result = at_output(segments_.offset(segment));
    Ready ready = sums_[segment];
    if (tree_.me() != 0) {
      const std::uint32_t got = channels_.recv(tree_.rank(tree_.parent()), bytes, result);
      after(got, ready);
      ready = {{got}, 1};
    }
    tree_.down(
        [&](std::uint64_t child, std::uint64_t) { after(channels_.send(tree_.rank(child), bytes, result), ready); });
  }
  [[nodiscard]] std::uint64_t count() const { return segments_.count(); }

 private:
  /// What is to be waited for: one or two operations.
  struct Ready {
    std::array<std::uint32_t, 2> ops{};
    std::uint32_t count = 0;
  };
  void after(std::uint32_t op, const Ready& ready) {
    for (std::uint32_t i = 0; i < ready.count; ++i) out_.require(op, ready.ops[i]);
  }

  const CollectiveCall& call_;
  Emitter& out_;
  Channels& channels_;
  InorderTree tree_;
  Segments segments_;
  std::vector<Ready> sums_;  // by segment: after what the result may come
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

}  // namespace isthmus::collectives
