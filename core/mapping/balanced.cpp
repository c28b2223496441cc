#include "mapping/balanced.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "mapping/anneal.hpp"
#include "mapping/bipartition.hpp"
#include "mapping/group_costs.hpp"
#include "mapping/task_moves.hpp"

namespace isthmus {

std::vector<double> place_loads(const TaskGraph& graph, const Target& target, const Map& map) {
  std::vector<double> load(target.places(), 0);
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) load[map[t]] += graph.load_of(t);
  return load;
}

Map balanced(const TaskGraph& graph, const Target& target, const BalancedOptions& o) {
  require(o.imbalance >= 0, "balanced: imbalance ", o.imbalance, "; allowed: 0 or more");
  require(o.speed.empty() || o.speed.size() == target.places(), "balanced: ", o.speed.size(), " speeds of ",
          target.places(), " places");
  require(target.slots() == target.places(), "balanced: places have capacities; loads and speeds say what they get");
  for (const double s : o.speed) require(s > 0, "balanced: speed ", s, "; allowed: above 0");
  Rng rng(o.seed);
  const std::vector<double> share = o.speed.empty() ? std::vector<double>(target.places(), 1) : o.speed;
  const double unit = graph.total_load() / std::accumulate(share.begin(), share.end(), 0.0);
  std::vector<double> limit(share);
  for (double& l : limit) l *= unit * (1 + o.imbalance);

  Map map = dual_bipartition_of_loads(graph, target, share, o.imbalance, rng.next());
  const bool alike = std::all_of(share.begin(), share.end(), [&](double s) { return s == share[0]; });
  double group_limit = 0;
  if (target.groups() > 1) {
    const std::vector<double> loads = group_loads(graph, target, map);
    const double pairs = static_cast<double>(target.groups()) * (target.groups() - 1);
    group_limit = o.group_limit * std::accumulate(loads.begin(), loads.end(), 0.0) / pairs;
  }
  if (alike) {
    TaskGraph parts = quotient(graph, map, target.places());
    Map identity(target.places());
    std::iota(identity.begin(), identity.end(), 0U);
    AnnealOptions a;
    a.sweeps = o.sweeps;
    a.seed = rng.next();
    a.group_limit = group_limit;
    const Map moved = anneal(parts, target, identity, a);
    for (std::uint32_t& p : map) p = moved[p];
  }
  TaskMoveOptions m;
  m.sweeps = o.moves;
  m.seed = rng.next();
  m.group_limit = group_limit;
  return move_tasks(graph, target, limit, map, m);
}

}  // namespace isthmus
