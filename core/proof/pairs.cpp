#include "proof/pairs.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace isthmus::proof {
namespace {

bool is_wild(const Operation& op) { return op.kind == OpKind::recv && (op.peer == any_rank || op.tag == any_tag); }

}  // namespace

Pairs::Pairs(const Schedule& schedule) : schedule_(schedule), partner_(schedule.ops.size(), none) {
  first_.assign(std::size_t{schedule.ranks} + 1, 0);
  for (const Operation& op : schedule.ops) {
    if (op.kind == OpKind::send) ++first_[op.peer + std::size_t{1}];
  }
  for (std::size_t r = 0; r < schedule.ranks; ++r) first_[r + 1] += first_[r];
  next_.assign(first_.begin(), first_.end() - 1);
  sent_.resize(first_.back());
  for (Rank r = 0; r < schedule.ranks; ++r) {
    const auto ops = schedule.ops_of(r);
    if (std::any_of(ops.begin(), ops.end(), is_wild)) arrives_[r];
  }
  if (arrives_.empty()) return;
  for (Rank r = 0; r < schedule.ranks; ++r) {
    for (const Operation& op : schedule.ops_of(r)) {
      if (op.kind != OpKind::send) continue;
      const auto wild = arrives_.find(op.peer);
      if (wild != arrives_.end()) wild->second.push_back({op.comm, r, op.tag});
    }
  }
  for (auto& [rank, channels] : arrives_) {
    std::sort(channels.begin(), channels.end());
    channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
  }
}

Rank Pairs::peer(Rank rank, std::uint32_t op) const {
  const Rank named = schedule_.ops_of(rank)[op].peer;
  return named == any_rank ? sources_.at(schedule_.op_first[rank] + op) : named;
}

Pairs::Channel Pairs::resolved(Rank rank, std::uint32_t op, Channel channel) {
  const Channel* only = nullptr;
  for (const Channel& c : arrives_.at(rank)) {
    if (c.comm != channel.comm || (channel.peer != any_rank && c.peer != channel.peer) ||
        (channel.tag != any_tag && c.tag != channel.tag)) {
      continue;
    }
    if (only != nullptr) {
      throw Unsupported(message(operation_text(schedule_, rank, op), ": it may take messages of rank ", only->peer,
                                ", tag ", only->tag, " and of rank ", c.peer, ", tag ", c.tag,
                                "; which one comes first depends on time: to prove it, name the rank and the tag"));
    }
    only = &c;
  }
  if (only == nullptr) return channel;
  sources_[schedule_.op_first[rank] + op] = only->peer;
  return *only;
}

void Pairs::add(Rank rank, LocalOrder& order, Defects& defects) {
  const auto ops = schedule_.ops_of(rank);
  const auto collect = [&](OpKind kind) {
    sides_.clear();
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != kind) continue;
      Channel channel{ops[i].comm, ops[i].peer, ops[i].tag};
      if (is_wild(ops[i])) channel = resolved(rank, i, channel);
      sides_.push_back({channel, order.position(i), i});
    }
    std::sort(sides_.begin(), sides_.end());
    check_order(rank, order, defects);
  };
  collect(OpKind::send);
  for (const Side& side : sides_) {
    sent_[next_[side.channel.peer]++] = {{side.channel.comm, rank, side.channel.tag}, side.position, side.op};
  }
  collect(OpKind::recv);
  recvs_.insert(recvs_.end(), sides_.begin(), sides_.end());
  recv_first_.push_back(recvs_.size());
}

void Pairs::check_order(Rank rank, LocalOrder& order, Defects& defects) const {
  const auto ops = schedule_.ops_of(rank);
  for (std::size_t i = 1; i < sides_.size(); ++i) {
    const Side &a = sides_[i - 1], &b = sides_[i];
    if (a.channel != b.channel || posted_before(ops, order, a, b)) continue;
    if (!defects.room()) {
      defects.count();
      continue;
    }
    defects.add({DefectKind::timing, rank, b.op,
                 message(operation_text(schedule_, rank, b.op), ": it uses the same channel as operation ", a.op,
                         ", and which of the two is posted first depends on time, so their messages may be "
                         "swapped; give them different tags or a dependency")});
  }
}

bool Pairs::posted_before(std::span<const Operation> ops, LocalOrder& order, const Side& a, const Side& b) const {
  if (order.begins_before(a.op, b.op)) return true;
  // Ready no later, and first in the order of those that are ready at the same time, of the same stream.
  if (a.op > b.op || ops[a.op].cpu != ops[b.op].cpu) return false;
  for (const Edge edge : order.needs(a.op)) {
    const bool met = edge.on_start() ? order.begins_before(edge.to(), b.op) : order.done_before(edge.to(), b.op);
    if (!met) return false;
  }
  return true;
}

void Pairs::match(Defects& defects) {
  for (Rank target = 0; target < schedule_.ranks; ++target) {
    const auto begin = sent_.begin() + static_cast<std::ptrdiff_t>(first_[target]);
    const auto end = sent_.begin() + static_cast<std::ptrdiff_t>(first_[target + std::size_t{1}]);
    std::sort(begin, end);
    const std::span<const Side> sends{begin, end};
    const std::span<const Side> recvs{recvs_.data() + recv_first_[target],
                                      recvs_.data() + recv_first_[target + std::size_t{1}]};
    std::size_t s = 0, r = 0;
    while (s < sends.size() || r < recvs.size()) {
      const bool sent = r == recvs.size() || (s < sends.size() && sends[s].channel <= recvs[r].channel);
      const Channel channel = sent ? sends[s].channel : recvs[r].channel;
      const std::size_t s0 = s, r0 = r;
      while (s < sends.size() && sends[s].channel == channel) ++s;
      while (r < recvs.size() && recvs[r].channel == channel) ++r;
      const std::size_t both = std::min(s - s0, r - r0);
      for (std::size_t i = 0; i < both; ++i) meet(channel.peer, sends[s0 + i], target, recvs[r0 + i], defects);
      for (std::size_t i = s0 + both; i < s; ++i) lonely(channel.peer, sends[i], s - s0, r - r0, defects);
      for (std::size_t i = r0 + both; i < r; ++i) lonely(target, recvs[i], s - s0, r - r0, defects);
    }
  }
  sent_ = {};
  recvs_ = {};
}

void Pairs::meet(Rank source, const Side& send, Rank target, const Side& recv, Defects& defects) {
  ++messages_;
  partner_[schedule_.op_first[source] + send.op] = recv.op;
  partner_[schedule_.op_first[target] + recv.op] = send.op;
  const std::uint64_t sent = schedule_.ops_of(source)[send.op].amount;
  const std::uint64_t taken = schedule_.ops_of(target)[recv.op].amount;
  if (sent == taken) return;
  if (!defects.room()) return defects.count();
  defects.add(
      {DefectKind::size, target, recv.op,
       message(operation_text(schedule_, target, recv.op), ": it meets ", operation_text(schedule_, source, send.op),
               ": ", sent > taken ? "the message is truncated" : "the message is too short")});
}

void Pairs::lonely(Rank rank, const Side& side, std::size_t sends, std::size_t recvs, Defects& defects) const {
  if (!defects.room()) return defects.count();
  defects.add({DefectKind::unmatched, rank, side.op,
               message(operation_text(schedule_, rank, side.op), ": it has no other side: the channel has ", sends,
                       sends == 1 ? " send and " : " sends and ", recvs, recvs == 1 ? " receive" : " receives")});
}

}  // namespace isthmus::proof
