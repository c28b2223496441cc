#include "schedule/builder.hpp"

#include <utility>

#include "base/error.hpp"

namespace isthmus {

const char* name_of(OpKind kind) {
  static constexpr const char* names[op_kinds] = {"?", "send", "recv", "calc", "put", "get", "copy", "reduce"};
  const auto index = static_cast<std::uint8_t>(kind);
  return names[index < op_kinds ? index : 0];
}

std::uint32_t RankBuilder::add(const Operation& operation, const Slices& slices) {
  slices_.resize(ops_.size());
  slices_.push_back(slices);
  ops_.push_back(operation);
  return size() - 1;
}

void RankBuilder::clear() {
  ops_.clear();
  slices_.clear();
  dependencies_.clear();
}

void ScheduleBuilder::reserve(std::uint64_t ops, std::uint64_t edges) {
  schedule_.ops.reserve(ops);
  schedule_.edges.reserve(edges);
}

void ScheduleBuilder::append(RankBuilder& rank) {
  Schedule& s = schedule_;
  require(s.ranks < any_rank, "a schedule has at most ", any_rank, " ranks");
  require(rank.ops_.size() <= max_rank_ops, "rank ", s.ranks, " has ", rank.ops_.size(), " operations: at most ",
          max_rank_ops, " are allowed");
  const std::uint32_t n = rank.size();
  const std::uint64_t first_op = s.ops.size();
  const std::uint64_t first_edge = s.edges.size();
  require(rank.dependencies_.size() <= 0xFFFFFFFF, "rank ", s.ranks, " has ", rank.dependencies_.size(),
          " dependencies: at most 4294967295 are allowed");
  // Counting sort of the dependencies by the operation they lead from; stable, so that builders' order is kept.
  counts_.assign(n + 1, 0);
  for (const auto& d : rank.dependencies_) {
    require(d.on < n && d.edge.to() < n, "rank ", s.ranks, ": operation ", d.edge.to(), " depends on operation ", d.on,
            ", but the rank has ", n, " operations");
    require(d.on != d.edge.to(), "rank ", s.ranks, ": operation ", d.on, " depends on itself");
    ++counts_[d.on + 1];
    ++rank.ops_[d.edge.to()].needs;
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    rank.ops_[i].first_edge = counts_[i];
    counts_[i + 1] += counts_[i];
  }
  s.edges.resize(first_edge + rank.dependencies_.size());
  for (const auto& d : rank.dependencies_) s.edges[first_edge + counts_[d.on]++] = d.edge;
  s.ops.insert(s.ops.end(), rank.ops_.begin(), rank.ops_.end());
  if (!rank.slices_.empty()) {
    s.slices.resize(first_op);
    s.slices.insert(s.slices.end(), rank.slices_.begin(), rank.slices_.end());
  }
  if (!s.slices.empty()) s.slices.resize(s.ops.size());
  s.op_first.push_back(s.ops.size());
  s.edge_first.push_back(s.edges.size());
  ++s.ranks;
  rank.clear();
}

Schedule ScheduleBuilder::build() { return std::exchange(schedule_, Schedule{}); }

}  // namespace isthmus
