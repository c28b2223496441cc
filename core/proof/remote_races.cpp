#include "proof/remote_races.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "proof/accesses.hpp"
#include "proof/events.hpp"

namespace isthmus::proof {

bool is_one_sided(const Schedule& schedule) {
  return std::any_of(schedule.ops.begin(), schedule.ops.end(),
                     [](const Operation& op) { return op.kind == OpKind::put || op.kind == OpKind::get; });
}

void check_remote_races(const Schedule& schedule, const Pairs& pairs, Defects& defects) {
  Events events(schedule, pairs);
  const std::size_t names = schedule.buffers.names.size();
  std::vector<Accesses> buffers(names * schedule.ranks);
  for (std::size_t b = 0; b < buffers.size(); ++b) buffers[b].clear(schedule.buffers.bytes[b]);
  const auto text = [&](std::uint64_t at) {
    const auto after = std::upper_bound(schedule.op_first.begin(), schedule.op_first.end(), at);
    const auto rank = static_cast<Rank>(after - schedule.op_first.begin()) - 1;
    return operation_text(schedule, rank, static_cast<std::uint32_t>(at - schedule.op_first[rank]));
  };
  constexpr std::size_t most = 100;
  std::size_t found = 0;
  const auto ordered = [&](std::uint64_t a, std::uint64_t b) { return found >= most || events.ordered(a, b); };
  const auto surely = [&](std::uint64_t a, std::uint64_t b) { return events.surely(a, b); };
  for (const std::uint64_t at : events.begins()) {
    const Operation& op = schedule.ops[at];
    const auto rank = static_cast<Rank>(std::upper_bound(schedule.op_first.begin(), schedule.op_first.end(), at) -
                                        schedule.op_first.begin() - 1);
    const Slices& slices = schedule.slices[at];
    const auto enter = [&](Rank owner, std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes, bool writes) {
      const auto conflict = [&](std::uint64_t other, std::uint64_t begin, std::uint64_t end) {
        ++found;
        if (!defects.room()) return defects.count();
        const std::uint64_t first = std::max(begin, offset), last = std::min(end, offset + bytes);
        defects.add({DefectKind::race, rank, static_cast<std::uint32_t>(at - schedule.op_first[rank]),
                     message(text(at), ": it ", writes ? "writes " : "reads ",
                             bytes_text(schedule, buffer, first, last - first), " of rank ", owner, " while ",
                             text(other), " may use it: neither waits until the other is done")});
      };
      buffers[owner * names + buffer].add(at, offset, offset + bytes, writes, ordered, surely, conflict);
    };
    const auto access = [&](Rank owner, const Slice& slice, bool writes) {
      if (slice.buffer == Slice::none) return;
      each_block(slice, slices.block, op.amount,
                 [&](std::uint64_t offset, std::uint64_t bytes) { enter(owner, slice.buffer, offset, bytes, writes); });
    };
    switch (op.kind) {
      case OpKind::send: access(rank, slices.from, false); break;
      case OpKind::recv: access(rank, slices.to, true); break;
      case OpKind::put:
        access(rank, slices.from, false);
        access(op.peer, slices.to, true);
        break;
      case OpKind::get:
        access(op.peer, slices.from, false);
        access(rank, slices.to, true);
        break;
      case OpKind::copy:
      case OpKind::reduce:
        access(rank, slices.from, false);
        access(rank, slices.to, true);
        break;
      case OpKind::calc: break;
    }
  }
}

}  // namespace isthmus::proof
