#include "untimed.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <set>

namespace isthmus::test {
namespace {

class Executor {
 public:
  Executor(const Schedule& schedule, bool eager, std::uint64_t seed)
      : s_(schedule),
        eager_(eager),
        random_(seed),
        needs_(s_.ops.size()),
        ready_(s_.ranks),
        posted_(s_.ranks),
        unexpected_(s_.ranks),
        rank_(s_.ops.size()) {
    run_.left = s_.ops.size();
    run_.knows.resize(s_.ops.size());
    run_.depth.resize(s_.ops.size());
    run_.partner.assign(s_.ops.size(), -1);
    for (Rank r = 0; r < s_.ranks; ++r) {
      for (std::uint64_t op = s_.op_first[r]; op < s_.op_first[r + 1]; ++op) {
        rank_[op] = r;
        needs_[op] = s_.ops[op].needs;
        run_.knows[op] = std::uint64_t{1} << (r % 64);
        if (needs_[op] == 0) ready_[r].insert(op);
      }
    }
  }

  Run run() {
    std::vector<Rank> able;
    while (true) {
      able.clear();
      for (Rank r = 0; r < s_.ranks; ++r) {
        if (!ready_[r].empty()) able.push_back(r);
      }
      if (able.empty()) return run_;
      auto& ready = ready_[able[random_() % able.size()]];
      const std::uint64_t op = *ready.begin();
      ready.erase(ready.begin());
      start(op);
    }
  }

 private:
  void release(std::uint64_t op, bool on_start) {
    const Rank r = rank_[op];
    for (const Edge& edge : s_.dependants(r, static_cast<std::uint32_t>(op - s_.op_first[r]))) {
      if (edge.on_start() != on_start) continue;
      const std::uint64_t to = s_.op_first[r] + edge.to();
      hear(to, op, 0);
      if (--needs_[to] == 0) ready_[r].insert(to);
    }
  }
  void hear(std::uint64_t op, std::uint64_t from, std::uint32_t messages) {
    run_.knows[op] |= run_.knows[from];
    run_.depth[op] = std::max(run_.depth[op], run_.depth[from] + messages);
  }
  void done(std::uint64_t op) {
    --run_.left;
    release(op, false);
  }
  bool matches(std::uint64_t send, std::uint64_t recv) const {
    const Operation& a = s_.ops[send];
    const Operation& b = s_.ops[recv];
    return a.comm == b.comm && (b.peer == any_rank || b.peer == rank_[send]) && (b.tag == any_tag || b.tag == a.tag);
  }
  void match(std::uint64_t send, std::uint64_t recv) {
    run_.partner[send] = static_cast<std::int64_t>(recv);
    run_.partner[recv] = static_cast<std::int64_t>(send);
    hear(recv, send, 1);
    if (!eager_) done(send);
    done(recv);
  }
  void start(std::uint64_t op) {
    release(op, true);
    const Operation& o = s_.ops[op];
    if (o.kind == OpKind::send) {
      if (eager_) done(op);
      auto& posted = posted_[o.peer];
      const auto at = std::ranges::find_if(posted, [&](std::uint64_t recv) { return matches(op, recv); });
      if (at == posted.end()) {
        unexpected_[o.peer].push_back(op);
        return;
      }
      const std::uint64_t recv = *at;
      posted.erase(at);
      match(op, recv);
    } else if (o.kind == OpKind::recv) {
      auto& unexpected = unexpected_[rank_[op]];
      const auto at = std::ranges::find_if(unexpected, [&](std::uint64_t send) { return matches(send, op); });
      if (at == unexpected.end()) {
        posted_[rank_[op]].push_back(op);
        return;
      }
      const std::uint64_t send = *at;
      unexpected.erase(at);
      match(send, op);
    } else {
      done(op);
    }
  }

  const Schedule& s_;
  bool eager_;
  std::mt19937_64 random_;
  Run run_;
  std::vector<std::uint32_t> needs_;
  std::vector<std::set<std::uint64_t>> ready_;
  std::vector<std::deque<std::uint64_t>> posted_, unexpected_;
  std::vector<Rank> rank_;
};

}  // namespace

Run run_untimed(const Schedule& schedule, bool eager, std::uint64_t seed) {
  return Executor(schedule, eager, seed).run();
}

std::vector<std::uint64_t> ends_of(const Schedule& schedule, Rank rank) {
  std::vector<std::uint64_t> ends;
  for (std::uint32_t op = 0; op < schedule.ops_in(rank); ++op) {
    const auto edges = schedule.dependants(rank, op);
    if (std::ranges::all_of(edges, [](const Edge& e) { return e.on_start(); }))
      ends.push_back(schedule.op_first[rank] + op);
  }
  return ends;
}

}  // namespace isthmus::test
