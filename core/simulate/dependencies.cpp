#include "simulate/dependencies.hpp"

#include <algorithm>
#include <limits>

namespace isthmus {

Dependencies::Dependencies(const Schedule& schedule) : schedule_(schedule), work_(schedule.ops.size()) {
  constexpr std::int64_t far = std::numeric_limits<std::int16_t>::max();
  std::uint8_t cpu = 0, nic = 0;
  for (Rank r = 0; r < schedule.ranks; ++r) {
    const Operation* ops = schedule.ops.data() + schedule.op_first[r];
    const Edge* edges = schedule.edges.data() + schedule.edge_first[r];
    Work* work = work_.data() + schedule.op_first[r];
    const std::uint32_t n = schedule.ops_in(r);
    const auto all_edges = static_cast<std::uint32_t>(schedule.edge_first[r + 1] - schedule.edge_first[r]);
    for (std::uint32_t i = 0; i < n; ++i) {
      const Operation& op = ops[i];
      cpu = std::max(cpu, op.cpu);
      nic = std::max(nic, op.nic);
      const std::uint32_t end = i + 1 < n ? ops[i + 1].first_edge : all_edges;
      unsigned count = std::min(end - op.first_edge, many);
      unsigned bits = static_cast<unsigned>(op.kind);
      Work w{0, 0, 0, 0};
      if (count == 1 || count == 2) {
        const Edge first = edges[op.first_edge], second = edges[end - 1];
        const std::int64_t a = std::int64_t{first.to()} - i, b = std::int64_t{second.to()} - i;
        if (std::max(std::abs(a), std::abs(b)) > far) count = many;
        w.first = static_cast<std::int16_t>(a);
        w.second = static_cast<std::int16_t>(b);
        bits |= (first.on_start() ? started : done) << first_phase_at | (second.on_start() ? started : done) << second_phase_at;
      }
      w.bits = static_cast<std::uint16_t>(bits | count << count_at);
      w.needs = static_cast<std::uint16_t>(std::min<std::uint32_t>(op.needs, too_many));
      if (w.needs == too_many) more_needs_.emplace(schedule.op_first[r] + i, op.needs);
      if (op.kind == OpKind::recv) {
        shape_.wildcards |= op.peer == any_rank || op.tag == any_tag;
        for (std::uint32_t e = op.first_edge; e < end && !shape_.receives_free_on_start; ++e)
          shape_.receives_free_on_start = edges[e].on_start();
      }
      work[i] = w;
    }
  }
  shape_.cpus = cpu + 1U;
  shape_.nics = nic + 1U;
}

bool Dependencies::fulfil_one_of_many(std::uint64_t op) {
  if (--more_needs_.at(op) != 0) return false;
  work_[op].needs = 0;
  return true;
}

}  // namespace isthmus
