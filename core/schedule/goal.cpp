#include "schedule/goal.hpp"

#include <algorithm>
#include <cmath>

namespace isthmus::schedule {
namespace {

std::uint64_t pair_of(const Operation& op) { return std::uint64_t{op.comm} << 32 | op.tag; }
bool is_message(const Operation& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }

}  // namespace

GoalOperations::GoalOperations(const Schedule& schedule, const GoalWriting& writing, bool buffers)
    : schedule_(schedule), writing_(writing), buffers_(buffers) {
  require(writing_.unit >= 1, "the unit of a GOAL file must be at least 1 ps");
  require(!writing_.picoseconds_per_byte ||
              (std::isfinite(*writing_.picoseconds_per_byte) && *writing_.picoseconds_per_byte >= 0),
          "the time per byte of copy and reduce must be finite and not negative");
  check_arrays(schedule);
  if (schedule.ranks == 0) throw Unsupported("a GOAL file has at least one rank");
  const bool communicators =
      std::any_of(schedule.ops.begin(), schedule.ops.end(), [](const Operation& o) { return is_message(o) && o.comm; });
  for (Rank r = 0; r < schedule.ranks; ++r) {
    const std::uint32_t n = schedule.ops_in(r);
    for (std::uint32_t i = 0; i < n; ++i) check(r, i, communicators);
  }
  if (communicators) number_tags();
}

void GoalOperations::check(Rank rank, std::uint32_t index, bool communicators) const {
  const std::uint64_t at = schedule_.op_first[rank] + index;
  const Operation& op = schedule_.ops[at];
  const auto fail = [&](const auto&... reason) {
    throw Unsupported(message("rank ", rank, ", operation ", index, " (", name_of(op.kind), "): ", reason...));
  };
  const bool one_sided = op.kind == OpKind::put || op.kind == OpKind::get;
  if (one_sided && !buffers_) fail("GOAL has no one-sided operations; save to HDF5 instead");
  if (!schedule_.slices.empty() && !buffers_ && !writing_.picoseconds_per_byte) {
    const Slices& s = schedule_.slices[at];
    for (const Slice* slice : {&s.from, &s.to}) {
      if (slice->buffer != Slice::none) {
        fail("binary GOAL has no buffers, but this names '", schedule_.buffers.names[slice->buffer],
             "'; save to HDF5 or GOAL text instead, or give a time per byte to do without them");
      }
    }
  }
  if ((op.kind == OpKind::copy || op.kind == OpKind::reduce) && !buffers_) {
    if (!writing_.picoseconds_per_byte) fail("GOAL has send, recv and calc only; give a time per byte to write a calc");
    const double time = static_cast<double>(op.amount) * *writing_.picoseconds_per_byte;
    if (time >= static_cast<double>(max_amount)) fail("it would take more than ", max_amount, " ps");
  }
  if (communicators && op.kind == OpKind::recv && op.tag == any_tag) {
    fail(
        "GOAL has no communicators, and replacing them by tags does not work with receives of any tag; save to HDF5 "
        "instead");
  }
}

void GoalOperations::number_tags() {
  const auto sort_unique = [this] {
    std::sort(pairs_.begin(), pairs_.end());
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  };
  std::size_t limit = 1 << 16;
  for (const Operation& op : schedule_.ops) {
    if (!is_message(op) || (!pairs_.empty() && pairs_.back() == pair_of(op))) continue;
    pairs_.push_back(pair_of(op));
    // So that memory follows the number of different pairs.
    if (pairs_.size() < limit) continue;
    sort_unique();
    limit = std::max(limit, 2 * pairs_.size());
  }
  sort_unique();
  if (pairs_.size() > any_tag)
    throw Unsupported(message(pairs_.size(), " pairs of communicator and tag exceed GOAL's tags"));
}

Operation GoalOperations::translate(const Operation& op) const {
  Operation out = op;
  switch (op.kind) {
    case OpKind::send:
    case OpKind::recv:
      if (!pairs_.empty()) {
        const auto found = std::lower_bound(pairs_.begin(), pairs_.end(), pair_of(op));
        out.tag = static_cast<std::uint32_t>(found - pairs_.begin());
      }
      return out;
    case OpKind::put:
    case OpKind::get: return out;
    case OpKind::copy:
    case OpKind::reduce:
      if (buffers_) return out;
      out.amount = static_cast<std::uint64_t>(std::llround(
          static_cast<double>(op.amount) * *writing_.picoseconds_per_byte / static_cast<double>(writing_.unit)));
      break;
    default: out.amount = op.amount / writing_.unit + (op.amount % writing_.unit >= writing_.unit - writing_.unit / 2);
  }
  out.kind = OpKind::calc;
  out.peer = out.tag = 0;
  return out;
}

}  // namespace isthmus::schedule
