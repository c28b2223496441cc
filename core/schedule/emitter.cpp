#include <algorithm>

#include "schedule/collective.hpp"

namespace isthmus {

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
  if (buffers_) name(kind == OpKind::send ? out_->slices().from : out_->slices().to, slice, bytes);
  return out_->size() - 1;
}

std::uint32_t Emitter::local(OpKind kind, std::uint64_t bytes, Slice from, Slice to, ReduceOrder order) {
  Operation& op = out_->next();
  op.kind = kind;
  op.amount = bytes;
  op.cpu = cpu_;
  op.mode = static_cast<std::uint8_t>(order);
  if (buffers_) {
    Slices& slices = out_->slices();
    name(slices.from, from, bytes);
    name(slices.to, to, bytes);
  }
  return out_->size() - 1;
}

void Emitter::name(Slice& place, Slice slice, std::uint64_t bytes) {
  place = slice;
  if (slice.buffer == scratch_buffer) scratch_bytes_ = std::max(scratch_bytes_, slice.offset + bytes);
}

}  // namespace isthmus
