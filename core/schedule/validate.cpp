#include "schedule/validate.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/interruption.hpp"

namespace isthmus::schedule {
namespace {

template <class... Args>
[[noreturn]] void fail(Rank rank, std::uint64_t index, const Args&... reason) {
  throw InvalidInput(message("rank ", rank, ", operation ", index, ": ", reason...));
}

/// Whether `first` cuts `count` elements into `ranks` parts, in order.
void check_parts(const char* name, const std::vector<std::uint64_t>& first, Rank ranks, std::uint64_t count,
                 std::uint64_t most) {
  require(first.size() == std::size_t{ranks} + 1, name, " has ", first.size(), " elements for ", ranks,
          " ranks: it must have one more than there are ranks");
  require(first[0] == 0, name, " begins with ", first[0], " instead of 0");
  for (Rank r = 0; r < ranks; ++r) {
    require(first[r + 1] >= first[r] && first[r + 1] - first[r] <= most, "rank ", r, ": ", name, " goes from ",
            first[r], " to ", first[r + 1], ": it must not fall, and rise by at most ", most);
  }
  require(first[ranks] == count, name, " ends with ", first[ranks], " instead of the number of elements, ", count);
}

/// The arrays of one rank; `needs` is memory for its counts.
void check_rank(const Schedule& s, Rank rank, std::vector<std::uint32_t>& needs) {
  const auto ops = s.ops_of(rank);
  const std::uint64_t edges = s.edge_first[rank + 1] - s.edge_first[rank];
  require(!ops.empty() || edges == 0, "rank ", rank, " has ", edges, " edges, but no operations");
  needs.assign(ops.size(), 0);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Operation& op = ops[i];
    const std::uint64_t end = i + 1 < ops.size() ? ops[i + 1].first_edge : edges;
    if (i == 0 && op.first_edge != 0) fail(rank, i, "its first edge is ", op.first_edge, " instead of 0");
    if (op.first_edge > end || end > edges) {
      fail(rank, i, "its edges go from ", op.first_edge, " to ", end, ": they must not fall, and the rank has ", edges);
    }
    const Edge* base = s.edges.data() + s.edge_first[rank];
    for (const Edge* edge = base + op.first_edge; edge != base + end; ++edge) {
      if (edge->to() >= ops.size()) {
        fail(rank, i, "its dependant ", edge->to(), " does not exist: the rank has ", ops.size(), " operations");
      }
      if (edge->to() == i) fail(rank, i, "it depends on itself");
      ++needs[edge->to()];
    }
    const auto kind = static_cast<std::uint8_t>(op.kind);
    if (kind == 0 || kind >= op_kinds) fail(rank, i, "kind ", kind, " does not exist: kinds are 1 to ", op_kinds - 1);
    const std::uint8_t modes = op.kind == OpKind::reduce ? 2 : op.kind == OpKind::send ? 3 : 1;
    if (op.mode >= modes) fail(rank, i, "its mode is ", op.mode, ": must be 0 to ", modes - 1);
    if (op.amount > max_amount) fail(rank, i, "amount ", op.amount, " is too large: must be at most ", max_amount);
    if (op.kind == OpKind::calc || op.kind == OpKind::copy || op.kind == OpKind::reduce) continue;
    const bool recv = op.kind == OpKind::recv;
    if (op.peer >= s.ranks && !(recv && op.peer == any_rank)) {
      if (op.peer == any_rank) fail(rank, i, "only a recv may name any rank, not a ", name_of(op.kind));
      fail(rank, i, "its peer is ", op.peer, ": ranks are 0 to ", s.ranks - 1);
    }
    if (op.kind == OpKind::send && op.tag == any_tag) fail(rank, i, "only a recv may name any tag, not a send");
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (needs[i] != ops[i].needs) {
      fail(rank, i, "it needs ", ops[i].needs, " others by its count, but is the dependant of ", needs[i]);
    }
  }
}

/// One side of an operation: `owner` is the rank whose buffer it is.
void check_slice(const Schedule& s, Rank rank, std::uint64_t index, const Slice& slice, std::uint64_t block, Rank owner,
                 const char* side) {
  const std::uint64_t amount = s.ops_of(rank)[index].amount;
  const std::size_t buffers = s.buffers.names.size();
  if (slice.buffer == Slice::none) {
    if (amount == 0) return;
    fail(rank, index, "it names no buffer to ", side, ", but other operations of the schedule name theirs");
  }
  if (slice.buffer >= buffers) fail(rank, index, "buffer ", slice.buffer, " does not exist: there are ", buffers);
  const std::uint64_t size = s.buffers.bytes[std::size_t{owner} * buffers + slice.buffer];
  std::uint64_t before = 0;       // bytes that are needed before the offset
  std::uint64_t behind = amount;  // and from it on
  bool fits = true;
  if (block != 0 && amount > block) {
    if (slice.stride == 0) fail(rank, index, "the blocks to ", side, " all lie at one place: their stride is 0");
    const std::uint64_t steps = (amount - 1) / block;
    const auto apart = static_cast<std::uint64_t>(std::abs(std::int64_t{slice.stride}));
    fits = steps <= size / block / apart;
    const std::uint64_t way = fits ? steps * apart * block : 0;
    before = slice.stride < 0 ? way : 0;
    behind = slice.stride < 0 ? block : way + (amount - steps * block);
  }
  if (!fits || slice.offset < before || slice.offset > size || behind > size - slice.offset) {
    const std::string blocks = block == 0 ? "" : message(" in blocks of ", block, " B, ", slice.stride, " apart,");
    fail(rank, index, amount, " B", blocks, " at offset ", slice.offset, " to ", side, " exceed buffer '",
         s.buffers.names[slice.buffer], "' of rank ", owner, ", which has ", size, " B");
  }
}

void check_buffers(const Schedule& s) {
  const std::size_t buffers = s.buffers.names.size();
  require(s.buffers.bytes.size() == buffers * s.ranks, "there are ", s.buffers.bytes.size(), " sizes for ", buffers,
          " buffers on ", s.ranks, " ranks");
  if (s.slices.empty()) return;
  require(s.slices.size() == s.ops.size(), "there are ", s.slices.size(), " slices for ", s.ops.size(), " operations");
  for (Rank r = 0; r < s.ranks; ++r) {
    const auto ops = s.ops_of(r);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Operation& op = ops[i];
      const Slices& slices = s.slices[s.op_first[r] + i];
      if (slices.block != 0 && op.kind != OpKind::copy)
        fail(r, i, "only a copy moves blocks, not a ", name_of(op.kind));
      if (op.kind != OpKind::calc && op.kind != OpKind::recv) {
        check_slice(s, r, i, slices.from, slices.block, op.kind == OpKind::get ? op.peer : r, "read");
      }
      if (op.kind != OpKind::calc && op.kind != OpKind::send) {
        check_slice(s, r, i, slices.to, slices.block, op.kind == OpKind::put ? op.peer : r, "write");
      }
    }
  }
}

/// Operations of `rank` that wait for each other in a circle; `waiting[i]` != 0 marks those that never start.
[[noreturn]] void report_cycle(const Schedule& s, Rank rank, const std::vector<std::uint32_t>& waiting) {
  constexpr std::uint32_t nobody = 0xFFFFFFFF;
  constexpr std::size_t shown = 16;
  const auto n = static_cast<std::uint32_t>(waiting.size());
  // Each of these waits for one of these: following one such link from anywhere ends in a circle.
  std::vector<std::uint32_t> on(n, nobody);
  std::uint32_t at = nobody;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (waiting[i] == 0) continue;
    if (at == nobody) at = i;
    for (const Edge edge : s.dependants(rank, i)) {
      if (on[edge.to()] == nobody) on[edge.to()] = i;
    }
  }
  for (std::uint32_t step = 0; step < n; ++step) at = on[at];
  std::uint32_t smallest = at;
  for (std::uint32_t next = on[at]; next != at; next = on[next]) smallest = std::min(smallest, next);
  at = smallest;
  std::string cycle = message("operation ", at);
  std::size_t length = 0;
  for (std::uint32_t next = on[at];; next = on[next]) {
    if (++length <= shown) cycle += message(" -> ", next);
    if (next == at) break;
  }
  if (length > shown) cycle += message(" -> ... -> ", at, " (", length, " operations)");
  throw InvalidInput(message("rank ", rank, ": ", cycle, ": each waits for the next, so none ever starts"));
}

}  // namespace

void check_arrays(const Schedule& schedule) {
  check_parts("op_first", schedule.op_first, schedule.ranks, schedule.ops.size(), max_rank_ops);
  check_parts("edge_first", schedule.edge_first, schedule.ranks, schedule.edges.size(), 0xFFFFFFFF);
  std::vector<std::uint32_t> needs;
  for (Rank r = 0; r < schedule.ranks; ++r) check_rank(schedule, r, needs);
  check_buffers(schedule);
}

void check_acyclic(const Schedule& schedule) {
  std::vector<std::uint32_t> waiting, ready;
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    const std::uint32_t n = schedule.ops_in(r);
    // Where all edges lead forward there is nothing to search; generators write such.
    bool forward = true;
    for (std::uint32_t i = 0; i < n && forward; ++i) {
      for (const Edge edge : schedule.dependants(r, i)) forward = forward && edge.to() > i;
    }
    if (forward) continue;
    waiting.resize(n);
    ready.clear();
    for (std::uint32_t i = 0; i < n; ++i) {
      waiting[i] = schedule.ops_of(r)[i].needs;
      if (waiting[i] == 0) ready.push_back(i);
    }
    for (std::size_t done = 0; done < ready.size(); ++done) {
      for (const Edge edge : schedule.dependants(r, ready[done])) {
        if (--waiting[edge.to()] == 0) ready.push_back(edge.to());
      }
    }
    if (ready.size() < n) report_cycle(schedule, r, waiting);
  }
}

void validate(const Schedule& schedule) {
  check_arrays(schedule);
  check_acyclic(schedule);
  check_matching(schedule);
}

}  // namespace isthmus::schedule
