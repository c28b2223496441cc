#include "proof/defects.hpp"

#include <array>

#include "base/error.hpp"

namespace isthmus::proof {

const char* name_of(DefectKind kind) {
  static constexpr std::array names{"?",    "unwritten", "twice", "offset", "order",    "result",         "constant",
                                    "race", "unmatched", "size",  "timing", "deadlock", "synchronisation"};
  const auto index = static_cast<std::size_t>(kind);
  return names[index < names.size() ? index : 0];
}

std::string operation_text(const Schedule& schedule, Rank rank, std::uint32_t index) {
  const Operation& op = schedule.ops_of(rank)[index];
  std::string out = message("rank ", rank, ", operation ", index, " (", name_of(op.kind));
  if (op.kind != OpKind::calc) out += message(" ", op.amount, " B");
  const bool from = op.kind == OpKind::recv || op.kind == OpKind::get;
  if (from || op.kind == OpKind::send || op.kind == OpKind::put) {
    out += op.peer == any_rank ? " from any rank" : message(from ? " from rank " : " to rank ", op.peer);
  }
  if (op.kind == OpKind::send || op.kind == OpKind::recv) {
    out += op.tag == any_tag ? ", any tag" : message(", tag ", op.tag);
    if (op.comm != 0) out += message(", communicator ", op.comm);
  }
  return out + ")";
}

std::string bytes_text(const Schedule& schedule, std::uint32_t buffer, std::uint64_t offset, std::uint64_t bytes) {
  return message(schedule.buffers.names[buffer], " [", offset, ", ", offset + bytes, ")");
}

}  // namespace isthmus::proof
