#include "schedule/builder.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace isthmus::schedule {

const char* name_of(OpKind kind) {
  static constexpr const char* names[op_kinds] = {"?", "send", "recv", "calc", "put", "get", "copy", "reduce"};
  const auto index = static_cast<std::uint8_t>(kind);
  return names[index < op_kinds ? index : 0];
}

void RankBuilder::clear() {
  place(own_ops_.data(), nullptr, own_ops_.size());
  dependencies_.clear();
}

void RankBuilder::place(Operation* ops, Slices* slices, std::uint64_t room) {
  ops_ = ops;
  slices_ = slices;
  size_ = 0;
  room_ = room;
}

void RankBuilder::grow() {
  constexpr std::uint64_t least = 64;
  if (ops_ != own_ops_.data()) own_ops_.assign(ops_, ops_ + size_);
  own_ops_.resize(2 * size_ + least);
  ops_ = own_ops_.data();
  room_ = own_ops_.size();
  if (slices_ == nullptr) return;
  if (slices_ != own_slices_.data()) own_slices_.assign(slices_, slices_ + size_);
  own_slices_.resize(room_);
  slices_ = own_slices_.data();
}

void RankBuilder::start_slices() {
  own_slices_.assign(room_, Slices{});
  slices_ = own_slices_.data();
}

void RankBuilder::count_dependants(Rank rank) {
  const std::uint32_t n = size();
  isthmus::require(size_ <= max_rank_ops, "rank ", rank, " has ", size_, " operations: at most ", max_rank_ops,
                   " are allowed");
  isthmus::require(dependencies_.size() <= 0xFFFFFFFF, "rank ", rank, " has ", dependencies_.size(),
                   " dependencies: at most 4294967295 are allowed");
  for (const Dependency& d : dependencies_) {
    const std::uint32_t to = d.edge.to();
    isthmus::require(d.on < n && to < n, "rank ", rank, ": operation ", to, " depends on operation ", d.on,
                     ", but the rank has ", n, " operations");
    isthmus::require(d.on != to, "rank ", rank, ": operation ", to, " depends on itself");
    ++ops_[d.on].first_edge;
    ++ops_[to].needs;
  }
}

ScheduleBuilder::ScheduleBuilder(std::span<const Part> parts, bool slices) {
  Place at;
  for (const Part& part : parts) {
    const Place next{at.rank + part.ranks, at.op + part.ops, at.edge + part.edges};
    parts_.push_back({at, next});
    at = next;
  }
  Schedule& s = schedule_;
  s.ranks = at.rank;
  s.op_first.resize(std::size_t{at.rank} + 1);
  s.edge_first.resize(std::size_t{at.rank} + 1);
  s.ops.resize(at.op);
  s.edges.resize(at.edge);
  if (slices) s.slices.resize(at.op);
}

void ScheduleBuilder::reserve(std::uint64_t ops, std::uint64_t edges) {
  schedule_.ops.reserve(ops);
  schedule_.edges.reserve(edges);
}

void ScheduleBuilder::append(RankBuilder& rank) {
  Schedule& s = schedule_;
  require(s.ranks < any_rank, "a schedule has at most ", any_rank, " ranks");
  rank.count_dependants(s.ranks);
  const std::uint64_t before = s.ops.size();
  s.ops.resize(before + rank.size_);
  s.edges.resize(s.edges.size() + rank.dependencies_.size());
  if (!s.slices.empty() || rank.slices_ != nullptr) {
    s.slices.resize(before, {});
    s.slices.resize(s.ops.size());
  }
  s.op_first.emplace_back();
  s.edge_first.emplace_back();
  write({s.ranks, s.op_first[s.ranks], s.edge_first[s.ranks]}, rank);
  ++s.ranks;
}

void ScheduleBuilder::begin(std::size_t part, RankBuilder& rank) {
  const auto& [next, end] = parts_[part];
  Slices* slices = schedule_.slices.empty() ? nullptr : schedule_.slices.data() + next.op;
  rank.place(schedule_.ops.data() + next.op, slices, end.op - next.op);
}

void ScheduleBuilder::append(std::size_t part, RankBuilder& rank) {
  auto& [next, end] = parts_[part];
  rank.count_dependants(next.rank);
  const Place after{next.rank + 1, next.op + rank.size_, next.edge + rank.dependencies_.size()};
  require(after.rank <= end.rank && after.op <= end.op && after.edge <= end.edge, "rank ", next.rank, " has ",
          rank.size_, " operations and ", rank.dependencies_.size(), " dependencies, more than were counted");
  write(next, rank);
  next = after;
}

/// Writes a rank to its place.
void ScheduleBuilder::write(Place place, RankBuilder& rank) {
  Schedule& s = schedule_;
  s.op_first[place.rank + std::size_t{1}] = place.op + rank.size_;
  s.edge_first[place.rank + std::size_t{1}] = place.edge + rank.dependencies_.size();
  // Counting sort of the dependencies by the operation they lead from: first_edge counts them, then is the end of the
  // operation's edges, then, as they are written from the last one on, their beginning.
  Operation* ops = rank.ops_;
  std::uint32_t end = 0;
  for (std::uint32_t i = 0; i < rank.size(); ++i) ops[i].first_edge = end += ops[i].first_edge;
  Edge* edges = s.edges.data() + place.edge;
  for (std::size_t i = rank.dependencies_.size(); i-- > 0;) {
    const auto& d = rank.dependencies_[i];
    edges[--ops[d.on].first_edge] = d.edge;
  }
  Operation* placed = s.ops.data() + place.op;
  if (ops != placed) std::copy_n(ops, rank.size_, placed);
  if (!s.slices.empty()) {
    Slices* named = s.slices.data() + place.op;
    if (rank.slices_ == nullptr) std::fill_n(named, rank.size_, Slices{});
    else if (rank.slices_ != named) std::copy_n(rank.slices_, rank.size_, named);
  }
  rank.clear();
}

Schedule ScheduleBuilder::build() {
  for (const auto& [next, end] : parts_) {
    require(next.rank == end.rank && next.op == end.op && next.edge == end.edge, "ranks up to ", end.rank,
            " have fewer operations and dependencies than were counted");
  }
  parts_.clear();
  return std::exchange(schedule_, Schedule{});
}

}  // namespace isthmus::schedule
