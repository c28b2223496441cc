#include "simulate/explain/work_bound.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "simulate/engine/resources.hpp"
#include "simulate/model/costs.hpp"

namespace isthmus::simulate {
namespace {

/// Work of one resource: picoseconds, and picoseconds per byte of the size.
struct Work {
  double fixed = 0;
  double per_byte = 0;
  bool used = false;

  /// Something that takes so long, and so much more for each byte after the first of `units` times the size.
  void add(Picoseconds begin, double rate, std::uint64_t units) {
    used = true;
    fixed += static_cast<double>(begin);
    if (units == 0) return;
    fixed -= rate + 0.5;  // times are rounded to picoseconds
    per_byte += rate * static_cast<double>(units);
  }
  [[nodiscard]] double at(std::uint64_t size) const { return fixed + per_byte * static_cast<double>(size); }
};

/// Relative rounding error of sums of millions of numbers.
constexpr double rounding = 1e-9;

}  // namespace

std::vector<double> work_bound(const Schedule& schedule, const SimulationOptions& options, std::uint64_t unit,
                               std::span<const std::uint64_t> sizes) {
  require(unit >= 1, "the unit must be at least 1 byte");
  require(std::ranges::all_of(sizes, [](std::uint64_t size) { return size >= 1; }), "sizes must be at least 1");
  std::uint32_t cpus = 1, nics = 1;
  for (const Operation& op : schedule.ops) {
    cpus = std::max<std::uint32_t>(cpus, op.cpu + 1U);
    nics = std::max<std::uint32_t>(nics, op.nic + 1U);
  }
  const Resources resources(schedule.ranks, cpus, nics, options.places);
  const Costs costs(options.cost, options.places);
  // Which piece of a level holds depends on the size.
  LevelCost least_costs[levels];
  std::ranges::transform(options.cost, least_costs, least_of);
  // Between times on lines, the least time of a byte is that of one of them.
  const auto least_rate = [](double rate, const std::vector<WorkTime>& times) {
    if (times.empty()) return rate;
    rate = std::numeric_limits<double>::infinity();
    for (const WorkTime& one : times) rate = std::min(rate, one.time / static_cast<double>(one.bytes));
    return rate;
  };
  const double copy_rate = least_rate(options.copy_rate, options.copy_times);
  const double reduce_rate = least_rate(options.reduce_rate, options.reduce_times);
  std::vector<Work> work(resources.size());
  std::uint64_t last = 0, units = 0;  // amounts repeat: no division for each
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    for (const Operation& op : schedule.ops_of(r)) {
      if (op.kind == OpKind::recv || op.kind == OpKind::put || op.kind == OpKind::get) continue;
      if (op.kind == OpKind::calc) {
        work[resources.cpu(r, op.cpu)].add(work_of(op, options), 0, 0);
        continue;
      }
      if (op.amount != last) {
        if (op.amount % unit != 0) return {};
        last = op.amount;
        units = last / unit;
      }
      if (op.kind != OpKind::send) {
        const double rate = (op.kind == OpKind::copy ? copy_rate : reduce_rate) * options.compute_factor;
        // No byte of these is free.
        work[resources.cpu(r, op.cpu)].add(static_cast<Picoseconds>(rate), rate, units);
        continue;
      }
      const Level level = costs.level_of(r, op.peer);
      const LevelCost& cost = least_costs[static_cast<int>(level)];
      work[resources.cpu(r, op.cpu)].add(cost.o_send, cost.O, units);
      const double received = options.receive == Receive::loggopsim ? std::max(*cost.O_recv, cost.G) : *cost.O_recv;
      work[resources.cpu(op.peer, op.cpu)].add(cost.o_recv, received, units);
      work[resources.nic(r, op.nic, level == Level::network)].add(cost.g, cost.G, units);
      work[resources.nic(op.peer, op.nic, level == Level::network) + 1].add(cost.g, cost.G, units);
    }
  }
  // The gap of the last message need not be over.
  double after = std::numeric_limits<double>::infinity();
  for (const LevelCost& cost : least_costs)
    after = std::min(after, static_cast<double>(cost.o_send + cost.L + cost.o_recv - cost.g));
  std::vector<double> least(sizes.size(), 0);
  for (std::uint32_t i = 0; i < work.size(); ++i) {
    if (!work[i].used) continue;
    const double more = resources.is_cpu(i) ? 0 : after;
    for (std::size_t s = 0; s < sizes.size(); ++s)
      least[s] = std::max(least[s], work[i].at(sizes[s]) * (1 - rounding) + more);
  }
  return least;
}

}  // namespace isthmus::simulate
