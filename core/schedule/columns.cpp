#include "schedule/columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace isthmus::schedule {
namespace {

constexpr std::uint64_t largest_amount = std::numeric_limits<std::int64_t>::max();

bool has_peer(OpKind kind) { return kind != OpKind::calc && kind != OpKind::copy && kind != OpKind::reduce; }
bool is_message(OpKind kind) { return kind == OpKind::send || kind == OpKind::recv; }

template <class... Args>
[[noreturn]] void fail(std::uint64_t index, Rank rank, const Args&... reason) {
  throw InvalidInput(message("operation ", index, " (of rank ", rank, "): ", reason...));
}

/// Puts operations given in any order of ranks to their places.
class Sorter {
 public:
  Sorter(Rank ranks, const OperationColumns& columns, Schedule& out) : columns_(columns), out_(out) {
    out_.ranks = ranks;
    out_.op_first.assign(std::size_t{ranks} + 1, 0);
    Rank last = 0;
    for (std::uint64_t i = 0; i < columns_.count; ++i) {
      const Rank r = columns_.rank[i];
      require(r < ranks, "operation ", i, " is on rank ", r, ": ranks are 0 to ", ranks - 1);
      sorted_ = sorted_ && r >= last;
      last = r;
      ++out_.op_first[r + 1];
    }
    for (Rank r = 0; r < ranks; ++r) {
      require(out_.op_first[r + 1] <= max_rank_ops, "rank ", r, " has ", out_.op_first[r + 1], " operations: at most ",
              max_rank_ops, " are allowed");
      out_.op_first[r + 1] += out_.op_first[r];
    }
    if (sorted_) return;
    std::vector<std::uint32_t> next(ranks);
    within_.resize(columns_.count);
    for (std::uint64_t i = 0; i < columns_.count; ++i) within_[i] = next[columns_.rank[i]]++;
  }

  /// Where operation `index` of the columns stands in the schedule.
  [[nodiscard]] std::uint64_t place(std::uint64_t index) const {
    return sorted_ ? index : out_.op_first[columns_.rank[index]] + within_[index];
  }

  void write_operations() {
    out_.ops.resize(columns_.count);
    for (std::uint64_t i = 0; i < columns_.count; ++i) out_.ops[place(i)] = checked(i);
  }

  void write_slices() {
    if (columns_.slices.empty()) return;
    const std::size_t buffers = out_.buffers.names.size();
    out_.slices.resize(columns_.count);
    for (std::uint64_t i = 0; i < columns_.count; ++i) {
      Slices slices = columns_.slices[i];
      if (slices.block == 0) slices.from.stride = slices.to.stride = 0;
      for (Slice* s : {&slices.from, &slices.to}) {
        if (s->buffer != Slice::none && s->buffer >= buffers) {
          fail(i, columns_.rank[i], "buffer ", s->buffer, " does not exist, there are ", buffers);
        }
      }
      out_.slices[place(i)] = slices;
    }
  }

  void write_edges(const DependencyColumns& dependencies) {
    const std::size_t pairs = dependencies.op.size();
    // Dependants are counted in first_edge, which then becomes the place of the next edge to be written, and then the
    // end of the operation's edges, that is the beginning of those of the next one.
    out_.edge_first.assign(std::size_t{out_.ranks} + 1, 0);
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::uint64_t op = dependencies.op[i], on = dependencies.on[i];
      require(op < columns_.count && on < columns_.count, "dependency ", i, ": operation ", op, " on operation ", on,
              ", but there are ", columns_.count, " operations");
      if (op == on) fail(op, columns_.rank[op], "depends on itself");
      const Rank rank = columns_.rank[op];
      if (columns_.rank[on] != rank) {
        fail(op, rank, "depends on operation ", on, " of rank ", columns_.rank[on],
             ", but a dependency cannot cross ranks: send a message");
      }
      ++out_.ops[place(op)].needs;
      ++out_.ops[place(on)].first_edge;
      ++out_.edge_first[rank + 1];
    }
    for (Rank r = 0; r < out_.ranks; ++r) {
      require(out_.edge_first[r + 1] <= 0xFFFFFFFF, "rank ", r, " has ", out_.edge_first[r + 1],
              " dependencies: at most 4294967295 are allowed");
      out_.edge_first[r + 1] += out_.edge_first[r];
      std::uint32_t first = 0;
      for (std::uint64_t i = out_.op_first[r]; i < out_.op_first[r + 1]; ++i) {
        first += std::exchange(out_.ops[i].first_edge, first);
      }
    }
    out_.edges.resize(pairs);
    for (std::size_t i = 0; i < pairs; ++i) {
      const Rank rank = columns_.rank[dependencies.op[i]];
      const auto to = static_cast<std::uint32_t>(place(dependencies.op[i]) - out_.op_first[rank]);
      std::uint32_t& next = out_.ops[place(dependencies.on[i])].first_edge;
      out_.edges[out_.edge_first[rank] + next++] = Edge(to, dependencies.start[i] != 0);
    }
    for (Rank r = 0; r < out_.ranks; ++r) {
      std::uint32_t end = 0;
      for (std::uint64_t i = out_.op_first[r]; i < out_.op_first[r + 1]; ++i) {
        std::swap(end, out_.ops[i].first_edge);
      }
    }
  }

 private:
  [[nodiscard]] Operation checked(std::uint64_t i) const {
    const Rank rank = columns_.rank[i];
    const std::uint8_t kind = columns_.kind[i];
    if (kind == 0 || kind >= op_kinds) fail(i, rank, "kind ", kind, " is unknown: must be 1 to ", op_kinds - 1);
    Operation op;
    op.kind = static_cast<OpKind>(kind);
    op.amount = op.kind == OpKind::calc && !columns_.seconds.empty() ? picoseconds(i) : columns_.amount[i];
    if (op.amount > largest_amount) {
      fail(i, rank, "amount ", op.amount, " is too large: must be at most ", largest_amount);
    }
    op.cpu = columns_.cpu[i];
    op.nic = columns_.nic[i];
    if (op.kind == OpKind::send || op.kind == OpKind::reduce) op.mode = columns_.mode[i];
    if (!has_peer(op.kind)) return op;
    op.peer = columns_.peer[i];
    op.comm = columns_.comm[i];
    const bool recv = op.kind == OpKind::recv;
    if (op.peer >= out_.ranks && !(recv && op.peer == any_rank)) {
      fail(i, rank, name_of(op.kind), recv ? " from " : " to ", peer_text(op.peer), ", but ranks are 0 to ",
           out_.ranks - 1);
    }
    if (is_message(op.kind)) op.tag = columns_.tag[i];
    if (!recv && op.tag == any_tag) fail(i, rank, "a send cannot have any tag: only receives take wildcards");
    return op;
  }

  static std::string peer_text(std::uint32_t peer) { return peer == any_rank ? "any rank" : message("rank ", peer); }

  [[nodiscard]] std::uint64_t picoseconds(std::uint64_t i) const {
    const double seconds = columns_.seconds[columns_.seconds.size() == 1 ? 0 : i];
    const double rounded = std::nearbyint(seconds * 1e12);
    if (!(rounded >= 0 && rounded < 9.2e18)) {
      fail(i, columns_.rank[i], "calc of ", seconds, " seconds: must be 0 to 9.2e6");
    }
    return static_cast<std::uint64_t>(rounded);
  }

  const OperationColumns& columns_;
  Schedule& out_;
  bool sorted_ = true;
  std::vector<std::uint32_t> within_;  // number of each operation within its rank; empty if sorted_
};

}  // namespace

RankOrder order_by_rank(Rank ranks, std::span<const Rank> rank) {
  RankOrder out;
  out.first.resize(std::size_t{ranks} + 1);
  for (std::size_t i = 0; i < rank.size(); ++i) {
    require(rank[i] < ranks, "element ", i, " is of rank ", rank[i], ", but there are ", ranks, " ranks");
    ++out.first[rank[i] + 1];
  }
  std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
  out.order.resize(rank.size());
  std::vector<std::uint64_t> next(out.first.begin(), out.first.end() - 1);
  for (std::size_t i = 0; i < rank.size(); ++i) out.order[next[rank[i]]++] = static_cast<std::int64_t>(i);
  return out;
}

Schedule schedule_of(Rank ranks, const OperationColumns& ops, const DependencyColumns& dependencies, Buffers buffers) {
  require(ranks >= 1 && ranks < any_rank, "a schedule has 1 to ", any_rank - 1, " ranks, not ", ranks);
  require(dependencies.op.size() == dependencies.on.size(), "dependencies are pairs: got ", dependencies.op.size(),
          " operations that wait and ", dependencies.on.size(), " that they wait for");
  require(ops.slices.empty() || ops.slices.size() == ops.count, "got ", ops.slices.size(), " slices for ", ops.count,
          " operations");
  require(buffers.bytes.size() == buffers.names.size() * std::size_t{ranks}, "got ", buffers.bytes.size(),
          " sizes of buffers: each of the ", buffers.names.size(), " buffers needs one on each of the ", ranks,
          " ranks");
  Schedule out;
  out.buffers = std::move(buffers);
  Sorter sorter(ranks, ops, out);
  sorter.write_operations();
  sorter.write_slices();
  sorter.write_edges(dependencies);
  return out;
}

Schedule relabel(const Schedule& schedule, std::span<const Rank> to) {
  const Rank ranks = schedule.ranks;
  require(to.size() == ranks, "a permutation of ", ranks, " ranks has as many elements, not ", to.size());
  std::vector<Rank> from(ranks, any_rank);
  for (Rank r = 0; r < ranks; ++r) {
    require(to[r] < ranks, "rank ", r, " becomes ", to[r], ": ranks are 0 to ", ranks - 1);
    require(from[to[r]] == any_rank, "ranks ", from[to[r]], " and ", r, " both become ", to[r]);
    from[to[r]] = r;
  }
  Schedule out;
  out.ranks = ranks;
  out.op_first.reserve(schedule.op_first.size());
  out.edge_first.reserve(schedule.edge_first.size());
  out.ops.reserve(schedule.ops.size());
  out.edges.reserve(schedule.edges.size());
  out.slices.reserve(schedule.slices.size());
  out.buffers.names = schedule.buffers.names;
  out.buffers.bytes.reserve(schedule.buffers.bytes.size());
  const auto names = static_cast<std::ptrdiff_t>(out.buffers.names.size());
  const auto append = [](auto& target, const auto& source, std::uint64_t begin, std::uint64_t end) {
    target.insert(target.end(), source.begin() + static_cast<std::ptrdiff_t>(begin),
                  source.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const Rank r : from) {
    append(out.ops, schedule.ops, schedule.op_first[r], schedule.op_first[r + 1]);
    append(out.edges, schedule.edges, schedule.edge_first[r], schedule.edge_first[r + 1]);
    if (!schedule.slices.empty()) append(out.slices, schedule.slices, schedule.op_first[r], schedule.op_first[r + 1]);
    append(out.buffers.bytes, schedule.buffers.bytes, static_cast<std::uint64_t>(r * names),
           static_cast<std::uint64_t>((r + std::ptrdiff_t{1}) * names));
    out.op_first.push_back(out.ops.size());
    out.edge_first.push_back(out.edges.size());
  }
  for (Operation& op : out.ops) {
    if (has_peer(op.kind) && op.peer < ranks) op.peer = to[op.peer];
  }
  return out;
}

}  // namespace isthmus::schedule
