#include "mapping/balance/task_moves.hpp"

#include <algorithm>
#include <cmath>

#include "base/interruption.hpp"
#include "mapping/balance/enforce_limits.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/group_costs.hpp"

namespace isthmus::mapping {
namespace {

class Mover {
 public:
  Mover(const TaskGraph& graph, const Target& target, std::span<const double> limit, const Map& start,
        const TaskMoveOptions& options)
      : graph_(&graph),
        target_(&target),
        limit_(limit.begin(), limit.end()),
        map_(start),
        rng_(options.seed),
        places_(target.places()),
        groups_(target.groups()),
        group_limit_(options.group_limit),
        load_(places_, 0),
        members_(places_),
        index_(graph.tasks()) {
    for (std::uint32_t t = 0; t < graph.tasks(); ++t) enter(t, map_[t]);
    beside_ = std::min(places_ - 1, target.axes().empty() ? 12U : 6U);
    near_ = target.neighbourhoods(beside_);
    if (places_ <= most_tabulated) tabulate();
    untabulated_ = distance_.empty() ? seconds_of_distances() : 0;
    set_up_ += effort::neighbourhoods(target);
    if (group_limit_ > 0) {
      pair_load_ = group_loads(graph, target, map_);
      change_.assign(2 * static_cast<std::size_t>(groups_), 0);
    }
    out_links_ = graph.links.offsets.data();
  }

  void run(const TaskMoveOptions& o) {
    const double unit = 2 * graph_->total_bytes() / std::max(1U, graph_->tasks());
    constexpr double softest = 10;
    constexpr int fewest = 10;
    const double begin = seconds();
    weight_ = softest * o.hot / o.cold;
    sweep(0);
    // With time for few sweeps they begin colder, so that what the start has is not lost.
    const double each = std::max(seconds() - begin, 1e-9);
    const double sweeps = (o.seconds - seconds()) / each;
    const double range = std::log(o.hot / o.cold) * std::min(1.0, sweeps / fewest);
    const double all = o.seconds - seconds() - each;
    const double first = seconds();
    while (seconds() - first < all) {
      const double heat = o.cold / o.hot * std::exp(range * (1 - (seconds() - first) / all));
      weight_ = softest / heat;
      sweep(unit * o.hot * heat);
    }
    sweep(0);
  }

  [[nodiscard]] const Map& map() const { return map_; }
  /// Processor time so far, counted in steps.
  [[nodiscard]] double seconds() const {
    const double far = effort::beyond_cache(map_.size() * sizeof(std::uint32_t) + distance_.size());
    return set_up_ + static_cast<double>(proposals_) * (16e-9 + 11e-9 * far) +
           static_cast<double>(edges_) * (3.2e-9 + 7.5e-9 * far + untabulated_) +
           static_cast<double>(searched_) * 90e-9 + static_cast<double>(moved_) * 50e-9;
  }

 private:
  static constexpr std::uint32_t most_tabulated = 6000;
  static constexpr double rounding = 1e-12;

  /// More of an edge where distances are not in the table: two of them, by coordinates, rows, or routes.
  [[nodiscard]] double seconds_of_distances() const {
    if (!target_->axes().empty()) return 7e-9 * static_cast<double>(target_->axes().size());
    return target_->table().empty() ? 60e-9 : 4e-9 + 5e-9 * effort::beyond_cache(target_->table().size());
  }

  /// Distances in a byte each, where all fit one.
  void tabulate() {
    distance_.resize(static_cast<std::size_t>(places_) * places_);
    set_up_ = 8e-9 * static_cast<double>(distance_.size());
    for (std::uint32_t p = 0; p < places_; ++p) {
      for (std::uint32_t q = 0; q < places_; ++q) {
        const std::uint32_t d = target_->distance(p, q);
        if (d > 255) return distance_.clear();
        distance_[static_cast<std::size_t>(p) * places_ + q] = static_cast<std::uint8_t>(d);
      }
    }
  }
  void enter(std::uint32_t task, std::uint32_t place) {
    map_[task] = place;
    load_[place] += graph_->load_of(task);
    ++moved_;
    index_[task] = static_cast<std::uint32_t>(members_[place].size());
    members_[place].push_back(task);
  }
  void leave(std::uint32_t task) {
    const std::uint32_t place = map_[task];
    load_[place] -= graph_->load_of(task);
    const std::uint32_t last = members_[place].back();
    members_[place][index_[task]] = last;
    index_[last] = index_[task];
    members_[place].pop_back();
  }

  [[nodiscard]] double distance(std::uint32_t p, std::uint32_t q) const {
    return distance_.empty() ? target_->distance(p, q) : distance_[static_cast<std::size_t>(p) * places_ + q];
  }
  /// Change of hop-bytes if `task` went to `to` and `other` stayed.
  [[nodiscard]] double change(std::uint32_t task, std::uint32_t other, std::uint32_t to) {
    const std::uint32_t from = map_[task];
    double sum = 0;
    edges_ += out_links_[task + 1] - out_links_[task];
    for (std::uint64_t i = out_links_[task]; i < out_links_[task + 1]; ++i) {
      const std::uint32_t u = graph_->links.targets[i];
      if (u == other) continue;
      const std::uint32_t at = map_[u];
      sum += graph_->bytes[i] * (distance(to, at) - distance(from, at));
    }
    return sum;
  }

  [[nodiscard]] bool fits(std::uint32_t place, double more) const {
    return load_[place] + more <= limit_[place] * (1 + rounding);
  }

  void sweep(double temperature) {
    const std::uint32_t n = graph_->tasks();
    proposals_ += n;
    for (std::uint32_t u = 0; u < n; ++u) {
      if ((u & 0xFF) == 0) interruption_point();
      const std::uint64_t degree = out_links_[u + 1] - out_links_[u];
      if (degree == 0) continue;
      const std::uint64_t r = rng_.next();
      const std::uint32_t partner = graph_->links.targets[out_links_[u] + (((r & 0xffff) * degree) >> 16)];
      std::uint32_t to = map_[partner];
      const std::uint32_t from = map_[u];
      // Who is with all partners already stays, but for one proposal in eight, which goes beside a partner.
      if (to == from || (r >> 61) == 0) {
        if ((r >> 61) != 0) continue;
        to = near_[static_cast<std::size_t>(to) * beside_ + ((((r >> 16) & 0xffff) * beside_) >> 16)];
        if (to == from) continue;
      }
      const double luck = -std::log((static_cast<double>((r >> 32) & 0xffffff) + 0.5) / 0x1000000);
      const double most = temperature * luck;
      const double load = graph_->load_of(u);
      if (fits(to, load)) {
        double sum = change(u, u, to);
        if (group_limit_ > 0) sum += group_change(u, u, from, to);
        if (sum > most) continue;
        if (group_limit_ > 0) shift_groups(u, u, from, to);
        leave(u);
        enter(u, to);
      } else if (!members_[to].empty()) {
        swap(u, from, to, load, most);
      }
    }
  }

  /// Swaps u with the best of a few tasks of the place, if that is accepted.
  void swap(std::uint32_t u, std::uint32_t from, std::uint32_t to, double load, double most) {
    constexpr int candidates = 4;
    ++searched_;
    const double own = change(u, u, to);
    std::uint32_t best = nowhere;
    double best_sum = 0;
    for (int i = 0; i < candidates; ++i) {
      const std::uint32_t v = members_[to][rng_.below(static_cast<std::uint32_t>(members_[to].size()))];
      const double other = graph_->load_of(v);
      if (!fits(to, load - other) || !fits(from, other - load)) continue;
      const double sum = change(v, u, from);
      if (best == nowhere || sum < best_sum) {
        best = v;
        best_sum = sum;
      }
    }
    if (best == nowhere || own + best_sum > most + relief_bound()) return;
    double sum = change(u, best, to) + best_sum;
    if (group_limit_ > 0) sum += group_change(u, best, from, to);
    if (sum > most) return;
    if (group_limit_ > 0) shift_groups(u, best, from, to);
    leave(u);
    leave(best);
    enter(u, to);
    enter(best, from);
  }
  /// What less load between groups may save beyond hop-bytes: not known before it is counted.
  [[nodiscard]] double relief_bound() const { return group_limit_ > 0 ? 1e300 : 0; }

  [[nodiscard]] double penalty(double load) const {
    const double excess = load - group_limit_;
    return excess > 0 ? weight_ * excess * excess / group_limit_ : 0;
  }
  /// Calls add(group, other group, bytes) for what a move of `u` (and of `v` the other way, if it is another) changes.
  template <class Add>
  void for_changes(std::uint32_t u, std::uint32_t v, std::uint32_t g, std::uint32_t h, Add add) const {
    for (std::uint64_t i = out_links_[u]; i < out_links_[u + 1]; ++i) {
      const std::uint32_t w = graph_->links.targets[i];
      if (w == v) continue;
      const std::uint32_t there = target_->group(map_[w]);
      if (there != g) add(g, there, -graph_->bytes[i]);
      if (there != h) add(h, there, graph_->bytes[i]);
    }
    if (v == u) return;
    for (std::uint64_t i = out_links_[v]; i < out_links_[v + 1]; ++i) {
      const std::uint32_t w = graph_->links.targets[i];
      if (w == u) continue;
      const std::uint32_t there = target_->group(map_[w]);
      if (there != h) add(h, there, -graph_->bytes[i]);
      if (there != g) add(g, there, graph_->bytes[i]);
    }
  }
  double group_change(std::uint32_t u, std::uint32_t v, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t g = target_->group(from);
    const std::uint32_t h = target_->group(to);
    if (g == h) return 0;
    edges_ += out_links_[u + 1] - out_links_[u];
    if (v != u) edges_ += out_links_[v + 1] - out_links_[v];
    // Row g, then row h; the pair (g, h) is kept in row g.
    const auto slot = [&](std::uint32_t a, std::uint32_t b) -> double& {
      return a == g || b == g ? change_[a == g ? b : a] : change_[groups_ + (a == h ? b : a)];
    };
    for_changes(u, v, g, h, [&](std::uint32_t a, std::uint32_t b, double bytes) { slot(a, b) += bytes; });
    double sum = 0;
    for_changes(u, v, g, h, [&](std::uint32_t a, std::uint32_t b, double) {
      double& delta = slot(a, b);
      if (delta == 0) return;
      const double load = pair_load_[static_cast<std::size_t>(a) * groups_ + b];
      sum += penalty(load + delta) - penalty(load);
      delta = 0;
    });
    return sum;
  }
  void shift_groups(std::uint32_t u, std::uint32_t v, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t g = target_->group(from);
    const std::uint32_t h = target_->group(to);
    if (g == h) return;
    for_changes(u, v, g, h, [&](std::uint32_t a, std::uint32_t b, double bytes) {
      pair_load_[static_cast<std::size_t>(a) * groups_ + b] += bytes;
      pair_load_[static_cast<std::size_t>(b) * groups_ + a] += bytes;
    });
  }

  const TaskGraph* graph_;
  const Target* target_;
  std::vector<double> limit_;
  Map map_;
  Rng rng_;
  std::uint32_t places_;
  std::uint32_t groups_;
  double group_limit_;
  double weight_ = 0;
  std::vector<double> load_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::uint32_t> index_;  ///< of a task among the members of its place
  std::uint32_t beside_ = 0;
  std::vector<std::uint32_t> near_;
  std::vector<std::uint8_t> distance_;
  std::vector<double> pair_load_;
  std::vector<double> change_;
  double untabulated_ = 0;  ///< seconds of an edge
  double set_up_ = 0;
  std::uint64_t proposals_ = 0;
  std::uint64_t edges_ = 0;     ///< that proposals looked at
  std::uint64_t searched_ = 0;  ///< places for a task to swap with
  std::uint64_t moved_ = 0;     ///< tasks
  const std::uint64_t* out_links_ = nullptr;
};

}  // namespace

Map move_tasks(const TaskGraph& graph, const Target& target, std::span<const double> limit, const Map& start,
               const TaskMoveOptions& options) {
  require_places(graph, target, start);
  const WithinLimits begin = enforce_limits(graph, target, limit, start);
  std::vector<double> kept(limit.begin(), limit.end());
  for (double& l : kept) l *= begin.factor;
  Mover mover(graph, target, kept, begin.map, options);
  mover.run(options);
  return mover.map();
}

}  // namespace isthmus::mapping
