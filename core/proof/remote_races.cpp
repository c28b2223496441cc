#include "proof/remote_races.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "proof/accesses.hpp"
#include "proof/local_order.hpp"
#include "schedule/builder.hpp"

namespace isthmus::proof {
namespace {

/// Begins and ends of all operations, and when the bytes of puts have landed, as one graph.
class Events {
 public:
  Events(const Schedule& schedule, const Pairs& pairs) : schedule_(schedule) {
    const std::uint64_t n = schedule.ops.size();
    require(3 * n <= max_rank_ops, "a schedule of ", n, " operations with puts or gets is too large for a proof");
    for (std::uint64_t i = 0; i < 2 * n; ++i) events_.add(Operation{});
    for (std::uint64_t i = 0; i < n; ++i) {
      if (schedule.ops[i].kind == OpKind::put) landed_[i] = events_.add(Operation{});
    }
    for (Rank r = 0; r < schedule.ranks; ++r) {
      for (std::uint32_t i = 0; i < schedule.ops_in(r); ++i) enter(r, i, pairs);
    }
    ScheduleBuilder builder;
    builder.append(events_);
    graph_ = builder.build();
    order_.load(graph_, 0);
  }

  /// The operations in an order in which each begins after what it waits for.
  [[nodiscard]] std::vector<std::uint64_t> begins() const {
    std::vector<std::uint64_t> out;
    for (const std::uint32_t event : order_.order()) {
      if (event < 2 * schedule_.ops.size() && event % 2 == 0) out.push_back(event / 2);
    }
    return out;
  }
  bool ordered(std::uint64_t a, std::uint64_t b) { return order_.done_before(over(a), begin(b)); }
  [[nodiscard]] bool surely(std::uint64_t a, std::uint64_t b) const {
    return order_.surely_done_before(over(a), begin(b));
  }

 private:
  static std::uint32_t begin(std::uint64_t op) { return static_cast<std::uint32_t>(2 * op); }
  static std::uint32_t end(std::uint64_t op) { return static_cast<std::uint32_t>(2 * op + 1); }
  /// When it no longer touches memory.
  [[nodiscard]] std::uint32_t over(std::uint64_t op) const {
    const auto put = landed_.find(op);
    return put == landed_.end() ? end(op) : put->second;
  }

  void enter(Rank rank, std::uint32_t index, const Pairs& pairs) {
    const std::uint64_t at = schedule_.op_first[rank] + index;
    const Operation& op = schedule_.ops[at];
    events_.require(end(at), begin(at));
    if (op.kind == OpKind::send) events_.require(end(receive(rank, index, pairs)), begin(at));
    if (op.kind == OpKind::put) {
      events_.require(over(at), begin(at));
      events_.require(end(at), over(at));
    }
    for (const Edge edge : schedule_.dependants(rank, index)) {
      const std::uint64_t next = schedule_.op_first[rank] + edge.to();
      events_.require(begin(next), edge.on_start() ? begin(at) : end(at));
      const Operation& after = schedule_.ops[next];
      if (op.kind == OpKind::put && after.kind == OpKind::send && after.peer == op.peer) {
        events_.require(end(next), over(at));
        events_.require(end(receive(rank, edge.to(), pairs)), over(at));
      }
    }
  }
  [[nodiscard]] std::uint64_t receive(Rank rank, std::uint32_t send, const Pairs& pairs) const {
    return schedule_.op_first[schedule_.ops_of(rank)[send].peer] + pairs.partner(rank, send);
  }

  const Schedule& schedule_;
  std::unordered_map<std::uint64_t, std::uint32_t> landed_;  // of puts
  RankBuilder events_;
  Schedule graph_;
  LocalOrder order_;
};

}  // namespace

bool is_one_sided(const Schedule& schedule) {
  return std::any_of(schedule.ops.begin(), schedule.ops.end(),
                     [](const Operation& op) { return op.kind == OpKind::put || op.kind == OpKind::get; });
}

void check_remote_races(const Schedule& schedule, const Pairs& pairs, Defects& defects) {
  Events events(schedule, pairs);
  const std::size_t names = schedule.buffers.names.size();
  std::vector<Accesses> buffers(names * schedule.ranks);
  for (std::size_t b = 0; b < buffers.size(); ++b) buffers[b].clear(schedule.buffers.bytes[b]);
  const auto text = [&](std::uint64_t at) {
    const auto after = std::upper_bound(schedule.op_first.begin(), schedule.op_first.end(), at);
    const auto rank = static_cast<Rank>(after - schedule.op_first.begin()) - 1;
    return operation_text(schedule, rank, static_cast<std::uint32_t>(at - schedule.op_first[rank]));
  };
  constexpr std::size_t most = 100;
  std::size_t found = 0;
  const auto ordered = [&](std::uint64_t a, std::uint64_t b) { return found >= most || events.ordered(a, b); };
  const auto surely = [&](std::uint64_t a, std::uint64_t b) { return events.surely(a, b); };
  for (const std::uint64_t at : events.begins()) {
    const Operation& op = schedule.ops[at];
    const auto rank = static_cast<Rank>(std::upper_bound(schedule.op_first.begin(), schedule.op_first.end(), at) -
                                        schedule.op_first.begin() - 1);
    const Slices& slices = schedule.slices[at];
    const auto enter = [&](Rank owner, std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes, bool writes) {
      const auto conflict = [&](std::uint64_t other, std::uint64_t begin, std::uint64_t end) {
        ++found;
        if (!defects.room()) return defects.count();
        const std::uint64_t first = std::max(begin, offset), last = std::min(end, offset + bytes);
        defects.add({DefectKind::race, rank, static_cast<std::uint32_t>(at - schedule.op_first[rank]),
                     message(text(at), ": it ", writes ? "writes " : "reads ",
                             bytes_text(schedule, buffer, first, last - first), " of rank ", owner, " while ",
                             text(other), " may use it: neither waits until the other is done")});
      };
      buffers[owner * names + buffer].add(at, offset, offset + bytes, writes, ordered, surely, conflict);
    };
    const auto access = [&](Rank owner, const Slice& slice, bool writes) {
      if (slice.buffer == Slice::none) return;
      each_block(slice, slices.block, op.amount,
                 [&](std::uint64_t offset, std::uint64_t bytes) { enter(owner, slice.buffer, offset, bytes, writes); });
    };
    switch (op.kind) {
      case OpKind::send: access(rank, slices.from, false); break;
      case OpKind::recv: access(rank, slices.to, true); break;
      case OpKind::put:
        access(rank, slices.from, false);
        access(op.peer, slices.to, true);
        break;
      case OpKind::get:
        access(op.peer, slices.from, false);
        access(rank, slices.to, true);
        break;
      case OpKind::copy:
      case OpKind::reduce:
        access(rank, slices.from, false);
        access(rank, slices.to, true);
        break;
      case OpKind::calc: break;
    }
  }
}

}  // namespace isthmus::proof
