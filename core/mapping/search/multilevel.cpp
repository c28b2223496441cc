#include "mapping/search/multilevel.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/in_parallel.hpp"
#include "base/rng.hpp"
#include "mapping/construct/bipartition.hpp"
#include "mapping/construct/greedy.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/anneal.hpp"
#include "mapping/search/task_pairs.hpp"

namespace isthmus::mapping {
namespace {

constexpr double melting = 1.5;  // temperature at which nothing of a start is left

constexpr std::size_t none = ~std::size_t{0};

/// The axis to halve: where steps are shortest, of these the longest.
std::size_t axis_to_halve(const Target& target) {
  const auto& axes = target.axes();
  if (axes.empty()) return target.halves(0) ? 0 : none;
  std::size_t best = none;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (!target.halves(k)) continue;
    const auto rank = [&](std::size_t i) { return std::pair(axes[i].distance[1], ~axes[i].extent); };
    if (best == none || rank(k) < rank(best)) best = k;
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

Map place(const TaskGraph& graph, const Target& target, std::uint32_t coarsest, double seconds, Rng& rng) {
  const std::size_t axis = target.places() / 2 >= coarsest ? axis_to_halve(target) : none;
  Map start(graph.tasks());
  AnnealOptions anneal_options;
  anneal_options.seconds = seconds;
  anneal_options.seed = rng.next();
  if (axis == none) {
    std::iota(start.begin(), start.end(), 0U);
    anneal_options.hot = melting;
    return anneal(graph, target, start, anneal_options);
  }
  const Target half = target.halved(axis);
  const std::vector<std::uint32_t> pair = perfect_pairs(graph, rng.next());
  TaskGraph coarse = quotient(graph, pair, half.places());
  coarse.load.clear();
  // As long on every level: coarse levels are quick, and decide.
  const Map above = place(coarse, half, coarsest, seconds, rng);
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

/// Levels that place() goes through.
std::uint32_t levels(const Target& target, std::uint32_t coarsest) {
  const std::size_t axis = target.places() / 2 >= coarsest ? axis_to_halve(target) : none;
  return axis == none ? 1 : 1 + levels(target.halved(axis), coarsest);
}

/// 0: bipartition, 1: coarsening, 2: growing.
std::size_t kind_of_start(std::size_t i, bool coarsens) { return coarsens ? i % 3 : i % 2 * 2; }

}  // namespace

Map multilevel(const TaskGraph& graph, const Target& target, const MultilevelOptions& o) {
  require(o.starts >= 1 && o.seconds > 0, "multilevel: ", o.starts, " starts, ", o.seconds,
          " seconds; must be at least one start and more than 0 seconds");
  require_room(graph, target);
  const bool coarsens = axis_to_halve(target) != none;
  const std::uint32_t depth = levels(target, o.coarsest);
  if (!o.start.empty()) require_map(graph, target, o.start);
  Rng rng(o.seed);
  std::vector<std::uint64_t> seeds(o.starts);
  for (auto& s : seeds) s = rng.next();
  const bool given = !o.start.empty();
  double begins = 0;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < o.starts; ++i) {
    const std::size_t kind = kind_of_start(i, coarsens);
    const double each = kind == 0   ? (given && i == 0 ? 0 : effort::bipartition(graph, target.places()))
                        : kind == 1 ? effort::coarsening(graph)
                                    : effort::max_heap(graph, target);
    if (!kept.empty() && begins + each > o.seconds / 2) continue;
    kept.push_back(i);
    begins += each;
  }
  const std::size_t starts = kept.size();
  const TaskGraph full = coarsens && starts > 1 && kept[1] == 1 ? filled_up(graph, target.places()) : TaskGraph{};
  const double left = std::max(o.seconds - begins, 0.1 * o.seconds);
  AnnealOptions last;
  last.seconds = starts == 1 ? left : left * 2 / 3;
  last.seed = rng.next();
  std::vector<Map> maps(starts);
  in_parallel(starts, o.threads, [&](std::size_t i) {
    Rng own(seeds[kept[i]]);
    AnnealOptions first;
    first.seconds = left / 3 / static_cast<double>(starts);
    first.seed = own.next();
    const std::size_t kind = kind_of_start(kept[i], coarsens);
    if (kind == 1) {
      maps[i] = place(full, target, o.coarsest, first.seconds / depth, own);
      maps[i].resize(graph.tasks());
    } else {
      const Map start = given && kept[i] == 0 ? o.start
                        : kind == 0           ? dual_bipartition(graph, target, own.next())
                                    : max_heap_map(graph, target, own.next(), effort::max_heap(graph, target));
      // With one start there is nothing to choose: it is annealed once.
      maps[i] = starts == 1 ? start : anneal(graph, target, start, first);
    }
  });
  std::vector<double> cost;
  for (const Map& m : maps) cost.push_back(hop_bytes(graph, target, m));
  const auto best = static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
  Map out = anneal(graph, target, maps[best], last);
  return hop_bytes(graph, target, out) <= cost[best] ? out : maps[best];
}

}  // namespace isthmus::mapping
