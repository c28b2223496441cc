#include "simulate/engine/dependencies.hpp"
#include "base/interruption.hpp"

#include <algorithm>
#include <limits>

namespace isthmus::simulate {

Dependencies::Dependencies(const Schedule& schedule) : schedule_(&schedule), work_(schedule.ops.size()) {
  constexpr std::int64_t far = std::numeric_limits<std::int16_t>::max();
  const auto is_far = [](std::int64_t distance) { return static_cast<std::uint64_t>(distance + far) > 2 * far; };
  const auto phase = [](Edge e) -> unsigned { return e.on_start() ? started : done; };
  unsigned streams = 0;  // all bits of all streams and interfaces
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    const Operation* ops = schedule.ops.data() + schedule.op_first[r];
    const Edge* edges = schedule.edges.data() + schedule.edge_first[r];
    Work* work = work_.data() + schedule.op_first[r];
    const std::uint32_t n = schedule.ops_in(r);
    const auto all_edges = static_cast<std::uint32_t>(schedule.edge_first[r + 1] - schedule.edge_first[r]);
    for (std::uint32_t i = 0; i < n; ++i) {
      const Operation& op = ops[i];
      streams |= op.cpu | op.nic;
      const std::uint32_t end = i + 1 < n ? ops[i + 1].first_edge : all_edges;
      unsigned count = std::min(end - op.first_edge, many);
      unsigned bits = static_cast<unsigned>(op.kind);
      std::int64_t first = 0, second = 0;
      if (count - 1 < 2) {
        const Edge a = edges[op.first_edge], b = edges[end - 1];
        first = std::int64_t{a.to()} - i;
        second = std::int64_t{b.to()} - i;
        bits |= phase(a) << first_phase_at | phase(b) << second_phase_at;
        if (is_far(first) || is_far(second)) count = many;
      }
      work[i] = {static_cast<std::uint16_t>(std::min<std::uint32_t>(op.needs, too_many)),
                 static_cast<std::int16_t>(first), static_cast<std::int16_t>(second),
                 static_cast<std::uint16_t>(bits | count << count_at)};
      if (op.needs >= too_many) more_needs_.emplace(schedule.op_first[r] + i, op.needs);
      shape_.one_sided |= op.kind == OpKind::put || op.kind == OpKind::get;
      if (op.kind == OpKind::send) {
        shape_.rendezvous |= op.mode == static_cast<std::uint8_t>(Protocol::rendezvous);
        if (op.mode == static_cast<std::uint8_t>(Protocol::by_size))
          shape_.largest_send = std::max(shape_.largest_send, op.amount);
      }
      if (op.kind == OpKind::recv) {
        shape_.wildcards |= op.peer == any_rank || op.tag == any_tag;
        if (count == many)
          for (std::uint32_t e = op.first_edge; e < end; ++e) shape_.receives_free_on_start |= edges[e].on_start();
        else shape_.receives_free_on_start |= ((bits >> first_phase_at | bits >> second_phase_at) & started) != 0;
      }
    }
  }
  if (streams == 0) return;
  for (const Operation& op : schedule.ops) {
    shape_.cpus = std::max<std::uint32_t>(shape_.cpus, op.cpu + 1U);
    shape_.nics = std::max<std::uint32_t>(shape_.nics, op.nic + 1U);
  }
}

bool Dependencies::fulfil_one_of_many(std::uint64_t op) {
  if (--more_needs_.at(op) != 0) return false;
  work_[op].needs = 0;
  return true;
}

}  // namespace isthmus::simulate
