#include "schedule/two_sided.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "schedule/builder.hpp"

namespace isthmus::schedule {
namespace {

using Channel = std::tuple<Rank, Rank, std::uint32_t, std::uint32_t>;  // source, target, communicator, tag

constexpr std::uint32_t nobody = ~std::uint32_t{0};

/// A put or get that a rank serves.
struct Served {
  Rank target, origin;
  std::uint32_t op;
};

bool one_sided(const Operation& op) { return op.kind == OpKind::put || op.kind == OpKind::get; }

/// A message that arrives behind the bytes of a put: its receive, the put by its place among those that are served.
struct Behind {
  std::uint32_t recv;
  std::size_t served;
};

class TwoSidedWriter {
 public:
  explicit TwoSidedWriter(const Schedule& schedule) : s_(schedule), behind_(schedule.ranks) {
    std::uint32_t last = 0;
    for (Rank r = 0; r < s_.ranks; ++r) {
      const auto ops = s_.ops_of(r);
      for (std::uint32_t i = 0; i < ops.size(); ++i) {
        last = std::max(last, ops[i].comm);
        if (one_sided(ops[i])) served_.push_back({ops[i].peer, r, i});
      }
    }
    require(last < nobody - 3, "communicator ", last, ": puts and gets need three more");
    comm_ = last + 1;
    std::ranges::stable_sort(served_, {}, &Served::target);
    find_messages_behind();
  }

  TwoSided run() {
    TwoSided out;
    ScheduleBuilder builder;
    std::uint64_t first = 0;
    for (Rank r = 0; r < s_.ranks; ++r) {
      if ((r & 0xFF) == 0) interruption_point();
      write(r);
      for (std::size_t i = 0; i < begins_.size(); ++i) {
        out.begins.push_back(first + begins_[i]);
        out.ends.push_back(first + ends_[i]);
      }
      first += rank_.size();
      builder.append(rank_);
    }
    builder.set_buffers(s_.buffers);
    out.schedule = builder.build();
    return out;
  }

 private:
  enum Word : std::uint32_t { announced = 0, bytes = 1, over = 2 };

  /// Calls f(put, message) for every message of a rank to the target of a put that may leave when that has started.
  template <class F>
  void each_message_behind(Rank rank, const F& f) const {
    const auto ops = s_.ops_of(rank);
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::put) continue;
      for (const Edge edge : s_.dependants(rank, i)) {
        const Operation& next = ops[edge.to()];
        if (edge.on_start() && next.kind == OpKind::send && next.peer == ops[i].peer) f(i, edge.to());
      }
    }
  }

  /// The k-th send of a channel meets its k-th receive, unless a receive takes what comes.
  void find_messages_behind() {
    std::map<Channel, std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> channels;
    for (Rank r = 0; r < s_.ranks; ++r)
      each_message_behind(r, [&](std::uint32_t, std::uint32_t send) {
        const Operation& op = s_.ops_of(r)[send];
        channels[{r, op.peer, op.comm, op.tag}];
      });
    if (channels.empty()) return;
    std::set<std::pair<Rank, std::uint32_t>> any;
    for (Rank r = 0; r < s_.ranks; ++r) {
      const auto ops = s_.ops_of(r);
      for (std::uint32_t i = 0; i < ops.size(); ++i) {
        const Operation& op = ops[i];
        if (op.kind != OpKind::send && op.kind != OpKind::recv) continue;
        const bool sends = op.kind == OpKind::send;
        if (!sends && (op.peer == any_rank || op.tag == any_tag)) any.insert({r, op.comm});
        const auto found = channels.find({sends ? r : op.peer, sends ? op.peer : r, op.comm, op.tag});
        if (found != channels.end()) (sends ? found->second.first : found->second.second).push_back(i);
      }
    }
    for (Rank r = 0; r < s_.ranks; ++r)
      each_message_behind(r, [&](std::uint32_t put, std::uint32_t send) {
        const Operation& op = s_.ops_of(r)[send];
        const auto& [sends, recvs] = channels.at({r, op.peer, op.comm, op.tag});
        const auto k = static_cast<std::size_t>(std::ranges::lower_bound(sends, send) - sends.begin());
        if (k >= recvs.size() || any.contains({op.peer, op.comm})) held_back_.insert({r, put, send});
        else behind_[op.peer].push_back({recvs[k], place_of(op.peer, r, put)});
      });
  }
  [[nodiscard]] std::size_t place_of(Rank target, Rank origin, std::uint32_t op) const {
    const auto key = [](const Served& a) { return std::tuple(a.target, a.origin, a.op); };
    const Served wanted{target, origin, op};
    return static_cast<std::size_t>(std::ranges::lower_bound(served_, key(wanted), {}, key) - served_.begin());
  }

  std::uint32_t add(const Operation& op, const Slices& slices) {
    return s_.slices.empty() ? rank_.add(op) : rank_.add(op, slices);
  }
  /// One message of the access `op`, which has the number `number` on its rank.
  std::uint32_t tell(OpKind kind, Rank peer, const Operation& op, std::uint32_t number, Word word,
                     const Slices& there) {
    Operation out;
    out.kind = kind;
    out.peer = peer;
    out.amount = word == bytes ? op.amount : 0;
    out.comm = comm_ + word;
    out.tag = number;
    out.cpu = op.cpu;
    out.nic = op.nic;
    return add(out, there);
  }
  [[nodiscard]] Slices slices_of(Rank rank, std::uint32_t op) const {
    return s_.slices.empty() ? Slices{} : s_.slices[s_.op_first[rank] + op];
  }

  void write(Rank r) {
    const auto ops = s_.ops_of(r);
    begins_.clear();
    ends_.clear();
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const Operation& op = ops[i];
      const Slices slices = slices_of(r, i);
      if (one_sided(op)) {
        const bool puts = op.kind == OpKind::put;
        begins_.push_back(tell(OpKind::send, op.peer, op, i, announced, {}));
        const std::uint32_t moves = puts ? tell(OpKind::send, op.peer, op, i, bytes, {slices.from, {}})
                                         : tell(OpKind::recv, op.peer, op, i, bytes, {{}, slices.to});
        ends_.push_back(tell(OpKind::recv, op.peer, op, i, over, {}));
        rank_.require_start(moves, begins_.back());
        rank_.require(ends_.back(), moves);
      } else {
        Operation same = op;
        same.first_edge = same.needs = 0;
        begins_.push_back(add(same, slices));
        ends_.push_back(begins_.back());
      }
      if (ends_.back() != begins_.back()) rank_.require_start(ends_.back(), begins_.back());
    }
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      for (const Edge edge : s_.dependants(r, i)) {
        if (edge.on_start()) rank_.require_start(begins_[edge.to()], begins_[i]);
        else rank_.require(begins_[edge.to()], ends_[i]);
      }
    }
    // Who knows that such a message has been sent knows that the bytes are there.
    each_message_behind(r, [&](std::uint32_t put, std::uint32_t send) {
      if (held_back_.contains({r, put, send})) rank_.require(begins_[send], ends_[put]);
      else after(r, send, ends_[put]);
    });
    serve(r);
  }

  /// What waits for the end of an operation waits for another one, too.
  void after(Rank r, std::uint32_t op, std::uint32_t too) {
    for (const Edge edge : s_.dependants(r, op))
      if (!edge.on_start()) rank_.require(begins_[edge.to()], too);
  }

  void serve(Rank r) {
    const auto [begin, end] = std::ranges::equal_range(served_, r, {}, &Served::target);
    std::vector<std::uint32_t> places;  // where the bytes of each are moved
    for (auto it = begin; it != end; ++it) {
      const Operation& op = s_.ops_of(it->origin)[it->op];
      const Slices slices = slices_of(it->origin, it->op);
      // Not before it is announced: what the rank does with these bytes until then is its own.
      const std::uint32_t told = tell(OpKind::recv, it->origin, op, it->op, announced, {});
      const std::uint32_t moves = op.kind == OpKind::put
                                      ? tell(OpKind::recv, it->origin, op, it->op, bytes, {{}, slices.to})
                                      : tell(OpKind::send, it->origin, op, it->op, bytes, {slices.from, {}});
      rank_.require(moves, told);
      rank_.require(tell(OpKind::send, it->origin, op, it->op, over, {}), moves);
      places.push_back(moves);
    }
    const auto here = static_cast<std::size_t>(begin - served_.begin());
    for (const Behind& message : behind_[r]) after(r, message.recv, places[message.served - here]);
  }

  const Schedule& s_;
  std::uint32_t comm_ = 0;
  std::vector<Served> served_;                                          // by target, then origin, then operation
  std::vector<std::vector<Behind>> behind_;                             // of every target
  std::set<std::tuple<Rank, std::uint32_t, std::uint32_t>> held_back_;  // rank, put, message whose receive is not known
  RankBuilder rank_;
  std::vector<std::uint32_t> begins_, ends_;  // of each operation of the rank
};

}  // namespace

TwoSided two_sided(const Schedule& schedule) { return TwoSidedWriter(schedule).run(); }

}  // namespace isthmus::schedule
