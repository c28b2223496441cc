#include "proof/local_order.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace isthmus::proof {

void LocalOrder::load(const Schedule& schedule, Rank rank) {
  const std::uint32_t n = schedule.ops_in(rank);
  const auto ops = schedule.ops_of(rank);
  first_.assign(n + std::size_t{1}, 0);
  for (std::uint32_t i = 0; i < n; ++i) first_[i + 1] = first_[i] + ops[i].needs;
  needs_.resize(first_[n]);
  std::vector<std::uint64_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (const Edge edge : schedule.dependants(rank, i)) needs_[next[edge.to()]++] = Edge(i, edge.on_start());
  }
  sort(schedule, rank);
  complete_.assign(n, 0);
  std::vector<std::uint32_t> done;
  for (const std::uint32_t op : order_) {
    std::uint32_t all = 0;
    done.clear();
    for (const Edge edge : needs(op)) {
      all = std::max(all, complete_[edge.to()]);
      if (!edge.on_start()) done.push_back(position_[edge.to()]);
    }
    std::sort(done.begin(), done.end());
    for (const std::uint32_t position : done) {
      if (position == all) ++all;
    }
    complete_[op] = all;
  }
  seen_.assign(n, 0);
  searches_ = 0;
  steps_ = 0;
  table_.clear();
}

void LocalOrder::sort(const Schedule& schedule, Rank rank) {
  const std::uint32_t n = schedule.ops_in(rank);
  order_.resize(n);
  position_.resize(n);
  bool sorted = true;
  for (std::uint32_t i = 0; i < n; ++i) {
    order_[i] = position_[i] = i;
    for (const Edge edge : needs(i)) sorted = sorted && edge.to() < i;
  }
  if (sorted) return;
  std::vector<std::uint32_t> waiting(n);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < n; ++i) {
    waiting[i] = static_cast<std::uint32_t>(needs(i).size());
    if (waiting[i] == 0) ready.push(i);
  }
  for (std::uint32_t at = 0; !ready.empty(); ++at) {
    const std::uint32_t op = ready.top();
    ready.pop();
    order_[at] = op;
    position_[op] = at;
    for (const Edge edge : schedule.dependants(rank, op)) {
      if (--waiting[edge.to()] == 0) ready.push(edge.to());
    }
  }
}

bool LocalOrder::done_before(std::uint32_t a, std::uint32_t b) {
  if (position_[a] >= position_[b]) return false;
  if (surely_done_before(a, b)) return true;
  if (!table_.empty()) return (table_[b * words_ + a / 64] >> (a % 64) & 1) != 0;
  return search(a, b, true);
}

bool LocalOrder::begins_before(std::uint32_t a, std::uint32_t b) {
  if (position_[a] >= position_[b]) return a == b;
  return surely_done_before(a, b) || search(a, b, false);
}

bool LocalOrder::search(std::uint32_t a, std::uint32_t b, bool done) {
  ++searches_;
  stack_.assign(1, b);
  bool found = false;
  while (!stack_.empty() && !found) {
    const std::uint32_t at = stack_.back();
    stack_.pop_back();
    for (const Edge edge : needs(at)) {
      const std::uint32_t on = edge.to();
      ++steps_;
      if (on == a ? !(done && edge.on_start()) : surely_done_before(a, on)) {
        found = true;
        break;
      }
      // What stands before `a` in the order cannot wait for it.
      if (position_[on] <= position_[a] || seen_[on] == searches_) continue;
      seen_[on] = searches_;
      stack_.push_back(on);
    }
  }
  constexpr std::size_t most = 40'000;  // operations: a table of 200 MB
  const std::uint64_t n = order_.size();
  if (table_.empty() && n <= most && steps_ > (needs_.size() + n) * (n / 64 + 1)) tabulate();
  return found;
}

void LocalOrder::tabulate() {
  const std::size_t n = order_.size();
  words_ = (n + 63) / 64;
  table_.assign(n * words_, 0);
  for (const std::uint32_t op : order_) {
    std::uint64_t* row = table_.data() + op * words_;
    for (const Edge edge : needs(op)) {
      const std::uint64_t* before = table_.data() + edge.to() * words_;
      for (std::size_t w = 0; w < words_; ++w) row[w] |= before[w];
      if (!edge.on_start()) row[edge.to() / 64] |= std::uint64_t{1} << (edge.to() % 64);
    }
  }
}

}  // namespace isthmus::proof
