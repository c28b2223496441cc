#include "proof/races.hpp"

#include "base/error.hpp"

namespace isthmus::proof {

void Races::check(Rank rank, LocalOrder& order, Defects& defects) {
  const auto ops = schedule_.ops_of(rank);
  const std::size_t names = buffers_.size();
  for (std::size_t b = 0; b < names; ++b) buffers_[b].clear(schedule_.buffers.bytes[rank * names + b]);
  // What nobody writes has no races.
  written_.assign(names, false);
  for (std::uint32_t op = 0; op < ops.size(); ++op) {
    const std::uint32_t to = schedule_.slices[schedule_.op_first[rank] + op].to.buffer;
    if (to != Slice::none) written_[to] = true;
  }
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
    const Slices& slices = schedule_.slices[schedule_.op_first[rank] + op];
    const auto enter = [&](std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes, bool writes) {
      const auto conflict = [&](std::uint64_t other, std::uint64_t begin, std::uint64_t end) {
        ++found;
        if (!defects.room()) return defects.count();
        const auto earlier = static_cast<std::uint32_t>(other);
        defects.add({DefectKind::race, rank, op,
                     message(operation_text(schedule_, rank, op), ": it ", writes ? "writes " : "reads ",
                             bytes_text(schedule_, buffer, std::max(begin, offset),
                                        std::min(end, offset + bytes) - std::max(begin, offset)),
                             " while ", operation_text(schedule_, rank, earlier),
                             " may use it: neither waits until the other is done")});
      };
      buffers_[buffer].add(op, offset, offset + bytes, writes, ordered, surely, conflict);
    };
    const auto access = [&](const Slice& slice, bool writes) {
      if (slice.buffer == Slice::none || !written_[slice.buffer]) return;
      const std::uint64_t bytes = ops[op].amount, block = slices.block;
      // Blocks without gaps are one piece.
      if (block != 0 && slice.stride == 1) return enter(slice.buffer, slice.offset, bytes, writes);
      if (block != 0 && slice.stride == -1 && bytes != 0 && bytes % block == 0) {
        return enter(slice.buffer, slice.offset + block - bytes, bytes, writes);
      }
      each_block(slice, block, bytes,
                 [&](std::uint64_t offset, std::uint64_t length) { enter(slice.buffer, offset, length, writes); });
    };
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

}  // namespace isthmus::proof
