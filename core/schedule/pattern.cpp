#include "schedule/pattern.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/interruption.hpp"

namespace isthmus::schedule {
namespace {

/// Adds up the transfers of one source after another. One slot per rank, because most sources have few partners, and
/// clearing those alone costs nothing.
class Merger {
 public:
  explicit Merger(Rank ranks) : slots_(ranks) { out_.ranks = ranks; }

  void add(Rank target, std::uint64_t bytes, std::uint64_t messages) {
    Slot& slot = slots_[target];
    if (!slot.used) {
      slot.used = true;
      targets_.push_back(target);
    }
    slot.bytes += bytes;
    slot.messages += messages;
  }

  /// The source is complete, the next one begins.
  void next() {
    std::sort(targets_.begin(), targets_.end());
    for (const Rank target : targets_) {
      const Slot slot = std::exchange(slots_[target], Slot{});
      out_.peer.push_back(target);
      out_.bytes.push_back(slot.bytes);
      out_.messages.push_back(slot.messages);
    }
    targets_.clear();
    out_.first.push_back(out_.peer.size());
  }

  Pattern take() { return std::move(out_); }

 private:
  struct Slot {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
    bool used = false;
  };
  Pattern out_;
  std::vector<Slot> slots_;
  std::vector<Rank> targets_;
};

/// Calls body(rank, operation) for every get, whose bytes leave its peer.
template <class Body>
void for_each_get(const Schedule& schedule, Body body) {
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    for (const Operation& op : schedule.ops_of(r)) {
      if (op.kind == OpKind::get) body(r, op);
    }
  }
}

}  // namespace

Pattern pattern_of(const Schedule& schedule) {
  struct Get {
    Rank target;
    std::uint64_t bytes;
  };
  // Gets by the rank that their bytes leave: counted, then put into their places.
  std::vector<std::uint64_t> get_first(std::size_t{schedule.ranks} + 1);
  for_each_get(schedule, [&](Rank, const Operation& op) { ++get_first[op.peer + 1]; });
  std::partial_sum(get_first.begin(), get_first.end(), get_first.begin());
  std::vector<Get> gets(get_first.back());
  std::vector<std::uint64_t> next(get_first.begin(), get_first.end() - 1);
  for_each_get(schedule, [&](Rank r, const Operation& op) { gets[next[op.peer]++] = {r, op.amount}; });

  Merger merger(schedule.ranks);
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    for (const Operation& op : schedule.ops_of(r)) {
      if (op.kind == OpKind::send || op.kind == OpKind::put) merger.add(op.peer, op.amount, 1);
    }
    for (std::uint64_t i = get_first[r]; i < get_first[r + 1]; ++i) merger.add(gets[i].target, gets[i].bytes, 1);
    merger.next();
  }
  return merger.take();
}

Pattern pattern_of(Rank ranks, std::span<const Rank> source, std::span<const Rank> target,
                   const Column<std::uint64_t>& bytes, const Column<std::uint64_t>& messages) {
  require(source.size() == target.size(), "transfers have a source and a target each: got ", source.size(), " and ",
          target.size());
  const RankOrder sorted = order_by_rank(ranks, source);
  Merger merger(ranks);
  for (Rank r = 0; r < ranks; ++r) {
    for (std::uint64_t i = sorted.first[r]; i < sorted.first[r + 1]; ++i) {
      const auto at = static_cast<std::size_t>(sorted.order[i]);
      require(target[at] < ranks, "transfer ", at, " leads to rank ", target[at], ", but there are ", ranks, " ranks");
      merger.add(target[at], bytes[at], messages[at]);
    }
    merger.next();
  }
  return merger.take();
}

std::vector<double> load_of(const Schedule& schedule) {
  std::vector<double> load(schedule.ranks);
  for (Rank r = 0; r < schedule.ranks; ++r) {
    for (const Operation& op : schedule.ops_of(r)) {
      if (op.kind == OpKind::calc) load[r] += static_cast<double>(op.amount);
    }
  }
  return load;
}

}  // namespace isthmus::schedule
