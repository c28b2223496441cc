#include "mapping/multilevel.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "mapping/anneal.hpp"
#include "mapping/bipartition.hpp"
#include "mapping/in_parallel.hpp"
#include "mapping/matching.hpp"
#include "mapping/objective.hpp"

namespace isthmus {
namespace {

constexpr double melting = 1.5;  // temperature at which nothing of a start is left

/// The axis to halve: where steps are shortest, of these the longest; as many as there are axes if none can be.
std::size_t axis_to_halve(const Target& target) {
  const auto& axes = target.axes();
  std::size_t best = axes.size();
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (!target.halves(k)) continue;
    const auto rank = [&](std::size_t i) { return std::pair(axes[i].distance[1], ~axes[i].extent); };
    if (best == axes.size() || rank(k) < rank(best)) best = k;
  }
  return best;
}

/// Tasks without partners until there are as many as places.
TaskGraph filled_up(const TaskGraph& graph, std::uint32_t places) {
  TaskGraph out;
  out.links = graph.links;
  out.bytes = graph.bytes;
  out.links.offsets.resize(places + 1, graph.links.offsets.back());
  return out;
}

Map place(const TaskGraph& graph, const Target& target, std::uint32_t coarsest, double sweeps, Rng& rng) {
  const std::size_t axis = target.places() / 2 >= coarsest ? axis_to_halve(target) : target.axes().size();
  Map start(graph.tasks());
  AnnealOptions anneal_options;
  anneal_options.sweeps = sweeps;
  anneal_options.seed = rng.next();
  if (axis == target.axes().size()) {
    std::iota(start.begin(), start.end(), 0U);
    anneal_options.hot = melting;
    return anneal(graph, target, start, anneal_options);
  }
  const Target half = target.halved(axis);
  const std::vector<std::uint32_t> pair = perfect_pairs(graph, rng.next());
  TaskGraph coarse = quotient(graph, pair, half.places());
  coarse.load.clear();
  // As many proposals on every level: coarse levels are quick, and decide.
  const Map above = place(coarse, half, coarsest, 2 * sweeps, rng);
  std::uint32_t stride = 1;
  for (std::size_t k = 0; k < axis; ++k) stride *= target.axes()[k].extent;
  std::vector<bool> first_is_placed(half.places(), false);
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) {
    const std::uint32_t p = above[pair[t]];
    start[t] = p / stride * 2 * stride + p % stride + (first_is_placed[pair[t]] ? stride : 0);
    first_is_placed[pair[t]] = true;
  }
  return anneal(graph, target, start, anneal_options);
}

}  // namespace

Map multilevel(const TaskGraph& graph, const Target& target, const MultilevelOptions& o) {
  require(o.starts >= 1 && o.sweeps >= 0, "multilevel: ", o.starts, " starts of ", o.sweeps,
          " sweeps; allowed: one start or more, 0 sweeps or more");
  require_room(graph, target);
  const bool whole = axis_to_halve(target) < target.axes().size();
  const TaskGraph full = whole ? filled_up(graph, target.places()) : TaskGraph{};
  Rng rng(o.seed);
  std::vector<std::uint64_t> seeds(o.starts);
  for (auto& s : seeds) s = rng.next();
  std::vector<Map> maps(o.starts);
  in_parallel(o.starts, o.threads, [&](std::size_t i) {
    Rng own(seeds[i]);
    const double sweeps = o.sweeps / 2 / o.starts;
    if (whole) {
      maps[i] = place(full, target, o.coarsest, sweeps, own);
      maps[i].resize(graph.tasks());
    } else {
      AnnealOptions a;
      a.sweeps = sweeps;
      a.seed = own.next();
      maps[i] = anneal(graph, target, dual_bipartition(graph, target, own.next()), a);
    }
  });
  std::vector<double> cost;
  for (const Map& m : maps) cost.push_back(hop_bytes(graph, target, m));
  const auto best = static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
  AnnealOptions last;
  last.sweeps = o.sweeps / 2;
  last.seed = rng.next();
  Map out = anneal(graph, target, maps[best], last);
  return hop_bytes(graph, target, out) <= cost[best] ? out : maps[best];
}

}  // namespace isthmus
