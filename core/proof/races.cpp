#include "proof/races.hpp"

#include "base/error.hpp"

namespace isthmus {

void Races::check(Rank rank, LocalOrder& order, Defects& defects) {
  const auto ops = schedule_.ops_of(rank);
  const std::size_t names = buffers_.size();
  for (std::size_t b = 0; b < names; ++b) buffers_[b].clear(schedule_.buffers.bytes[rank * names + b]);
  // A rank without order has as many races as it has pairs; the first are enough.
  constexpr std::size_t most = 100;
  std::size_t found = 0;
  const auto ordered = [&](std::uint64_t a, std::uint64_t b) {
    return found >= most || order.done_before(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
  };
  const auto surely = [&](std::uint64_t a, std::uint64_t b) {
    return order.surely_done_before(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
  };
  for (const std::uint32_t op : order.order()) {
    const auto access = [&](const Slice& slice, bool writes) {
      if (slice.buffer == Slice::none) return;
      const auto conflict = [&](std::uint64_t other, std::uint64_t begin, std::uint64_t end) {
        ++found;
        if (!defects.room()) return defects.count();
        const auto earlier = static_cast<std::uint32_t>(other);
        defects.add({DefectKind::race, rank, op,
                     message(operation_text(schedule_, rank, op), ": it ", writes ? "writes " : "reads ",
                             bytes_text(schedule_, slice.buffer, std::max(begin, slice.offset),
                                        std::min(end, slice.offset + ops[op].amount) - std::max(begin, slice.offset)),
                             " while ", operation_text(schedule_, rank, earlier),
                             " may use it: neither waits until the other is done")});
      };
      buffers_[slice.buffer].add(op, slice.offset, slice.offset + ops[op].amount, writes, ordered, surely, conflict);
    };
    const Slices& slices = schedule_.slices[schedule_.op_first[rank] + op];
    switch (ops[op].kind) {
      case OpKind::send: access(slices.from, false); break;
      case OpKind::recv: access(slices.to, true); break;
      case OpKind::copy:
      case OpKind::reduce:
        access(slices.from, false);
        access(slices.to, true);
        break;
      default: break;
    }
  }
}

}  // namespace isthmus
