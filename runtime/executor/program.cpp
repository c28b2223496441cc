#include "runtime/executor/program.hpp"

#include <string>

#include "base/error.hpp"

namespace isthmus::runtime {
namespace {

using schedule::OpKind;

std::uint8_t buffer_of(const schedule::Slice& slice, bool needed, std::uint64_t bytes, std::uint32_t op) {
  if (slice.buffer == schedule::Slice::none) {
    require(!needed || bytes == 0, "operation ", op, " moves ", bytes, " bytes but names no buffer");
    return Program::no_buffer;
  }
  require(slice.buffer < Program::no_buffer, "buffer ", slice.buffer, ": up to 255 buffers can be carried out");
  return static_cast<std::uint8_t>(slice.buffer);
}

}  // namespace

Program program_of(const schedule::Schedule& s, schedule::Rank rank, bool accesses) {
  require(rank < s.ranks, "rank ", rank, " is none of ", s.ranks, " ranks");
  Program out;
  const auto ops = s.ops_of(rank);
  out.steps.resize(ops.size());
  out.needs.resize(ops.size());
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const schedule::Operation& op = ops[i];
    const schedule::Slices slices = s.slices.empty() ? schedule::Slices{} : s.slices[s.op_first[rank] + i];
    const bool access = op.kind == OpKind::put || op.kind == OpKind::get;
    const bool message = op.kind == OpKind::send || op.kind == OpKind::recv;
    require(accesses || !access, "operation ", i, " of rank ", rank, " is a ", schedule::name_of(op.kind),
            ": sends and receives can be carried out");
    require(op.kind != OpKind::recv || (op.peer != schedule::any_rank && op.tag != schedule::any_tag), "operation ", i,
            " of rank ", rank, " receives from any rank or of any tag: receives that name both can be carried out");
    Step& step = out.steps[i];
    step.amount = op.amount;
    step.peer = message || access ? op.peer : 0;
    step.tag = op.tag;
    step.comm = op.comm;
    step.kind = op.kind;
    step.order = op.kind == OpKind::reduce ? static_cast<schedule::ReduceOrder>(op.mode) : schedule::ReduceOrder::after;
    const bool reads = access || op.kind == OpKind::send || op.kind == OpKind::copy || op.kind == OpKind::reduce;
    const bool writes = access || op.kind == OpKind::recv || op.kind == OpKind::copy || op.kind == OpKind::reduce;
    step.from_buffer = buffer_of(slices.from, reads, op.amount, i);
    step.to_buffer = buffer_of(slices.to, writes, op.amount, i);
    step.from = slices.from.offset;
    step.to = slices.to.offset;
    step.block = slices.block;
    step.from_stride = slices.from.stride;
    step.to_stride = slices.to.stride;
    step.first_edge = static_cast<std::uint32_t>(out.edges.size());
    for (const schedule::Edge edge : s.dependants(rank, i)) out.edges.push_back(edge);
    out.needs[i] = op.needs;
    if (op.needs == 0) out.first.push_back(i);
  }
  const std::size_t names = s.buffers.names.size();
  const auto at = s.buffers.bytes.begin() + static_cast<std::ptrdiff_t>(rank * names);
  out.buffers.assign(at, at + static_cast<std::ptrdiff_t>(names));
  return out;
}

}  // namespace isthmus::runtime
