#include "mapping/refine/anneal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/rng.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/axis_costs.hpp"
#include "mapping/refine/group_costs.hpp"
#include "mapping/refine/pair_costs.hpp"
#include "mapping/refine/slots.hpp"

namespace isthmus::mapping {
namespace {

/// -log of evenly spaced probabilities: what Metropolis' rule draws.
class Thresholds {
 public:
  Thresholds() {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      table_[i] = static_cast<float>(-std::log((static_cast<double>(i) + 0.5) / static_cast<double>(table_.size())));
    }
  }
  [[nodiscard]] float operator[](std::uint32_t i) const { return table_[i]; }
  static constexpr std::uint32_t bits = 11;

 private:
  std::array<float, 1U << bits> table_{};
};

/// Slots beside every slot, which swaps are proposed with.
struct Beside {
  std::uint32_t count;
  std::vector<std::uint32_t> slots;

  Beside(const Target& target, const Slots& all) : count(target.axes().empty() ? 12 : 6) {
    std::uint32_t wanted = count;
    const std::vector<std::uint32_t> places = target.neighbourhoods(wanted);
    count = wanted;
    slots.reserve(static_cast<std::size_t>(all.size()) * count);
    std::vector<std::uint32_t> first(target.places() + 1, 0);
    for (std::uint32_t p = 0; p < target.places(); ++p) first[p + 1] = first[p] + target.capacity(p);
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      const std::uint32_t p = all.place_of_slot(s);
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t q = places[static_cast<std::size_t>(p) * count + i];
        slots.push_back(first[q] + (target.capacity(q) == 0 ? 0 : (s - first[p]) % target.capacity(q)));
      }
    }
  }
};

template <class Costs>
class Annealer {
 public:
  Annealer(const Target& target, Slots& slots, Costs costs, std::uint64_t seed)
      : slots_(&slots),
        costs_(std::move(costs)),
        beside_(target, slots),
        anywhere_(target.axes().empty()),
        set_up_(effort::neighbourhoods(target)),
        rng_(seed) {}

  /// One proposal for every slot's task; returns the change of cost.
  double sweep(float temperature) {
    double change_of_sweep = 0;
    const std::uint32_t n = slots_->size();
    proposals_ += n;
    for (std::uint32_t u = 0; u < n; ++u) {
      if ((u & 0xFF) == 0) interruption_point();
      const std::uint64_t r = rng_.next();
      const auto low = static_cast<std::uint32_t>(r);
      const std::uint32_t degree = slots_->degree(u);
      std::uint32_t from = u;
      // Three of four proposals go beside a partner, one beside the task itself.
      if ((r >> 62) != 0 && degree > 0) {
        from = slots_->begin(u)[(static_cast<std::uint64_t>(low & 0xffff) * degree) >> 16].to;
      }
      std::uint32_t slot;
      if (anywhere_ && from == u) {
        slot = static_cast<std::uint32_t>((static_cast<std::uint64_t>(low) * n) >> 32);
      } else {
        const std::uint32_t near = ((low >> 16) * beside_.count) >> 16;
        slot = beside_.slots[static_cast<std::size_t>(slots_->slot_of(from)) * beside_.count + near];
      }
      const std::uint32_t v = slots_->task_at(slot);
      if (v == u) continue;
      const float most = temperature * thresholds_[(r >> 32) & ((1U << Thresholds::bits) - 1)];
      float change = costs_.change_at_best(u, v);
      if (change > most) continue;
      change += costs_.change_between(u, v);
      if (change > most) continue;
      costs_.swap(u, v);
      change_of_sweep += change;
    }
    return change_of_sweep;
  }

  Costs& costs() { return costs_; }
  /// Processor time so far, counted in steps.
  [[nodiscard]] double seconds() const { return set_up_ + costs_.seconds(proposals_); }

  /// Sweeps that only gain. Swaps of no gain are accepted too, so the end is many sweeps in which the cost stays.
  void quench(double most_seconds) {
    constexpr int patience = 20;
    const double end = seconds() + most_seconds;
    for (int idle = 0; idle < patience && seconds() < end; ++idle) {
      if (sweep(0) < 0) idle = -1;
    }
  }

 private:
  Slots* slots_;
  Costs costs_;
  Beside beside_;
  bool
      anywhere_;  ///< who is beside a task may be on the same switch, where a swap changes nothing: go anywhere instead
  double set_up_;  ///< seconds of beside_
  std::uint64_t proposals_ = 0;
  Rng rng_;
  Thresholds thresholds_;
};

/// Weight of bytes between groups beyond the limit at the first temperature.
constexpr double softest = 10;

template <class Costs>
Map run(const Target& target, Slots& slots, Costs costs, const AnnealOptions& o) {
  Annealer<Costs> annealer(target, slots, std::move(costs), o.seed);
  const double unit = slots.mean_bytes_of_task();
  // The last part is for sweeps that only gain.
  constexpr double last = 0.07;
  constexpr double most_steps = 20;
  double fewest = most_steps;  // so that it does not cool too fast, but no more than there is time for
  const double begin = annealer.seconds();
  const double all = o.seconds > 0 ? std::max(o.seconds * (1 - last) - begin, 1e-9) : 0;
  for (int i = 0; all > 0; ++i) {
    const double done = std::min((annealer.seconds() - begin) / all, static_cast<double>(i) / fewest);
    if (done >= 1) break;
    const double heat = std::pow(o.cold / o.hot, done);
    // Soft while groups find their shape, hard in the end.
    if constexpr (std::is_same_v<Costs, GroupCosts>) annealer.costs().set_weight(softest / heat);
    annealer.sweep(static_cast<float>(unit * o.hot * heat));
    if (i == 0) fewest = std::clamp(all / std::max(annealer.seconds() - begin, 1e-12), 1.0, most_steps);
  }
  annealer.quench(o.seconds > 0 ? 1.5 * last * o.seconds : std::numeric_limits<double>::infinity());
  return slots.map();
}

}  // namespace

Map anneal(const TaskGraph& graph, const Target& target, const Map& start, const AnnealOptions& options) {
  require(options.seconds >= 0 && options.hot > 0 && options.cold > 0 && options.cold <= options.hot,
          "anneal: seconds ", options.seconds, ", hot ", options.hot, ", cold ", options.cold,
          "; must be seconds >= 0 and 0 < cold <= hot");
  if (target.places() < 2) {
    require_map(graph, target, start);
    return start;
  }
  Slots slots(graph, target, start);
  if (options.group_limit > 0) {
    const GroupCosts costs(target, slots, options.group_limit, softest);
    return run(target, slots, costs, options);
  }
  if (AxisCosts::suits(target)) return run(target, slots, AxisCosts(target, slots), options);
  return run(target, slots, PairCosts(target, slots), options);
}

Map improve(const TaskGraph& graph, const Target& target, const Map& start, std::uint64_t seed) {
  AnnealOptions o;
  o.seconds = 0;
  o.seed = seed;
  return anneal(graph, target, start, o);
}

}  // namespace isthmus::mapping
