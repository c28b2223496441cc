#include "runtime/reorder/reorder.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "mapping/construct/bipartition.hpp"
#include "mapping/construct/greedy.hpp"
#include "mapping/geometric/geometric.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/problem/target.hpp"
#include "mapping/refine/anneal.hpp"
#include "mapping/regular/fold_map.hpp"
#include "mapping/regular/structure.hpp"
#include "mapping/search/exact.hpp"
#include "mapping/search/multilevel.hpp"
#include "runtime/reorder/network.hpp"

namespace isthmus::runtime {
namespace {

using mapping::Map;
using mapping::Target;
using mapping::TaskGraph;

/// Tasks up to which all maps are compared, and looks at a place that this may take: some tens of milliseconds.
constexpr std::uint32_t most_exact = 8;
constexpr std::uint64_t most_looks = 10'000'000;
/// Tasks up to which graph methods are tried beside a fold, which they seldom come near.
constexpr std::uint32_t few = 1024;
/// Gains below this part are rounding.
constexpr double same = 1e-9;
constexpr std::uint64_t seed = 1;

/// The best of the maps that were tried, by hop-bytes.
class Best {
 public:
  Best(const TaskGraph& graph, const Target& target, Map usual)
      : graph_(graph), target_(target), map_(std::move(usual)), cost_(hop_bytes(graph, target, map_)) {}

  void consider(std::optional<Map> map) {
    if (!map) return;
    const double cost = hop_bytes(graph_, target_, *map);
    if (cost >= cost_) return;
    cost_ = cost;
    map_ = std::move(*map);
  }
  [[nodiscard]] const Map& map() const { return map_; }
  [[nodiscard]] double cost() const { return cost_; }

 private:
  const TaskGraph& graph_;
  const Target& target_;
  Map map_;
  double cost_;
};

/// Maps of grids, rings and the like; false where the graph is none of these.
bool regular(const TaskGraph& graph, const Target& target, double seconds, Best& best) {
  const auto structure = mapping::recognise(graph.links, graph.bytes, 0.9, seconds);
  if (!structure) return false;
  const auto folded = fold_map(graph, target, *structure);
  best.consider(folded);
  const std::size_t dimensions = structure->factors.size();
  const std::vector<double> at(structure->coordinates.begin(), structure->coordinates.end());
  best.consider(geometric_map(graph, at, dimensions, target));
  return folded.has_value();
}

void search(const TaskGraph& graph, const Target& target, double seconds, Best& best) {
  const double halving = mapping::effort::bipartition(graph, target.places());
  if (halving > seconds) {
    best.consider(mapping::linear_map(graph, target));
    return;
  }
  Map start = dual_bipartition(graph, target, seed);
  best.consider(start);
  const double left = seconds - halving;
  if (left <= mapping::effort::annealing(graph, target)) return;
  mapping::MultilevelOptions options;
  options.seconds = left;
  options.seed = seed;
  options.start = std::move(start);
  best.consider(multilevel(graph, target, options));
}

void find(const TaskGraph& graph, const Target& target, double seconds, Best& best) {
  if (graph.tasks() <= most_exact) {
    auto found = exact_map(graph, target, most_looks);
    const bool all = found.has_value();
    best.consider(std::move(found));
    if (all) return;
  }
  if (!regular(graph, target, seconds / 3, best) || graph.tasks() <= few) search(graph, target, seconds, best);
}

/// The new rank of every member: ranks keep their process where its node has theirs, and else go to what is left of
/// the node, in order.
std::vector<std::uint32_t> ranks_of(const Map& map, const std::vector<std::uint32_t>& place_of, std::uint32_t places) {
  const auto members = static_cast<std::uint32_t>(place_of.size());
  const auto tasks = static_cast<std::uint32_t>(map.size());
  constexpr std::uint32_t none = mapping::nowhere;
  std::vector<std::uint32_t> rank(members, none);
  std::vector<bool> kept(members, false);
  for (std::uint32_t t = 0; t < tasks; ++t)
    if (map[t] == place_of[t]) rank[t] = t, kept[t] = true;
  std::vector<std::vector<std::uint32_t>> free(places);  // members, the first last
  for (std::uint32_t m = members; m-- > 0;)
    if (rank[m] == none) free[place_of[m]].push_back(m);
  for (std::uint32_t t = 0; t < tasks; ++t) {
    if (kept[t]) continue;
    rank[free[map[t]].back()] = t;
    free[map[t]].pop_back();
  }
  // Members without a task come last.
  std::uint32_t next = tasks;
  for (std::uint32_t& r : rank)
    if (r == none) r = next++;
  return rank;
}

}  // namespace

Order reorder(const Places& places, std::span<const std::uint32_t> members, const Exchanges& exchanges,
              double seconds) {
  require(exchanges.ranks <= members.size(), exchanges.ranks, " ranks that exchange something, and ", members.size(),
          " members: must be as many or more");
  std::vector<bool> seen(places.ranks(), false);
  for (const std::uint32_t m : members) {
    require(m < places.ranks(), "rank ", m, " does not exist: there are places of ", places.ranks(), " ranks");
    require(!seen[m], "rank ", m, " comes twice");
    seen[m] = true;
  }
  require(seconds >= 0, "seconds: ", seconds, "; must be 0 or more");
  const TaskGraph graph = mapping::task_graph(exchanges.ranks, exchanges.from, exchanges.to, exchanges.bytes);
  Order out;
  out.rank.resize(members.size());
  std::iota(out.rank.begin(), out.rank.end(), 0U);
  if (graph.links.targets.empty()) return out;
  const Network network = network_of(places, members);
  std::vector<topology::Vertex> nodes(network.vertex);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::vector<std::uint32_t> place_of;
  std::vector<std::uint32_t> capacity(nodes.size(), 0);
  for (const topology::Vertex v : network.vertex) {
    place_of.push_back(static_cast<std::uint32_t>(std::lower_bound(nodes.begin(), nodes.end(), v) - nodes.begin()));
    ++capacity[place_of.back()];
  }
  const Target target(*network.topology, std::move(nodes), std::move(capacity));
  Best best(graph, target, Map(place_of.begin(), place_of.begin() + graph.tasks()));
  out.before = out.after = best.cost();
  if (out.before == 0) return out;
  find(graph, target, seconds > 0 ? seconds : std::min(1.0, 1e-3 * graph.tasks()), best);
  if (best.cost() > out.before * (1 - same)) return out;
  out.after = best.cost();
  out.rank = ranks_of(best.map(), place_of, target.places());
  return out;
}

}  // namespace isthmus::runtime
