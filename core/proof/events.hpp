// What happens in an execution of a schedule on all ranks, and what is known to come before what.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "proof/local_order.hpp"
#include "proof/pairs.hpp"
#include "schedule/builder.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

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

  [[nodiscard]] std::uint64_t count() const { return graph_.ops.size(); }
  /// Events in an order in which each comes after those that it waits for.
  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_.order(); }
  [[nodiscard]] std::span<const Edge> after(std::uint32_t event) const { return graph_.dependants(0, event); }
  static std::uint32_t begin(std::uint64_t op) { return static_cast<std::uint32_t>(2 * op); }
  static std::uint32_t end(std::uint64_t op) { return static_cast<std::uint32_t>(2 * op + 1); }
  /// When it no longer touches memory.
  [[nodiscard]] std::uint32_t over(std::uint64_t op) const {
    const auto put = landed_.find(op);
    return put == landed_.end() ? end(op) : put->second;
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

}  // namespace isthmus::proof
