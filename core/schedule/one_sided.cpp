#include "schedule/one_sided.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "schedule/builder.hpp"

namespace isthmus::schedule {
namespace {

constexpr std::uint64_t nobody = ~std::uint64_t{0};

struct End {
  Rank source, target;
  std::uint32_t comm, tag;
  std::uint64_t op;
  Rank rank;
  [[nodiscard]] auto channel() const { return std::tuple(source, target, comm, tag); }
};

/// How the messages of a schedule are replaced: all alike, or as each is marked.
class Flavours {
 public:
  Flavours(Flavour all, bool ask, bool tell) : all_(all), ask_(ask), tell_(tell) {}
  Flavours() = default;

  [[nodiscard]] bool replaced(const Operation& op) const { return (*this)(op) >= Flavour::put; }
  [[nodiscard]] Flavour operator()(const Operation& op) const { return all_.value_or(static_cast<Flavour>(op.mode)); }
  /// Does the sender of a put have to be told that the receiver's buffer is free?
  [[nodiscard]] bool asks(const Operation& recv) const {
    return (*this)(recv) == Flavour::put_asked || (all_.has_value() && recv.needs != 0);
  }
  /// Does the receiver who gets have to be told that the data are there?
  [[nodiscard]] bool announces(const Operation& send) const { return !all_.has_value() || ask_ || send.needs != 0; }
  /// Is everybody told of the end of an access?
  [[nodiscard]] bool tells() const { return tell_; }
  /// Has its communicator messages of several kinds, so that tags tell them apart?
  [[nodiscard]] bool in_threes(const Operation& op) const { return all_.has_value() || op.comm % 2 == 1; }

 private:
  std::optional<Flavour> all_;
  bool ask_ = true, tell_ = true;
};

/// For every send its receive and the other way round, by number in the schedule.
std::vector<std::uint64_t> partners(const Schedule& s, const Flavours& flavour) {
  std::vector<End> sends, recvs;
  for (Rank r = 0; r < s.ranks; ++r) {
    for (std::uint64_t i = s.op_first[r]; i < s.op_first[r + 1]; ++i) {
      const Operation& op = s.ops[i];
      if ((op.kind != OpKind::send && op.kind != OpKind::recv) || !flavour.replaced(op)) continue;
      require(op.peer != any_rank && op.tag != any_tag, "one-sided: rank ", r, ", operation ", i - s.op_first[r],
              " receives from any rank or with any tag, so its sender is not known");
      require(op.tag < any_tag / 3, "one-sided: tag ", op.tag, ": must be less than ", any_tag / 3);
      if (op.kind == OpKind::send) sends.push_back({r, op.peer, op.comm, op.tag, i, r});
      else recvs.push_back({op.peer, r, op.comm, op.tag, i, r});
    }
  }
  const auto by_channel = [](const End& a, const End& b) { return a.channel() < b.channel(); };
  std::ranges::stable_sort(sends, by_channel);
  std::ranges::stable_sort(recvs, by_channel);
  std::vector<std::uint64_t> partner(s.ops.size(), nobody);
  for (std::size_t k = 0; k < std::max(sends.size(), recvs.size()); ++k) {
    const bool one = k < sends.size() && (k >= recvs.size() || sends[k].channel() < recvs[k].channel());
    const bool other = k < recvs.size() && (k >= sends.size() || recvs[k].channel() < sends[k].channel());
    if (one || other) {
      const End& lonely = one ? sends[k] : recvs[k];
      throw InvalidInput(message("one-sided: rank ", lonely.rank, ", operation ", lonely.op - s.op_first[lonely.rank],
                                 ": no rank ", one ? "receives" : "sends", " its message"));
    }
    const Operation& from = s.ops[sends[k].op];
    const Operation& to = s.ops[recvs[k].op];
    require(from.amount == to.amount, "one-sided: rank ", sends[k].rank, " sends ", from.amount, " bytes to rank ",
            recvs[k].rank, ", which receives ", to.amount);
    partner[sends[k].op] = recvs[k].op;
    partner[recvs[k].op] = sends[k].op;
  }
  return partner;
}

class OneSided {
 public:
  OneSided(const Schedule& schedule, Flavours flavour)
      : s_(schedule), flavour_(flavour), partner_(partners(schedule, flavour)), begins_(), ends_() {}

  Schedule run() {
    ScheduleBuilder builder;
    for (Rank r = 0; r < s_.ranks; ++r) {
      if ((r & 0xFF) == 0) interruption_point();
      const std::span<const Operation> ops = s_.ops_of(r);
      begins_.assign(ops.size(), {});
      ends_.assign(ops.size(), 0);
      last_.clear();
      for (std::uint32_t i = 0; i < ops.size(); ++i) write(s_.op_first[r] + i, i, ops[i]);
      for (std::uint32_t i = 0; i < ops.size(); ++i) {
        for (const Edge edge : s_.dependants(r, i)) {
          for (const std::uint32_t begin : begins_[edge.to()]) {
            if (edge.on_start()) out_.require_start(begin, begins_[i].front());
            else out_.require(begin, ends_[i]);
          }
        }
      }
      builder.append(out_);
    }
    builder.set_buffers(s_.buffers);
    return builder.build();
  }

 private:
  enum Word : std::uint32_t { data = 0, ready = 1, finished = 2 };

  std::uint32_t add(Operation op, const Slices& slices) {
    op.first_edge = op.needs = 0;
    return s_.slices.empty() ? out_.add(op) : out_.add(op, slices);
  }
  /// Posts a message after those of its channel that stand before it: the k-th word is about the k-th data, whatever
  /// each waits for.
  std::uint32_t add_in_order(const Operation& op, const Slices& slices) {
    const std::uint32_t now = add(op, slices);
    const auto [last, first] = last_.try_emplace(std::tuple(op.kind, op.peer, op.comm, op.tag), now);
    if (!first) out_.require_start(now, std::exchange(last->second, now));
    return now;
  }
  /// A message of 0 bytes.
  std::uint32_t tell(const Operation& like, OpKind kind, Word word) {
    Operation op = like;
    op.kind = kind;
    op.amount = 0;
    op.mode = 0;
    op.tag = 3 * like.tag + word;
    return add_in_order(op, {});
  }
  /// Is the rank of a send or receive, which did not ask for the access, told that it has ended?
  [[nodiscard]] bool is_told(std::uint64_t at) const {
    if (flavour_.tells()) return true;
    const auto after = std::ranges::upper_bound(s_.op_first, at);
    const auto rank = static_cast<Rank>(after - s_.op_first.begin() - 1);
    return !s_.dependants(rank, static_cast<std::uint32_t>(at - s_.op_first[rank])).empty();
  }
  void write(std::uint64_t at, std::uint32_t i, const Operation& op) {
    const bool message = op.kind == OpKind::send || op.kind == OpKind::recv;
    const Slices slices = s_.slices.empty() ? Slices{} : s_.slices[at];
    const bool replaced = message && flavour_.replaced(op);
    if (!replaced || op.amount == 0) {
      Operation same = op;
      if (replaced) same.mode = 0;
      if (message && flavour_.in_threes(op)) same.tag = 3 * op.tag;
      ends_[i] = replaced ? add_in_order(same, slices) : add(same, slices);
      begins_[i] = {ends_[i]};
      return;
    }
    const bool puts = flavour_(op) != Flavour::get;
    const Slices there = s_.slices.empty() ? Slices{} : s_.slices[partner_[at]];
    Operation access = op;
    access.tag = 0;
    access.mode = 0;
    if (puts && op.kind == OpKind::send) {
      access.kind = OpKind::put;
      const bool wait = flavour_.asks(s_.ops[partner_[at]]);
      const std::uint32_t free = wait ? tell(op, OpKind::recv, ready) : 0;
      const std::uint32_t put = add(access, {slices.from, there.to});
      if (wait) out_.require(put, free);
      begins_[i] = wait ? std::vector{free, put} : std::vector{put};
      ends_[i] = put;
      if (is_told(partner_[at])) {
        ends_[i] = tell(op, OpKind::send, data);
        out_.require_start(ends_[i], put);
      }
    } else if (puts) {
      if (flavour_.asks(op)) begins_[i].push_back(tell(op, OpKind::send, ready));
      if (is_told(at)) begins_[i].push_back(ends_[i] = tell(op, OpKind::recv, data));
    } else if (op.kind == OpKind::send) {
      if (flavour_.announces(op)) begins_[i].push_back(ends_[i] = tell(op, OpKind::send, ready));
      if (is_told(at)) begins_[i].push_back(ends_[i] = tell(op, OpKind::recv, finished));
    } else {
      const bool wait = flavour_.announces(s_.ops[partner_[at]]);
      const std::uint32_t told = wait ? tell(op, OpKind::recv, ready) : 0;
      access.kind = OpKind::get;
      const std::uint32_t get = add(access, {there.from, slices.to});
      if (wait) out_.require(get, told);
      if (is_told(partner_[at])) out_.require(tell(op, OpKind::send, finished), get);
      begins_[i] = wait ? std::vector{told, get} : std::vector{get};
      ends_[i] = get;
    }
  }

  const Schedule& s_;
  Flavours flavour_;
  std::vector<std::uint64_t> partner_;
  RankBuilder out_;
  std::map<std::tuple<OpKind, Rank, std::uint32_t, std::uint32_t>, std::uint32_t> last_;  // of each channel
  std::vector<std::vector<std::uint32_t>> begins_;  // of an operation: what waits for what it waited for
  std::vector<std::uint32_t> ends_;                 // of an operation: when this is done, it is
};

}  // namespace

Schedule one_sided(const Schedule& schedule, Access access, bool ask, bool tell) {
  const Flavour all = access == Access::get ? Flavour::get : ask ? Flavour::put_asked : Flavour::put;
  return OneSided(schedule, Flavours(all, ask, tell)).run();
}

Schedule one_sided(const Schedule& lowered) { return OneSided(lowered, Flavours()).run(); }

}  // namespace isthmus::schedule
