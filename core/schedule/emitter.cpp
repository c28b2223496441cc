#include <algorithm>

#include "schedule/collective.hpp"

namespace isthmus::schedule {

std::uint32_t Emitter::message(OpKind kind, Rank peer, std::uint64_t bytes, Slice slice) {
  Operation& op = out_->next();
  op.kind = kind;
  op.amount = bytes;
  op.peer = world_.empty() ? peer : world_[peer];
  op.tag = tag_;
  op.comm = comm_;
  op.cpu = cpu_;
  // A protocol is the sender's; where memory is accessed both sides have to know.
  if (kind == OpKind::send || mode_ > static_cast<std::uint8_t>(Protocol::rendezvous)) op.mode = mode_;
  if (buffers_) {
    (kind == OpKind::send ? out_->slices().from : out_->slices().to) = slice;
    use(slice, bytes);
  }
  return out_->size() - 1;
}

std::uint32_t Emitter::local(OpKind kind, std::uint64_t bytes, const Slices& slices, ReduceOrder order) {
  Operation& op = out_->next();
  op.kind = kind;
  op.amount = bytes;
  op.cpu = cpu_;
  op.mode = static_cast<std::uint8_t>(order);
  if (buffers_) {
    out_->slices() = slices;
    for (const Slice& side : {slices.from, slices.to}) {
      each_block(side, slices.block, bytes,
                 [&](std::uint64_t offset, std::uint64_t length) { use({side.buffer, 0, offset}, length); });
    }
  }
  return out_->size() - 1;
}

void Emitter::use(const Slice& slice, std::uint64_t bytes) {
  if (slice.buffer == scratch_buffer) scratch_bytes_ = std::max(scratch_bytes_, slice.offset + bytes);
}

}  // namespace isthmus::schedule
