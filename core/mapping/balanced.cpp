#include "mapping/balanced.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "mapping/anneal.hpp"
#include "mapping/bipartition.hpp"
#include "mapping/effort.hpp"
#include "mapping/group_costs.hpp"
#include "mapping/objective.hpp"
#include "mapping/task_moves.hpp"

namespace isthmus {
namespace {

/// Of the time, for parts as wholes.
constexpr double share_of_parts = 0.35;

}  // namespace

std::vector<double> place_loads(const TaskGraph& graph, const Target& target, const Map& map) {
  std::vector<double> load(target.places(), 0);
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) load[map[t]] += graph.load_of(t);
  return load;
}

Map balanced(const TaskGraph& given, const Target& target, const BalancedOptions& o) {
  require(o.seconds > 0, "balanced: ", o.seconds, " seconds; allowed: above 0");
  require(o.imbalance >= 0, "balanced: imbalance ", o.imbalance, "; allowed: 0 or more");
  require(o.speed.empty() || o.speed.size() == target.places(), "balanced: ", o.speed.size(), " speeds of ",
          target.places(), " places");
  for (const double s : o.speed) require(s > 0, "balanced: speed ", s, "; allowed: above 0");
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
  const double left = std::max(o.seconds - effort::bipartition(graph, target.places()), 0.1 * o.seconds);
  double for_moves = left;
  Rng rng(o.seed);
  Map map = dual_bipartition_of_loads(graph, target, limit, rng.next());
  double group_limit = 0;
  if (target.groups() > 1) {
    const std::vector<double> loads = group_loads(graph, target, map);
    const double pairs = static_cast<double>(target.groups()) * (target.groups() - 1);
    group_limit = o.group_limit * std::accumulate(loads.begin(), loads.end(), 0.0) / pairs;
  }
  if (std::all_of(limit.begin(), limit.end(), [&](double l) { return l == limit[0]; })) {
    TaskGraph parts = quotient(graph, map, target.places());
    Map identity(target.places());
    std::iota(identity.begin(), identity.end(), 0U);
    AnnealOptions a;
    a.seconds = share_of_parts * left;
    for_moves -= a.seconds;
    a.seed = rng.next();
    a.group_limit = group_limit;
    const Map moved = anneal(parts, target.with_room_for_one(), identity, a);
    for (std::uint32_t& p : map) p = moved[p];
  }
  TaskMoveOptions m;
  m.seconds = for_moves;
  m.seed = rng.next();
  m.group_limit = group_limit;
  return move_tasks(graph, target, limit, map, m);
}

}  // namespace isthmus
