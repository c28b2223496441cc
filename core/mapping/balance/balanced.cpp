#include "mapping/balance/balanced.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/in_parallel.hpp"
#include "base/rng.hpp"
#include "mapping/balance/task_levels.hpp"
#include "mapping/balance/task_moves.hpp"
#include "mapping/construct/bipartition.hpp"
#include "mapping/construct/greedy.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/anneal.hpp"
#include "mapping/refine/group_costs.hpp"

namespace isthmus::mapping {
namespace {

/// Sweeps after which another start gains more than going on.
constexpr double sweeps_of_a_start = 400;
/// With time for as many, map_by_levels() gets this part of it, and the best of it and the others is kept.
constexpr double part_of_levels = 0.2;
constexpr double most_starts = 4;
/// A bipartition is begun with, unless it leaves less than this part of the time.
constexpr double least_for_moves = 0.05;
/// Where all distances are nearly the same, heat gains nothing and loses what the parts have: parts move as wholes, for
/// this share of the time, then tasks at low temperatures.
constexpr double share_of_parts = 0.35;
constexpr double hot_of_flat = 0.05;
constexpr double cold_of_flat = 0.005;

Map parts_moved(const TaskGraph& graph, const Target& target, const Map& map, const AnnealOptions& options) {
  Map identity(target.places());
  std::iota(identity.begin(), identity.end(), 0U);
  const Map moved = anneal(quotient(graph, map, target.places()), target.with_room_for_one(), identity, options);
  Map out = map;
  for (std::uint32_t& p : out) p = moved[p];
  return out;
}

/// The map with the least excess of load over the limits, of these with the fewest hop-bytes.
Map best_of(const TaskGraph& graph, const Target& target, std::span<const double> limit, std::vector<Map>& maps) {
  std::vector<std::pair<double, double>> cost;
  for (const Map& map : maps) {
    const std::vector<double> load = place_loads(graph, target, map);
    double excess = 0;
    for (std::uint32_t p = 0; p < target.places(); ++p)
      if (limit[p] > 0) excess = std::max(excess, load[p] / limit[p] - 1);
    cost.emplace_back(excess > 1e-9 ? excess : 0, hop_bytes(graph, target, map));
  }
  return std::move(maps[static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin())]);
}

}  // namespace

std::vector<double> place_loads(const TaskGraph& graph, const Target& target, const Map& map) {
  std::vector<double> load(target.places(), 0);
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) load[map[t]] += graph.load_of(t);
  return load;
}

Map balanced(const TaskGraph& given, const Target& target, const BalancedOptions& o) {
  require(o.seconds > 0, "balanced: ", o.seconds, " seconds; must be above 0");
  require(o.imbalance >= 0, "balanced: imbalance ", o.imbalance, "; must be 0 or more");
  require(o.speed.empty() || o.speed.size() == target.places(), "balanced: ", o.speed.size(), " speeds of ",
          target.places(), " places");
  for (const double s : o.speed) require(s > 0, "balanced: speed ", s, "; must be above 0");
  const bool by_tasks = target.slots() != target.places();
  TaskGraph graph = given;
  std::vector<double> limit(target.places());
  if (by_tasks) {
    require_room(graph, target);
    graph.load.clear();
    for (std::uint32_t p = 0; p < target.places(); ++p) limit[p] = target.capacity(p);
  } else {
    for (std::uint32_t p = 0; p < target.places(); ++p) limit[p] = o.speed.empty() ? 1 : o.speed[p];
    const double share = graph.total_load() / std::accumulate(limit.begin(), limit.end(), 0.0);
    for (double& l : limit) l *= share * (1 + o.imbalance);
  }
  Rng rng(o.seed);
  double seconds = o.seconds;
  Map by_levels;
  if (has_levels(graph, target) && seconds_of_levels(graph, target) < seconds) {
    const bool has_time = seconds > sweeps_of_a_start * effort::sweep_of_moves(graph);
    const double part = has_time ? part_of_levels * seconds : seconds;
    by_levels = map_by_levels(graph, target, limit, part, rng.next());
    if (!by_levels.empty() && !has_time) return by_levels;
    seconds = std::max(seconds - (by_levels.empty() ? effort::joining(graph) : part), 0.1 * seconds);
  }
  const bool quick = effort::bipartition(graph, target.places()) > (1 - least_for_moves) * seconds;
  const double begins = quick ? effort::line(graph) : effort::bipartition(graph, target.places());
  const double left = std::max(seconds - begins, 0.1 * seconds);
  const double a_start = begins + sweeps_of_a_start * effort::sweep_of_moves(graph);
  const auto starts = static_cast<std::uint32_t>(quick ? 1.0 : std::clamp((left + begins) / a_start, 1.0, most_starts));
  const bool alike = std::all_of(limit.begin(), limit.end(), [&](double l) { return l == limit[0]; });
  const bool flat = target.axes().empty();
  std::vector<std::uint64_t> seeds(2 * starts);
  for (auto& s : seeds) s = rng.next();
  std::vector<Map> maps(starts);
  in_parallel(starts, o.threads, [&](std::size_t i) {
    Map begin = quick ? linear_map_of_loads(graph, target, limit)
                      : dual_bipartition_of_loads(graph, target, limit, seeds[2 * i]);
    TaskMoveOptions m;
    m.seconds = starts == 1 ? left : (left + begins) / starts - begins;
    m.seed = seeds[2 * i + 1];
    if (flat) {
      m.hot = hot_of_flat;
      m.cold = cold_of_flat;
    }
    if (target.groups() > 1) {
      const std::vector<double> loads = group_loads(graph, target, begin);
      const double pairs = static_cast<double>(target.groups()) * (target.groups() - 1);
      m.group_limit = o.group_limit * std::accumulate(loads.begin(), loads.end(), 0.0) / pairs;
    }
    if (flat && alike) {
      AnnealOptions a;
      a.seconds = share_of_parts * m.seconds;
      a.seed = seeds[2 * i];
      a.group_limit = m.group_limit;
      m.seconds -= a.seconds;
      begin = parts_moved(graph, target, begin, a);
    }
    maps[i] = move_tasks(graph, target, limit, begin, m);
  });
  if (!by_levels.empty()) maps.push_back(std::move(by_levels));
  return best_of(graph, target, limit, maps);
}

}  // namespace isthmus::mapping
