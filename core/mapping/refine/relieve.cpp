#include "mapping/refine/relieve.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/rng.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"

namespace isthmus::mapping {
namespace {

class Reliever {
 public:
  Reliever(const TaskGraph& graph, const Target& target, const Map& start, const RelieveOptions& options)
      : graph_(&graph),
        target_(&target),
        map_(start),
        rng_(options.seed),
        members_(target.places()),
        index_(start.size()) {
    const Topology& t = target.topology();
    load_.assign(t.links(), 0);
    change_.assign(load_.size(), 0);
    far_ = effort::beyond_cache(load_.size() * 3 * sizeof(double));
    set_up_ = effort::neighbourhoods(target);
    routes_ = effort::routes(t);
    for (std::uint32_t u = 0; u < map_.size(); ++u) {
      for (std::uint64_t i = graph.links.offsets[u]; i < graph.links.offsets[u + 1]; ++i) {
        const std::uint32_t v = graph.links.targets[i];
        if (v > u) for_links(u, v, [&](LinkId l) { load_[l] += graph.bytes[i]; });
      }
    }
    double widest = 0;
    for (const LinkClass& c : t.link_classes()) widest = std::max(widest, c.bandwidth);
    // The link of a node with one task has the load of that task, wherever it goes.
    bool shared = false;
    for (std::uint32_t p = 0; p < target.places(); ++p) shared |= target.capacity(p) > 1;
    for (const LinkClass& c : t.link_classes())
      weight_of_class_.push_back(c.name == "terminal" && !shared ? 0 : widest / c.bandwidth);
    weight_.resize(load_.size());
    for (LinkId l = 0; l < load_.size(); ++l) {
      weight_[l] = weight_of_class_[t.link_class(l)];
      load_[l] *= weight_[l];
    }
    for (std::uint32_t u = 0; u < map_.size(); ++u) enter(u, map_[u]);
    beside_ = std::min(target.places() - 1, 12U);
    near_ = target.neighbourhoods(beside_);
    hop_bytes_ = hop_bytes(graph, target, map_);
    most_hop_bytes_ = hop_bytes_ * (1 + options.rise);
  }

  void run(double trials, double most_seconds, double until) {
    if (load_.empty() || beside_ == 0) return;
    const double enough = until * *std::max_element(load_.begin(), load_.end());
    auto left = static_cast<std::int64_t>(trials * static_cast<double>(map_.size()));
    // A level that is hardly reached is tried from further on; one that is reached moves on faster.
    double step = 0.05;
    constexpr double least_step = 0.002;
    while (left > 0 && step >= least_step && seconds() < most_seconds) {
      const double most = *std::max_element(load_.begin(), load_.end());
      if (most <= enough) return;
      set_level(std::max(most * (1 - step), enough));
      passed_ += load_.size() / 8;
      std::vector<std::uint32_t> senders = tasks_over_hot_links(most_seconds);
      const std::int64_t before = left;
      while (left > 0 && above() && seconds() < most_seconds &&
             before - left < patience * static_cast<std::int64_t>(senders.size())) {
        interruption_point();
        const std::uint32_t u = senders[rng_.below(static_cast<std::uint32_t>(senders.size()))];
        try_swap(u);
        --left;
        if ((before - left) % (4 * static_cast<std::int64_t>(senders.size())) == 0)
          senders = tasks_over_hot_links(most_seconds);
        if (senders.empty()) break;
      }
      if (above()) step /= 2;
    }
  }

  [[nodiscard]] const Map& map() const { return map_; }
  /// Processor time so far, counted in steps.
  [[nodiscard]] double seconds() const {
    return set_up_ + static_cast<double>(routed_) * (routes_ + 25e-9 * far_) +
           static_cast<double>(passed_) * (4e-9 + 6e-9 * far_);
  }

 private:
  static constexpr std::int64_t patience = 60;

  void enter(std::uint32_t task, std::uint32_t place) {
    map_[task] = place;
    index_[task] = static_cast<std::uint32_t>(members_[place].size());
    members_[place].push_back(task);
  }
  void leave(std::uint32_t task) {
    auto& all = members_[map_[task]];
    all[index_[task]] = all.back();
    index_[all.back()] = index_[task];
    all.pop_back();
  }

  [[nodiscard]] bool above() const { return hot_ > 0; }
  void set_level(double level) {
    level_ = level;
    hot_ = std::count_if(load_.begin(), load_.end(), [&](double l) { return l > level_; });
  }

  /// Calls body(link) for the routes of a pair of tasks, both ways, as they lie now.
  template <class Body>
  void for_links(std::uint32_t u, std::uint32_t v, Body body) {
    const Vertex a = target_->node(map_[u]);
    const Vertex b = target_->node(map_[v]);
    if (a == b) return;
    route_.clear();
    target_->topology().route(a, b, route_);
    target_->topology().route(b, a, route_);
    ++routed_;
    passed_ += route_.size();
    for (const LinkId l : route_) body(l);
  }

  /// None where there is no time to look at all.
  std::vector<std::uint32_t> tasks_over_hot_links(double most_seconds) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t u = 0; u < map_.size(); ++u) {
      if (seconds() >= most_seconds) return {};
      if ((u & 0xF) == 0) interruption_point();
      bool hot = false;
      for (const std::uint32_t v : graph_->links.row(u)) {
        for_links(u, v, [&](LinkId l) { hot |= load_[l] > level_; });
      }
      if (hot) out.push_back(u);
    }
    return out;
  }

  /// Adds the bytes of a task, but for those with `other`, to the change of every link on their routes.
  void add(std::uint32_t task, std::uint32_t other, double sign) {
    for (std::uint64_t i = graph_->links.offsets[task]; i < graph_->links.offsets[task + 1]; ++i) {
      const std::uint32_t w = graph_->links.targets[i];
      if (w == other) continue;
      const double bytes = sign * graph_->bytes[i];
      hops_ += bytes * target_->distance(map_[task], map_[w]);
      for_links(task, w, [&](LinkId l) {
        if (change_[l] == 0) touched_.push_back(l);
        change_[l] += bytes * weight_[l];
      });
    }
  }

  void try_swap(std::uint32_t u) {
    const auto row = graph_->links.row(u);
    std::uint32_t beside = map_[u];
    if (!row.empty() && rng_.below(2) == 0) beside = map_[row[rng_.below(static_cast<std::uint32_t>(row.size()))]];
    const std::uint32_t from = map_[u];
    const std::uint32_t to = near_[static_cast<std::size_t>(beside) * beside_ + rng_.below(beside_)];
    if (to == from) return;
    std::uint32_t v = nowhere;
    if (members_[to].size() >= target_->capacity(to)) {
      if (members_[to].empty()) return;
      v = members_[to][rng_.below(static_cast<std::uint32_t>(members_[to].size()))];
      if (graph_->load_of(u) != graph_->load_of(v)) return;
    }
    touched_.clear();
    hops_ = 0;
    const auto both = [&](double sign) {
      add(u, v, sign);
      if (v == nowhere) return;
      add(v, u, sign);
      // The pair itself: its two routes trade places, which matters where routes back are other links.
      const double bytes = bytes_between(u, v);
      if (bytes == 0) return;
      for_links(u, v, [&](LinkId l) {
        if (change_[l] == 0) touched_.push_back(l);
        change_[l] += sign * bytes * weight_[l];
      });
    };
    const auto trade = [&] {
      leave(u);
      if (v != nowhere) {
        const std::uint32_t place = map_[v];
        leave(v);
        enter(v, map_[u]);
        enter(u, place);
      } else {
        enter(u, to);
      }
    };
    both(-1);
    trade();
    both(1);
    double gain = 0;
    for (const LinkId l : touched_) gain += excess(load_[l]) - excess(load_[l] + change_[l]);
    const bool better = gain > 1e-9 * level_ * level_ || (gain >= 0 && hops_ < 0);
    if (better && hop_bytes_ + hops_ <= most_hop_bytes_) {
      for (const LinkId l : touched_) {
        hot_ -= load_[l] > level_ ? 1 : 0;
        load_[l] += change_[l];
        hot_ += load_[l] > level_ ? 1 : 0;
        change_[l] = 0;
      }
      hop_bytes_ += hops_;
      return;
    }
    for (const LinkId l : touched_) change_[l] = 0;
    // Back: v is where u was.
    if (v != nowhere) {
      leave(u);
      leave(v);
      enter(v, to);
      enter(u, from);
    } else {
      leave(u);
      enter(u, from);
    }
  }

  [[nodiscard]] double excess(double load) const { return load > level_ ? (load - level_) * (load - level_) : 0; }
  [[nodiscard]] double bytes_between(std::uint32_t u, std::uint32_t v) const {
    const auto row = graph_->links.row(u);
    const auto at = std::lower_bound(row.begin(), row.end(), v);
    return at == row.end() || *at != v
               ? 0
               : graph_->bytes[graph_->links.offsets[u] + static_cast<std::uint64_t>(at - row.begin())];
  }

  const TaskGraph* graph_;
  const Target* target_;
  Map map_;
  Rng rng_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::uint32_t> index_;  ///< of a task among the members of its place
  std::uint32_t beside_ = 0;
  std::vector<std::uint32_t> near_;
  std::vector<double> load_;    ///< bytes over a link, in the widest bandwidth
  std::vector<double> weight_;  ///< of a byte on a link
  std::vector<double> weight_of_class_;
  std::vector<double> change_;
  std::vector<LinkId> touched_;
  std::vector<LinkId> route_;
  std::uint64_t routed_ = 0;  ///< pairs of tasks
  std::uint64_t passed_ = 0;  ///< links on their routes
  double far_ = 0;            ///< of what a step takes beyond the caches, see effort.hpp
  double set_up_ = 0;         ///< seconds of near_
  double routes_ = 0;         ///< seconds of the routes of a pair
  double hop_bytes_ = 0;
  double most_hop_bytes_ = 0;
  double hops_ = 0;
  double level_ = 0;
  std::int64_t hot_ = 0;  ///< links above the level
};

}  // namespace

Map relieve(const TaskGraph& graph, const Target& target, const Map& start, const RelieveOptions& options) {
  require(options.rise >= 0 && options.trials >= 0, "relieve: rise ", options.rise, ", trials ", options.trials,
          "; must be 0 or more");
  require(options.until >= 0 && options.until <= 1, "relieve: until ", options.until, "; must be 0 to 1");
  require_places(graph, target, start);
  if (effort::relief(graph, target) >= options.seconds) return start;
  Reliever reliever(graph, target, start, options);
  reliever.run(options.trials, options.seconds, options.until);
  return reliever.map();
}

}  // namespace isthmus::mapping
