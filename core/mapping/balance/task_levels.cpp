#include "mapping/balance/task_levels.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "mapping/balance/task_moves.hpp"
#include "mapping/construct/bipartition.hpp"
#include "mapping/construct/bisection.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"

namespace isthmus::mapping {
namespace {

// Chosen on Delaunay meshes of 32,768 tasks on 512 nodes at 0.4 to 4 s.
constexpr double joined_a_place = 4;
constexpr double stop = 1.4;  ///< more of them than that are joined once more
/// Partners of a joined task, about.
constexpr double partners = 16;
/// A joined task has at most so many times the mean load of those of the last level.
constexpr double heaviest = 1.5;
/// Joined tasks are large: places may have a little more until they come apart.
constexpr double looser = 1.05;
/// A tree of edges joins the tasks of a joined one. Within it there have to be this many times the bytes of such edges:
/// where partners have no partners in common, as in random graphs, joining does not tell who belongs together.
constexpr double more_than_trees = 1.3;
constexpr double most_starts = 16;
/// Parts of the time for bipartitions, at most; and of the rest for annealing them, and for all levels but the last.
constexpr double for_bipartitions = 0.45;
constexpr double for_starts = 0.2;
constexpr double for_levels = 0.35;
/// Temperatures after the first level, from which the shape is kept.
constexpr double warm = 0.5;
constexpr double cool = 0.1;
constexpr double warm_at_last = 0.4;

struct Level {
  std::vector<std::uint32_t> pair;  ///< of every task of the level below
  TaskGraph graph;
};

std::vector<Level> joined(const TaskGraph& graph, const Target& target, Rng& rng) {
  const double wanted = joined_a_place * target.places();
  const double most = heaviest * graph.total_load() / wanted;
  std::vector<Level> levels;
  for (const TaskGraph* below = &graph; below->tasks() > stop * wanted; below = &levels.back().graph) {
    std::uint32_t pairs = 0;
    Level next;
    next.pair = heavy_pairs(*below, most, rng, pairs);
    if (pairs > below->tasks() - below->tasks() / 20) break;
    next.graph = quotient(*below, next.pair, pairs);
    levels.push_back(std::move(next));
  }
  return levels;
}

}  // namespace

bool has_levels(const TaskGraph& graph, const Target& target) {
  const double wanted = joined_a_place * target.places();
  if (target.axes().empty() || graph.tasks() <= stop * wanted) return false;
  // Single tasks as heavy as joined ones should be leave nothing to balance with.
  const double most = heaviest * graph.total_load() / wanted;
  return std::all_of(graph.load.begin(), graph.load.end(), [&](double load) { return load <= most; });
}

double seconds_of_levels(const TaskGraph& graph, const Target& target) {
  const double top = stop * joined_a_place * target.places();
  return effort::joining(graph) + effort::bipartition((partners / 2 + 1) * top, target.places());
}

Map map_by_levels(const TaskGraph& graph, const Target& target, std::span<const double> limit, double seconds,
                  std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<Level> levels = joined(graph, target, rng);
  if (levels.empty()) return {};
  const TaskGraph& top = levels.back().graph;
  const double edges = static_cast<double>(graph.links.targets.size()) / 2;
  const double tree = graph.total_bytes() / edges * (graph.tasks() - top.tasks());
  if (graph.total_bytes() - top.total_bytes() < more_than_trees * tree) return {};
  std::vector<double> loose(limit.begin(), limit.end());
  for (double& l : loose) l *= looser;

  const double each = effort::bipartition(top, target.places());
  const double left = std::max(seconds - effort::joining(graph), 0.1 * seconds);
  const auto starts = static_cast<int>(std::clamp(for_bipartitions * left / each, 1.0, most_starts));
  const double moving = std::max(left - starts * each, 0.1 * seconds);
  TaskMoveOptions m;
  m.seconds = for_starts * moving / starts;
  m.cold = cool;
  Map map;
  double least = 0;
  for (int i = 0; i < starts; ++i) {
    const Map begin = dual_bipartition_of_loads(top, target, loose, rng.next());
    m.seed = rng.next();
    Map found = move_tasks(top, target, loose, begin, m);
    const double cost = hop_bytes(top, target, found);
    if (i > 0 && cost >= least) continue;
    least = cost;
    map = std::move(found);
  }

  m.hot = warm;
  m.seconds = for_levels * moving / static_cast<double>(levels.size());
  for (std::size_t l = levels.size(); l-- > 0;) {
    m.seed = rng.next();
    const Map above = move_tasks(levels[l].graph, target, loose, map, m);
    map.resize(levels[l].pair.size());
    for (std::size_t t = 0; t < map.size(); ++t) map[t] = above[levels[l].pair[t]];
  }
  TaskMoveOptions last;
  last.seconds = (1 - for_starts - for_levels) * moving;
  last.hot = warm_at_last;
  last.seed = rng.next();
  return move_tasks(graph, target, limit, map, last);
}

}  // namespace isthmus::mapping
