#include "schedule/handshakes.hpp"

#include <algorithm>
#include <compare>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "schedule/builder.hpp"

namespace isthmus::schedule {
namespace {

/// A send to a rank, or a receive of it that names its source.
struct End {
  Rank to, from;
  std::uint32_t comm, tag;
  std::uint64_t op;  ///< of the whole schedule

  [[nodiscard]] auto key() const { return std::tie(to, from, comm, tag); }
  auto operator<=>(const End&) const = default;
};

class Handshakes {
 public:
  Handshakes(const Schedule& schedule, std::span<const std::uint32_t> node, std::uint64_t largest_eager,
             std::uint64_t queue)
      : s_(schedule), node_(node), largest_eager_(largest_eager), queue_(queue), large_(schedule.ops.size()) {
    require(node.empty() || node.size() == schedule.ranks, "with_handshakes: ", node.size(), " nodes for ",
            schedule.ranks, " ranks; one for each is needed");
    std::uint32_t comms = 0;
    for (const Operation& op : s_.ops) comms = std::max(comms, op.comm);
    // Requests and answers of a communicator have one of their own each.
    require(comms < (1U << 30), "with_handshakes: communicators up to ", 1U << 30, " are allowed");
    first_comm_ = comms + 1;
    pair_up();
  }

  Schedule build() {
    ScheduleBuilder builder;
    RankBuilder rank;
    for (Rank r = 0; r < s_.ranks; ++r) {
      if ((r & 0xFF) == 0) interruption_point();
      write(r, rank);
      builder.append(rank);
    }
    return builder.build();
  }

 private:
  [[nodiscard]] bool is_large(Rank from, const Operation& send) const {
    if (node_.empty() ? from == send.peer : node_[from] == node_[send.peer]) return false;
    return send.mode == static_cast<std::uint8_t>(Protocol::rendezvous) ||
           (send.mode == static_cast<std::uint8_t>(Protocol::by_size) && send.amount > largest_eager_);
  }

  /// Marks large sends and the receives that take them: the n-th of a source, target, tag and communicator each.
  void pair_up() {
    std::vector<char> wild(s_.ranks), target(s_.ranks);
    for (Rank r = 0; r < s_.ranks; ++r) {
      for (const Operation& op : s_.ops_of(r)) {
        if (op.kind == OpKind::recv) wild[r] |= op.peer == any_rank || op.tag == any_tag;
        if (op.kind == OpKind::send) target[op.peer] |= is_large(r, op);
      }
    }
    std::vector<End> sends, recvs;
    for (Rank r = 0; r < s_.ranks; ++r) {
      for (std::uint64_t i = s_.op_first[r]; i < s_.op_first[r + 1]; ++i) {
        const Operation& op = s_.ops[i];
        if (op.kind == OpKind::send && target[op.peer] && !wild[op.peer])
          sends.push_back({op.peer, r, op.comm, op.tag, i});
        if (op.kind == OpKind::recv && target[r] && !wild[r]) recvs.push_back({r, op.peer, op.comm, op.tag, i});
      }
    }
    std::sort(sends.begin(), sends.end());
    std::sort(recvs.begin(), recvs.end());
    std::size_t at = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (const End& send : sends) {
      while (at < recvs.size() && recvs[at].key() < send.key()) ++at;
      require(at < recvs.size() && recvs[at].key() == send.key(), "with_handshakes: rank ", send.to,
              " has no receive for a message of tag ", send.tag, " from rank ", send.from);
      if (is_large(send.from, s_.ops[send.op])) {
        large_[send.op] = large_[recvs[at].op] = 1;
        pairs.emplace_back(send.op, recvs[at].op);
      }
      ++at;
    }
    share_out(sends, pairs);
  }

  /// In how many parts each large message goes: of two thirds of the queue. What comes while one is on its way waits
  /// for what is left of it, half of it on average, and for the next, which has asked before. In an exchange with one
  /// rank the answer takes the way of the data and waits for the whole message.
  void share_out(std::span<const End> sends, std::span<const std::pair<std::uint64_t, std::uint64_t>> pairs) {
    parts_.assign(large_.size(), 1);
    std::size_t next = 0;
    for (const End& send : sends) {
      if (next == pairs.size() || pairs[next].first != send.op) continue;
      const auto [from, to] = pairs[next++];
      const std::uint64_t bytes = s_.ops[from].amount;
      if (bytes <= queue_ || in_exchange(send)) continue;
      const std::uint64_t part = std::max<std::uint64_t>(2 * (queue_ / 3), 1);
      parts_[from] = parts_[to] = (bytes - 1) / part + 1;
    }
  }

  void write(Rank r, RankBuilder& out) {
    const std::span<const Operation> ops = s_.ops_of(r);
    const std::span<const char> large = std::span(large_).subspan(s_.op_first[r], ops.size());
    for (auto* each : {&first_, &started_, &last_}) each->resize(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      write_one(ops, i, large[i], in_exchange(ops, large, i), parts_[s_.op_first[r] + i], out);
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const bool sends = ops[i].kind == OpKind::send;
      for (const Edge edge : s_.dependants(r, static_cast<std::uint32_t>(i))) {
        const std::uint32_t to = edge.to();
        // A send has started when its request has; a receive is posted with that of its request.
        const std::uint32_t started = sends ? started_[i] : last_[i];
        link(out, first_[to], edge.on_start() ? started : last_[i], edge.on_start());
        if (ops[to].kind == OpKind::recv && first_[to] != last_[to])
          link(out, last_[to], edge.on_start() ? started : last_[i], edge.on_start());
      }
    }
  }

  /// One operation with its request and answer. In an exchange with one rank the answer goes before the request if both
  /// can go, as libraries post receives first: the request then waits for two turns, of which the partner's request
  /// takes the second at the latest.
  void write_one(std::span<const Operation> ops, std::size_t i, bool large, bool exchanges, std::uint64_t parts,
                 RankBuilder& out) {
    Operation op = ops[i];
    op.needs = op.first_edge = 0;
    first_[i] = started_[i] = out.size();
    if (large) {
      Operation request = op, answer = op;
      const bool sends = op.kind == OpKind::send;
      request.amount = answer.amount = 1;
      request.comm = first_comm_ + 2 * op.comm;
      answer.comm = request.comm + 1;
      answer.kind = sends ? OpKind::recv : OpKind::send;
      (sends ? request : answer).mode = static_cast<std::uint8_t>(Protocol::eager);
      (sends ? answer : request).mode = 0;
      if (exchanges) {
        const std::uint32_t first = out.add(Operation{}), second = out.add(Operation{});
        out.require(second, first);
        out.require(second + 1, second);
      }
      const std::uint32_t asked = out.add(request), told = out.add(answer);
      out.require(told, asked);
      if (sends) {
        started_[i] = asked;
        op.mode = static_cast<std::uint8_t>(Protocol::eager);
      }
      const std::uint64_t bytes = op.amount;
      for (std::uint64_t part = 0; part < parts; ++part) {
        op.amount = bytes / parts + (part < bytes % parts);
        const std::uint32_t added = out.add(op);
        if (part > 0) out.require(added, added - 1);
        else if (sends || parts > 1) out.require(added, told);  // parts of one message before those of the next
      }
    } else {
      out.add(op);
    }
    last_[i] = out.size() - 1;
  }

  [[nodiscard]] bool in_exchange(const End& send) const {
    const std::span<const Operation> ops = s_.ops_of(send.from);
    const std::uint64_t first = s_.op_first[send.from];
    return in_exchange(ops, std::span(large_).subspan(first, ops.size()), send.op - first);
  }

  /// Is this a large send beside a large receive from the same rank?
  static bool in_exchange(std::span<const Operation> ops, std::span<const char> large, std::size_t i) {
    return exchange(ops, large, i, i + 1) || (i > 0 && exchange(ops, large, i, i - 1));
  }

  /// Are these a large send to a rank and a large receive from it?
  static bool exchange(std::span<const Operation> ops, std::span<const char> large, std::size_t send,
                       std::size_t receive) {
    return receive < ops.size() && large[send] && large[receive] && ops[send].kind == OpKind::send &&
           ops[receive].kind == OpKind::recv && ops[send].peer == ops[receive].peer;
  }

  static void link(RankBuilder& out, std::uint32_t op, std::uint32_t on, bool on_start) {
    if (on_start) out.require_start(op, on);
    else out.require(op, on);
  }

  const Schedule& s_;
  std::span<const std::uint32_t> node_;
  std::uint64_t largest_eager_, queue_;
  std::vector<char> large_;           // of every operation
  std::vector<std::uint64_t> parts_;  // of every operation: in how many messages it goes
  std::uint32_t first_comm_ = 0;
  std::vector<std::uint32_t> first_, started_, last_;  // of a rank's operations in the result
};

}  // namespace

Schedule with_handshakes(const Schedule& schedule, std::span<const std::uint32_t> node, std::uint64_t largest_eager,
                         std::uint64_t queue) {
  return Handshakes(schedule, node, largest_eager, queue).build();
}

}  // namespace isthmus::schedule
