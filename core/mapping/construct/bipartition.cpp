#include "mapping/construct/bipartition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "mapping/construct/bisection.hpp"
#include "mapping/problem/objective.hpp"

namespace isthmus::mapping {
namespace {

struct Region {
  std::vector<std::uint32_t> places;
  std::vector<std::uint32_t> tasks;
  double share = 0;          ///< room: tasks, or load that is meant for the places
  std::uint32_t centre = 0;  ///< a place that stands for all
};

class Bipartition {
 public:
  /// `limit` per place: what it has room for. With `by_tasks` in tasks, and never exceeded; else in load.
  Bipartition(const TaskGraph& graph, const Target& target, std::vector<double> limit, bool by_tasks,
              std::uint64_t seed)
      : graph_(&graph),
        target_(&target),
        limit_(std::move(limit)),
        by_tasks_(by_tasks),
        rng_(seed),
        region_of_(graph.tasks(), 0),
        local_(graph.tasks(), ~0U) {}

  Map run() {
    Region all;
    all.places.resize(target_->places());
    std::iota(all.places.begin(), all.places.end(), 0U);
    std::sort(all.places.begin(), all.places.end(),
              [&](std::uint32_t a, std::uint32_t b) { return target_->node(a) < target_->node(b); });
    all.tasks.resize(graph_->tasks());
    std::iota(all.tasks.begin(), all.tasks.end(), 0U);
    all.share = std::accumulate(limit_.begin(), limit_.end(), 0.0);
    regions_.push_back(std::move(all));
    // Level by level, so that all tasks know their region of the level when one region is halved.
    for (std::size_t r = 0; r < regions_.size(); ++r) {
      if (regions_[r].places.size() > 1 && !regions_[r].tasks.empty()) halve(r);
    }
    Map map(graph_->tasks());
    for (std::uint32_t t = 0; t < graph_->tasks(); ++t) map[t] = regions_[region_of_[t]].places[0];
    return map;
  }

 private:
  void halve(std::size_t index) {
    Region low;
    Region high;
    split_places(regions_[index], low, high);
    const std::vector<std::uint32_t> tasks = std::move(regions_[index].tasks);
    const std::size_t n = tasks.size();
    TaskGraph sub = subgraph(*graph_, tasks, local_);
    if (by_tasks_) sub.load.clear();
    const double load = sub.total_load();
    const double share = low.share + high.share;
    double wanted = load * low.share / share;
    double slack = 0;
    if (by_tasks_) {
      wanted = std::clamp(std::round(wanted), load - std::min(load, high.share), std::min(load, low.share));
    } else {
      const double depth = std::ceil(std::log2(static_cast<double>(low.places.size() + high.places.size())));
      slack = wanted * (std::pow(std::max(1.0, share / load), 1 / depth) - 1);
    }

    const double apart = std::max(1U, target_->distance(low.centre, high.centre));
    std::vector<double> bias(n, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t t = tasks[i];
      for (std::uint64_t e = graph_->links.offsets[t]; e < graph_->links.offsets[t + 1]; ++e) {
        const std::uint32_t other = region_of_[graph_->links.targets[e]];
        if (other == index) continue;
        const std::uint32_t there = regions_[other].centre;
        const double farther = static_cast<double>(target_->distance(high.centre, there)) -
                               static_cast<double>(target_->distance(low.centre, there));
        bias[i] += graph_->bytes[e] * farther / apart;
      }
    }
    const auto sides = bisect_tasks(sub, bias, {wanted, slack, rng_.next(), 4});
    for (std::uint32_t i = 0; i < n; ++i) (sides[i] == 0 ? low : high).tasks.push_back(tasks[i]);
    for (Region* r : {&low, &high}) {
      Region& other = r == &low ? high : low;
      while (by_tasks_ && static_cast<double>(r->tasks.size()) > r->share) {
        other.tasks.push_back(r->tasks.back());
        r->tasks.pop_back();
      }
    }
    for (Region* r : {&low, &high}) {
      for (const std::uint32_t t : r->tasks) region_of_[t] = static_cast<std::uint32_t>(regions_.size());
      regions_.push_back(std::move(*r));
    }
  }

  void split_places(const Region& region, Region& low, Region& high) const {
    std::vector<std::uint32_t> order = region.places;
    const auto& axes = target_->axes();
    std::size_t longest = axes.size();
    std::uint32_t length = 0;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto [least, most] = std::minmax_element(order.begin(), order.end(),
                                                     [&](auto a, auto b) { return axes[k].at[a] < axes[k].at[b]; });
      const std::uint32_t extent = axes[k].distance[axes[k].at[*least] * axes[k].extent + axes[k].at[*most]] == 0
                                       ? 0
                                       : axes[k].at[*most] - axes[k].at[*least];
      if (extent > length) {
        length = extent;
        longest = k;
      }
    }
    if (longest < axes.size()) {
      std::stable_sort(order.begin(), order.end(),
                       [&](auto a, auto b) { return axes[longest].at[a] < axes[longest].at[b]; });
    }
    const std::size_t cut = order.size() / 2;
    low.places.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(cut));
    high.places.assign(order.begin() + static_cast<std::ptrdiff_t>(cut), order.end());
    for (Region* r : {&low, &high}) {
      for (const std::uint32_t p : r->places) r->share += limit_[p];
      r->centre = centre(r->places);
    }
  }

  /// The place among some that is nearest to the others.
  [[nodiscard]] std::uint32_t centre(const std::vector<std::uint32_t>& places) const {
    constexpr std::size_t sample = 32;
    const std::size_t step = std::max<std::size_t>(1, places.size() / sample);
    std::uint32_t best = places[0];
    std::uint64_t best_sum = ~std::uint64_t{0};
    for (std::size_t i = step / 2; i < places.size(); i += step) {
      std::uint64_t sum = 0;
      for (std::size_t j = 0; j < places.size(); j += step) sum += target_->distance(places[i], places[j]);
      if (sum < best_sum) {
        best_sum = sum;
        best = places[i];
      }
    }
    return best;
  }

  const TaskGraph* graph_;
  const Target* target_;
  std::vector<double> limit_;
  bool by_tasks_;
  Rng rng_;
  std::vector<Region> regions_;
  std::vector<std::uint32_t> region_of_;
  std::vector<std::uint32_t> local_;
};

}  // namespace

Map dual_bipartition(const TaskGraph& graph, const Target& target, std::uint64_t seed) {
  require_room(graph, target);
  std::vector<double> limit(target.places());
  for (std::uint32_t p = 0; p < target.places(); ++p) limit[p] = target.capacity(p);
  return Bipartition(graph, target, std::move(limit), true, seed).run();
}

Map dual_bipartition_of_loads(const TaskGraph& graph, const Target& target, std::span<const double> limit,
                              std::uint64_t seed) {
  require(limit.size() == target.places(), "dual bipartition: ", limit.size(), " limits of ", target.places(),
          " places");
  return Bipartition(graph, target, {limit.begin(), limit.end()}, false, seed).run();
}

}  // namespace isthmus::mapping
