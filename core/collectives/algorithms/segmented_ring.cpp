#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/copy_list.hpp"
#include "collectives/write/even_split.hpp"

namespace isthmus::collectives {
namespace {

/// Parts of the vector go round the circle twice, as in the ring, but in segments: a segment is sent on as soon as it
/// is added, while the next is still on its way.
class SegmentedRing {
 public:
  SegmentedRing(const CollectiveCall& call, Emitter& out)
      : call_(call), out_(out), parts_(call.bytes, call.ranks), segment_(call.options->segment) {
    const std::uint64_t most = parts_(0);
    segments_ = segment_ == 0 || most == 0 ? 1 : (most - 1) / segment_ + 1;
    ready_.assign(segments_, no_operation);
    sums_.reserve((call.ranks - 1) * segments_);
  }

  void run() {
    for (std::uint64_t step = 1; step < call_.ranks; ++step) add(below(call_, step), below(call_, step + 1), step == 1);
    for (std::uint64_t step = 1; step < call_.ranks; ++step) gather(below(call_, step - 1), below(call_, step));
  }

 private:
  /// Shorter where the part ends, and nothing beyond.
  [[nodiscard]] std::uint64_t bytes(Rank part, std::uint64_t segment) const {
    if (segments_ == 1) return parts_(part);
    const std::uint64_t begin = std::min(segment * segment_, parts_(part));
    return std::min(segment_, parts_(part) - begin);
  }
  [[nodiscard]] std::uint64_t offset(Rank part, std::uint64_t segment) const {
    return parts_.offset(part) + std::min(segment * segment_, parts_(part));
  }

  /// Sends a segment when the operation that made it ready is done, and after those before it.
  std::uint32_t send(Rank part, std::uint64_t segment, Slice from) {
    const std::uint32_t op = out_.send(above(call_, 1), bytes(part, segment), from);
    if (ready_[segment] != no_operation) out_.require(op, ready_[segment]);
    if (last_send_ != no_operation) out_.require_start(op, last_send_);
    return last_send_ = op;
  }
  std::uint32_t recv(Rank part, std::uint64_t segment, Slice to) {
    const std::uint32_t op = out_.recv(below(call_, 1), bytes(part, segment), to);
    if (ready_[segment] != no_operation) out_.require(op, ready_[segment]);
    if (last_recv_ != no_operation) out_.require_start(op, last_recv_);
    return last_recv_ = op;
  }

  void add(Rank sent, Rank taken, bool first) {
    for (std::uint64_t s = 0; s < segments_; ++s) {
      const Slice vector = first && !call_.in_place ? at_input(offset(sent, s)) : at_output(offset(sent, s));
      sums_.push_back(send(sent, s, vector));
      const std::uint64_t at = offset(taken, s);
      const Slice room = call_.in_place ? at_scratch(at) : at_output(at);
      const std::uint32_t came = recv(taken, s, room);
      ready_[s] = came;
      if (bytes(taken, s) == 0) continue;
      ready_[s] = out_.reduce(bytes(taken, s), call_.in_place ? room : at_input(at), at_output(at));
      out_.require(ready_[s], came);
    }
  }

  void gather(Rank sent, Rank taken) {
    for (std::uint64_t s = 0; s < segments_; ++s) {
      send(sent, s, at_output(offset(sent, s)));
      ready_[s] = recv(taken, s, at_output(offset(taken, s)));
      // Parts come back in the order in which their sums have left.
      out_.require(ready_[s], sums_[back_++]);
    }
  }

  const CollectiveCall& call_;
  Emitter& out_;
  EvenSplit parts_;
  std::uint64_t segment_;
  std::uint64_t segments_;
  std::vector<std::uint32_t> ready_;  // by segment, what the next step waits for
  std::vector<std::uint32_t> sums_;   // the sends of the first half
  std::size_t back_ = 0;
  std::uint32_t last_send_ = no_operation;
  std::uint32_t last_recv_ = no_operation;
};

}  // namespace

void segmented_ring::allreduce(const CollectiveCall& call, Emitter& out) {
  if (call.ranks > 1) return SegmentedRing(call, out).run();
  if (!call.in_place && call.bytes != 0) out.copy(call.bytes, at_input(), at_output());
}

}  // namespace isthmus::collectives
