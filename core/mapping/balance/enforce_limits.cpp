#include "mapping/balance/enforce_limits.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "mapping/balance/packing.hpp"

namespace isthmus::mapping {
namespace {

class LimitEnforcer {
 public:
  LimitEnforcer(const TaskGraph& graph, const Target& target, std::span<const double> limit, const Map& start)
      : graph_(&graph),
        target_(&target),
        limit_(limit.begin(), limit.end()),
        map_(start),
        load_(target.places(), 0),
        members_(target.places()) {
    for (std::uint32_t t = 0; t < graph.tasks(); ++t) enter(t, map_[t]);
  }

  /// Is every place within its limit now?
  bool run() {
    packs_ = true;
    for (std::uint32_t p = 0; p < load_.size(); ++p) {
      while (over(p)) {
        if (!move_cheapest(p) && !trade(p) && !repack(p)) return false;
      }
    }
    return true;
  }

  void scale_limits(double factor) {
    for (double& l : limit_) l *= factor;
  }
  /// Most load of a place, in its limit.
  [[nodiscard]] double most() const {
    double out = 0;
    for (std::size_t p = 0; p < load_.size(); ++p) {
      if (load_[p] > 0) out = std::max(out, load_[p] / limit_[p]);
    }
    return out;
  }
  [[nodiscard]] const Map& map() const { return map_; }

 private:
  static constexpr double rounding = 1e-12;
  static constexpr std::uint32_t first_ring = 64;  // places near by that are looked at first

  void enter(std::uint32_t task, std::uint32_t place) {
    map_[task] = place;
    load_[place] += graph_->load_of(task);
    members_[place].push_back(task);
  }
  void leave(std::uint32_t task) {
    load_[map_[task]] -= graph_->load_of(task);
    std::erase(members_[map_[task]], task);
  }
  void move(std::uint32_t task, std::uint32_t to) {
    leave(task);
    enter(task, to);
  }

  [[nodiscard]] bool over(std::uint32_t place) const { return load_[place] > limit_[place] * (1 + rounding); }
  [[nodiscard]] bool fits(std::uint32_t place, double more) const {
    return load_[place] + more <= limit_[place] * (1 + rounding);
  }
  /// Change of hop-bytes if `task` went to `to` and `other` stayed.
  [[nodiscard]] double change(std::uint32_t task, std::uint32_t other, std::uint32_t to) const {
    const std::uint32_t from = map_[task];
    double sum = 0;
    for (std::uint64_t i = graph_->links.offsets[task]; i < graph_->links.offsets[task + 1]; ++i) {
      if (graph_->links.targets[i] == other) continue;
      const std::uint32_t at = map_[graph_->links.targets[i]];
      sum += graph_->bytes[i] *
             (static_cast<double>(target_->distance(to, at)) - static_cast<double>(target_->distance(from, at)));
    }
    return sum;
  }

  /// Calls body(places) with more and more of the places nearest to `place`, until it is true or there are no more.
  template <class Body>
  bool in_rings(std::uint32_t place, Body body) {
    std::vector<std::uint32_t> near;
    for (std::uint32_t wanted = first_ring;; wanted *= 8) {
      near.clear();
      target_->near(place, wanted, near);
      if (body(near)) return true;
      if (near.size() < wanted) return false;
    }
  }

  bool move_cheapest(std::uint32_t place) {
    std::uint32_t task = nowhere;
    std::uint32_t to = nowhere;
    return in_rings(place, [&](const std::vector<std::uint32_t>& near) {
      constexpr std::size_t most_tried = 16;
      double least = std::numeric_limits<double>::infinity();
      for (const std::uint32_t t : members_[place]) {
        const double load = graph_->load_of(t);
        if (load <= 0) continue;
        // More than what is too much helps no more.
        const double work = std::min(load, load_[place] - limit_[place]);
        for (std::size_t i = 0, tried = 0; i < near.size() && tried < most_tried; ++i) {
          if (!fits(near[i], load)) continue;
          ++tried;
          const double price = change(t, t, near[i]) / work;
          if (price >= least) continue;
          least = price;
          task = t;
          to = near[i];
        }
      }
      if (task == nowhere) return false;
      move(task, to);
      return true;
    });
  }

  /// Swaps a task with a lighter one elsewhere so that both places are within their limits; the cheapest pair.
  bool trade(std::uint32_t place) {
    return in_rings(place, [&](const std::vector<std::uint32_t>& near) {
      std::uint32_t heavy = nowhere;
      std::uint32_t light = nowhere;
      double least = std::numeric_limits<double>::infinity();
      for (const std::uint32_t q : near) {
        for (const std::uint32_t t : members_[place]) {
          for (const std::uint32_t s : members_[q]) {
            const double less = graph_->load_of(t) - graph_->load_of(s);
            if (less <= 0 || !fits(place, -less) || !fits(q, less)) continue;
            const double price = change(t, s, q) + change(s, t, place);
            if (price >= least) continue;
            least = price;
            heavy = t;
            light = s;
          }
        }
      }
      if (heavy == nowhere) return false;
      const std::uint32_t to = map_[light];
      move(heavy, to);
      move(light, place);
      return true;
    });
  }

  /// Packs the tasks of a place anew with those of the places that have most room: one, two, four and so on.
  bool repack(std::uint32_t place) {
    if (!packs_) return false;
    std::vector<std::uint32_t> places(load_.size());
    std::iota(places.begin(), places.end(), 0U);
    const auto rank = [&](std::uint32_t p) {
      return std::tuple(p != place, load_[p] - limit_[p], target_->distance(place, p), p);
    };
    std::sort(places.begin(), places.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    constexpr std::size_t most_cells = 1 << 20;
    for (std::size_t n = std::min<std::size_t>(2, places.size());; n = std::min(2 * n, places.size())) {
      std::size_t tasks = 0;
      double room = 0;
      for (const std::uint32_t p : std::span(places).first(n)) {
        tasks += members_[p].size();
        room += limit_[p] * (1 + rounding) - load_[p];
      }
      if (tasks * n > most_cells) break;
      if (room >= 0 && pack_anew(std::span(places).first(n))) return true;
      if (n == places.size()) break;
    }
    // What could not be packed with all places will not be the next time.
    packs_ = false;
    return false;
  }

  bool pack_anew(std::span<const std::uint32_t> places) {
    std::vector<std::uint32_t> tasks;
    std::vector<std::uint32_t> home;
    std::vector<double> load;
    std::vector<double> room;
    std::vector<double> cost;
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      room.push_back(limit_[places[i]] * (1 + rounding));
      for (const std::uint32_t t : members_[places[i]]) {
        if (graph_->load_of(t) <= 0) continue;
        tasks.push_back(t);
        home.push_back(i);
        load.push_back(graph_->load_of(t));
        for (const std::uint32_t p : places) cost.push_back(change(t, t, p));
      }
    }
    const auto found = pack(load, room, home, cost);
    if (!found) return false;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if ((*found)[i] != home[i]) move(tasks[i], places[(*found)[i]]);
    }
    return true;
  }

  const TaskGraph* graph_;
  const Target* target_;
  std::vector<double> limit_;
  Map map_;
  std::vector<double> load_;
  std::vector<std::vector<std::uint32_t>> members_;
  bool packs_ = true;
};

}  // namespace

WithinLimits enforce_limits(const TaskGraph& graph, const Target& target, std::span<const double> limit,
                            const Map& start) {
  LimitEnforcer enforcer(graph, target, limit, start);
  if (enforcer.run()) return {enforcer.map(), 1};
  // What is kept, and what was not.
  WithinLimits best{enforcer.map(), enforcer.most()};
  constexpr int halvings = 6;
  constexpr double close = 1.005;
  double low = 1;
  for (int i = 0; i < halvings && best.factor > low * close; ++i) {
    const double factor = (low + best.factor) / 2;
    LimitEnforcer next(graph, target, limit, best.map);
    next.scale_limits(factor);
    next.run();
    const double most = factor * next.most();
    if (most < best.factor) best = {next.map(), most};
    if (most > factor * (1 + 1e-9)) low = factor;
  }
  return best;
}

}  // namespace isthmus::mapping
