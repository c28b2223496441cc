#include <algorithm>

#include "simulate/engine/windows.hpp"

namespace isthmus::simulate {

bool fits_windows(const Schedule& schedule, const Shape& shape, const SimulationOptions& options) {
  const LevelCost& level = options.cost[static_cast<int>(Level::network)];
  return schedule.ranks >= 1 && options.detail != Detail::ops && options.receive == Receive::loggp &&
         options.until == latest && options.loops == nullptr && level.pieces.empty() && !shape.one_sided &&
         !shape.receives_free_on_start && !shape.rendezvous && shape.largest_send <= level.S &&
         (options.free.empty() || options.free.size() == std::size_t{schedule.ranks} * 3) && level.o_send + level.L > 0;
}

bool windows_pay(const Schedule& schedule) {
  constexpr std::size_t least = 4096;
  constexpr Rank sample = 16;
  if (schedule.ops.size() < least) return false;
  if (schedule.ranks < sample) return true;
  const Rank step = (schedule.ranks - 1) / (sample - 1);
  // A wave that begins at one rank and goes on by a few: of a block of ranks hardly one does anything in a window.
  Rank beginning = 0;
  std::ptrdiff_t sends = 0;
  for (Rank r = 0; r < sample; ++r) {
    const auto ops_of = schedule.ops_of(r * step);
    const auto some = ops_of.first(std::min<std::size_t>(ops_of.size(), 64));
    beginning +=
        std::ranges::any_of(some, [](const Operation& op) { return op.needs == 0 && op.kind != OpKind::recv; });
    sends = std::max(sends, std::ranges::count(some, OpKind::send, &Operation::kind));
  }
  if (beginning <= 1 && sends <= 3) return false;
  const std::uint32_t all = schedule.ops_in(0);
  // Looking at more would take longer than a hundredth of the simulation.
  const auto ops = static_cast<std::uint32_t>(std::min<std::size_t>({all, 4096, 64 + schedule.ops.size() / 1024}));
  for (Rank r = 0; r < sample; ++r)
    if (schedule.ops_in(r * step) != all) return true;
  std::uint32_t begin = 0;
  for (std::uint32_t i = 0; i < ops; ++i) {
    const Operation& op = schedule.ops[i];
    for (Rank r = 1; r < sample; ++r)
      if (const Operation& other = schedule.ops_of(r * step)[i]; other.kind != op.kind || other.amount != op.amount)
        return true;
    const auto is_rival = [&](std::uint32_t of) { return schedule.ops[of].kind != OpKind::recv; };
    std::uint32_t freed = 0;
    for (const Edge e : schedule.dependants(0, i)) freed += is_rival(e.to()) ? 1U : 0U;
    if (op.needs == 0 && is_rival(i)) ++begin;
    if (freed > 1 || begin > 1) return true;
  }
  return false;
}

Remembered remembered(const Schedule& schedule) {
  constexpr Rank sample = 16;
  constexpr std::size_t some = 64;
  constexpr std::uint64_t nanosecond = 1000;
  const Rank step = std::max<Rank>(1, schedule.ranks / sample);
  for (Rank r = 0; r < schedule.ranks; r += step) {
    const auto ops = schedule.ops_of(r);
    for (const Operation& op : ops.first(std::min(ops.size(), some)))
      if (op.kind == OpKind::calc && op.amount % nanosecond != 0) return Remembered::parents;
  }
  return Remembered::all;
}

}  // namespace isthmus::simulate
