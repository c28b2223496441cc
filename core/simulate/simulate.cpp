#include "simulate/simulate.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "simulate/engine/dependencies.hpp"
#include "simulate/engine/variants.hpp"
#include "simulate/engine/windows.hpp"
#include "simulate/shortcuts/skip_iterations.hpp"
#include "simulate/shortcuts/symmetry.hpp"

namespace isthmus::simulate {
namespace {

Simulated simulate_all(const Schedule& schedule, const SimulationOptions& options) {
  Dependencies dependencies(schedule);
  const Shape& shape = dependencies.shape();
  const bool plain = shape.cpus == 1 && shape.nics == 1 && options.places.topology == nullptr &&
                     options.noise.kind == NoiseSpec::Kind::none && !options.stop_at_ties;
  if (options.model != Model::loggops) return simulate_network(schedule, options, std::move(dependencies));
  if (plain && options.windows && fits_windows(schedule, shape, options) && windows_pay(schedule)) {
    for (Remembered back = remembered(schedule);; back = Remembered::all) {
      if (auto result = simulate_in_windows(schedule, options, std::move(dependencies), back))
        return *std::move(result);
      dependencies = Dependencies(schedule);
      if (back == Remembered::all) break;
    }
  }
  return plain ? simulate_plain(schedule, options, std::move(dependencies))
               : simulate_general(schedule, options, std::move(dependencies));
}

/// The simulation of one rank of each kind, told of all; nothing where that may not be exact.
std::optional<Simulated> simulate_kinds(const Schedule& schedule, const SimulationOptions& options) {
  // Where kinds have fewer ranks than this, looking for them costs more than it saves.
  constexpr std::uint32_t fewest = 4;
  if (options.places.topology != nullptr || options.noise.kind != NoiseSpec::Kind::none ||
      options.detail == Detail::ops || schedule.ranks < fewest)
    return std::nullopt;
  const auto kinds = quotient(schedule, std::min<std::uint32_t>(schedule.ranks / fewest, 4096));
  if (!kinds) return std::nullopt;
  SimulationOptions one_each = options;
  one_each.stop_at_ties = true;
  one_each.progress = nullptr;
  Simulated few = simulate_all(kinds->schedule, one_each);
  if (few.tie || !few.stuck.empty()) return std::nullopt;
  Simulated all;
  all.makespan = few.makespan;
  all.events = few.events;
  all.steps = few.steps;
  all.simulated_ranks = kinds->schedule.ranks;
  all.stopped = few.stopped;
  all.executed = schedule.ops.size();
  for (std::size_t k = 0; k < kinds->ranks.size(); ++k)
    for (const Operation& op : kinds->schedule.ops_of(static_cast<Rank>(k)))
      if (op.kind == OpKind::send) {
        all.messages += kinds->ranks[k];
        all.bytes += kinds->ranks[k] * op.amount;
      }
  if (few.stopped) {  // what ranks that are simulated have done
    all.executed = few.executed;
    all.messages = few.messages;
    all.bytes = few.bytes;
  }
  all.finish.resize(schedule.ranks);
  const std::size_t own = few.free.size() / kinds->ranks.size();
  all.free.resize(own * schedule.ranks);
  all.breakdown.resize(few.breakdown.empty() ? 0 : std::size_t{schedule.ranks} * shares);
  for (Rank r = 0; r < schedule.ranks; ++r) {
    const std::size_t k = kinds->kind[r];
    all.finish[r] = few.finish[k];
    for (std::size_t i = 0; i < own; ++i) all.free[r * own + i] = few.free[k * own + i];
    if (!few.breakdown.empty())
      std::copy_n(few.breakdown.begin() + static_cast<std::ptrdiff_t>(k * shares), shares,
                  all.breakdown.begin() + static_cast<std::ptrdiff_t>(std::size_t{r} * shares));
  }
  return all;
}

void require_allowed(const LevelCost& cost) {
  require(cost.L >= 0 && cost.o_send >= 0 && cost.o_recv >= 0 && cost.g >= 0 && cost.G >= 0 && cost.O >= 0 &&
              cost.O_recv.value_or(0) >= 0 && cost.per_hop >= 0,
          "LogGOPS parameters must be 0 or more");
  for (const Picoseconds time : {cost.L, cost.o_send, cost.o_recv, cost.g, cost.per_hop})
    require(time <= longest_parameter, "a latency, overhead or gap of ", time / 1'000'000'000'000,
            " s: must be at most ", longest_parameter / 1'000'000'000'000, " s");
}

}  // namespace

Simulated simulate(const Schedule& schedule, const SimulationOptions& options) {
  for (const LevelCost& cost : options.cost) {
    require_allowed(cost);
    std::uint64_t above = 0;
    for (const LevelCost& piece : cost.pieces) {
      require_allowed(piece);
      require(piece.above > above && piece.after >= 1 && piece.after <= piece.above,
              "pieces of a level must ascend in bytes, and `after` must be 1 to the bytes above which the piece holds");
      above = piece.above;
    }
  }
  require(options.copy_rate >= 0 && options.reduce_rate >= 0, "rates must be 0 or more");
  require(options.start >= 0 && options.start <= longest_parameter, "the time of a start must be 0 or more");
  for (const auto* times : {&options.copy_times, &options.reduce_times}) {
    std::uint64_t bytes = 0;
    for (const WorkTime& one : *times) {
      require(one.bytes > bytes && one.time >= 0, "times of copies and reductions must ascend in bytes, from 1 on");
      bytes = one.bytes;
    }
  }
  // Ranks that begin at different times are none that are alike.
  if (options.symmetry && options.free.empty())
    if (auto result = simulate_kinds(schedule, options)) return *std::move(result);
  if (options.skip)
    if (auto result = simulate_repeating(schedule, options, simulate_all)) return *std::move(result);
  return simulate_all(schedule, options);
}

}  // namespace isthmus::simulate
