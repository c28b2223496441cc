#include "mapping/geometric/geometric.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"

namespace isthmus::mapping {
namespace {

/// Beyond this many tasks only the longest dimension of a region is tried.
constexpr std::uint32_t most_tried = 1U << 16;

struct Region {
  std::uint32_t first_task;
  std::uint32_t last_task;
  std::uint32_t first_place;
  std::uint32_t last_place;
};

class Halving {
 public:
  Halving(const TaskGraph& graph, std::span<const double> at, std::size_t dimensions, const Target& target)
      : graph_(graph),
        at_(at),
        d_(dimensions),
        target_(target),
        tasks_(graph.tasks()),
        places_(target.places()),
        centre_(graph.tasks()),
        half_(graph.tasks(), 0) {
    std::iota(tasks_.begin(), tasks_.end(), 0U);
    std::iota(places_.begin(), places_.end(), 0U);
    if (target.axes().empty()) {
      std::sort(places_.begin(), places_.end(), [&](auto a, auto b) { return target.node(a) < target.node(b); });
    }
  }

  Map run() {
    std::vector<Region> level{{0, graph_.tasks(), 0, target_.places()}};
    Map out(graph_.tasks());
    while (!level.empty()) {
      std::vector<Region> next;
      for (const Region& r : level) {
        if (r.first_task == r.last_task) continue;
        if (r.last_place - r.first_place == 1) {
          for (std::uint32_t i = r.first_task; i < r.last_task; ++i) out[tasks_[i]] = places_[r.first_place];
        } else {
          split(r, next);
        }
      }
      level = std::move(next);
    }
    return out;
  }

 private:
  [[nodiscard]] double coordinate(std::uint32_t task, std::size_t k) const { return at_[task * d_ + k]; }

  [[nodiscard]] std::uint64_t slots(std::uint32_t begin, std::uint32_t end) const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = begin; i < end; ++i) sum += target_.capacity(places_[i]);
    return sum;
  }

  /// Sorts the places of the region along their longest dimension; where to cut, between two planes if they leave both
  /// halves a third at least.
  std::uint32_t cut_places(const Region& r) {
    const std::uint32_t middle = r.first_place + (r.last_place - r.first_place) / 2;
    const auto& axes = target_.axes();
    if (axes.empty()) return hierarchy_cut(r, middle);
    std::size_t longest = 0;
    std::uint32_t most = 0;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      std::uint32_t low = axes[k].at[places_[r.first_place]];
      std::uint32_t high = low;
      for (std::uint32_t i = r.first_place; i < r.last_place; ++i) {
        low = std::min<std::uint32_t>(low, axes[k].at[places_[i]]);
        high = std::max<std::uint32_t>(high, axes[k].at[places_[i]]);
      }
      if (high - low > most) {
        most = high - low;
        longest = k;
      }
    }
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      if (axes[longest].at[a] != axes[longest].at[b]) return axes[longest].at[a] < axes[longest].at[b];
      for (const Target::Axis& axis : axes) {
        if (axis.at[a] != axis.at[b]) return axis.at[a] < axis.at[b];
      }
      return a < b;
    };
    std::sort(places_.begin() + r.first_place, places_.begin() + r.last_place, before);
    return nearest_change(r, middle, [&](std::uint32_t p) { return std::uint32_t{axes[longest].at[p]}; });
  }

  /// Without coordinates: between nodes of different switches, if there is such a place near the middle.
  [[nodiscard]] std::uint32_t hierarchy_cut(const Region& r, std::uint32_t middle) const {
    const auto& dims = target_.topology().dimensions();
    if (dims.empty()) return middle;
    std::vector<std::uint32_t> c(dims.size());
    // Groups before routers before nodes: the coarsest coordinate that differs.
    for (std::size_t k = dims.size(); k-- > 0;) {
      const std::size_t at = k + 1 == dims.size() ? k : dims.size() - 2 - k;
      const std::uint32_t cut = nearest_change(r, middle, [&](std::uint32_t p) {
        target_.topology().coordinates(target_.node(p), c);
        return c[at];
      });
      if (cut != middle) return cut;
    }
    return middle;
  }

  template <class Value>
  [[nodiscard]] std::uint32_t nearest_change(const Region& r, std::uint32_t middle, const Value& value) const {
    const std::uint32_t third = (r.last_place - r.first_place) / 3;
    for (std::uint32_t away = 0; away < middle - r.first_place; ++away) {
      for (const std::uint32_t cut : {middle - away, middle + away}) {
        if (cut <= r.first_place || cut >= r.last_place) continue;
        if (cut - r.first_place < third || r.last_place - cut < third) return middle;
        if (value(places_[cut - 1]) != value(places_[cut])) return cut;
      }
    }
    return middle;
  }

  /// Puts the tasks of the region with the `left` smallest coordinates k first.
  void order_tasks(const Region& r, std::uint32_t left, std::size_t k) {
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      if (coordinate(a, k) != coordinate(b, k)) return coordinate(a, k) < coordinate(b, k);
      for (std::size_t j = 0; j < d_; ++j) {
        if (coordinate(a, j) != coordinate(b, j)) return coordinate(a, j) < coordinate(b, j);
      }
      return a < b;
    };
    std::nth_element(tasks_.begin() + r.first_task, tasks_.begin() + r.first_task + left, tasks_.begin() + r.last_task,
                     before);
  }

  /// Bytes between the first `left` tasks of the region and its others.
  double cut_bytes(const Region& r, std::uint32_t left) {
    for (std::uint32_t i = r.first_task; i < r.last_task; ++i) half_[tasks_[i]] = i < r.first_task + left ? 1 : 2;
    double sum = 0;
    for (std::uint32_t i = r.first_task; i < r.first_task + left; ++i) {
      const std::uint32_t v = tasks_[i];
      const auto bytes = graph_.bytes_of(v);
      const auto row = graph_.links.row(v);
      for (std::size_t e = 0; e < row.size(); ++e) sum += half_[row[e]] == 2 ? bytes[e] : 0;
    }
    for (std::uint32_t i = r.first_task; i < r.last_task; ++i) half_[tasks_[i]] = 0;
    return sum;
  }

  void cut_tasks(const Region& r, std::uint32_t left) {
    if (left == 0 || left == r.last_task - r.first_task) return;
    std::size_t longest = 0;
    double most = -1;
    for (std::size_t k = 0; k < d_; ++k) {
      double low = coordinate(tasks_[r.first_task], k);
      double high = low;
      for (std::uint32_t i = r.first_task; i < r.last_task; ++i) {
        low = std::min(low, coordinate(tasks_[i], k));
        high = std::max(high, coordinate(tasks_[i], k));
      }
      if (high - low > most) {
        most = high - low;
        longest = k;
      }
    }
    std::size_t best = longest;
    if (d_ > 1 && r.last_task - r.first_task <= most_tried) {
      order_tasks(r, left, longest);
      double least = cut_bytes(r, left);
      for (std::size_t k = 0; k < d_; ++k) {
        if (k == longest) continue;
        order_tasks(r, left, k);
        const double bytes = cut_bytes(r, left);
        if (bytes < least * (1 - 1e-12)) {
          least = bytes;
          best = k;
        }
      }
    }
    order_tasks(r, left, best);
  }

  [[nodiscard]] std::uint32_t middle_place(std::uint32_t begin, std::uint32_t end) const {
    const auto& axes = target_.axes();
    if (axes.empty()) return places_[begin + (end - begin) / 2];
    // The place nearest to the mean of the coordinates.
    std::vector<double> mean(axes.size(), 0);
    for (std::uint32_t i = begin; i < end; ++i) {
      for (std::size_t k = 0; k < axes.size(); ++k) mean[k] += axes[k].at[places_[i]];
    }
    for (double& m : mean) m /= end - begin;
    std::uint32_t best = places_[begin];
    double least = 1e300;
    for (std::uint32_t i = begin; i < end; ++i) {
      double away = 0;
      for (std::size_t k = 0; k < axes.size(); ++k) away += std::abs(axes[k].at[places_[i]] - mean[k]);
      if (away < least) {
        least = away;
        best = places_[i];
      }
    }
    return best;
  }

  /// What the tasks of a part have with tasks outside their region, if they were at `place`.
  [[nodiscard]] double outside(const Region& r, std::uint32_t begin, std::uint32_t end, std::uint32_t place) const {
    double sum = 0;
    const std::uint32_t here = centre_[tasks_[r.first_task]];
    for (std::uint32_t i = begin; i < end; ++i) {
      const auto bytes = graph_.bytes_of(tasks_[i]);
      const auto row = graph_.links.row(tasks_[i]);
      for (std::size_t e = 0; e < row.size(); ++e) {
        // Tasks of a region have the same centre until it is cut.
        if (centre_[row[e]] != here) sum += bytes[e] * target_.distance(place, centre_[row[e]]);
      }
    }
    return sum;
  }

  void split(const Region& r, std::vector<Region>& next) {
    const std::uint32_t cut = cut_places(r);
    const std::uint64_t left_slots = slots(r.first_place, cut);
    const std::uint64_t right_slots = slots(cut, r.last_place);
    const std::uint64_t n = r.last_task - r.first_task;
    const std::uint32_t left_centre = middle_place(r.first_place, cut);
    const std::uint32_t right_centre = middle_place(cut, r.last_place);
    const auto share = [&](std::uint64_t mine, std::uint64_t other) {
      const auto wanted = static_cast<std::uint64_t>(
          std::llround(static_cast<double>(n) * static_cast<double>(mine) / static_cast<double>(mine + other)));
      return static_cast<std::uint32_t>(std::clamp(wanted, n > other ? n - other : 0, std::min(n, mine)));
    };
    // Straight: small coordinates to the first places. Flipped: to the last.
    const std::uint32_t straight = r.first_task + share(left_slots, right_slots);
    cut_tasks(r, straight - r.first_task);
    const double as_is =
        outside(r, r.first_task, straight, left_centre) + outside(r, straight, r.last_task, right_centre);
    const std::uint32_t flipped = r.first_task + share(right_slots, left_slots);
    if (flipped != straight) cut_tasks(r, flipped - r.first_task);
    const double other_way =
        outside(r, r.first_task, flipped, right_centre) + outside(r, flipped, r.last_task, left_centre);
    if (other_way < as_is * (1 - 1e-12)) {
      next.push_back({flipped, r.last_task, r.first_place, cut});
      next.push_back({r.first_task, flipped, cut, r.last_place});
      settle(flipped, r.last_task, left_centre);
      settle(r.first_task, flipped, right_centre);
    } else {
      if (flipped != straight) cut_tasks(r, straight - r.first_task);
      next.push_back({r.first_task, straight, r.first_place, cut});
      next.push_back({straight, r.last_task, cut, r.last_place});
      settle(r.first_task, straight, left_centre);
      settle(straight, r.last_task, right_centre);
    }
  }

  void settle(std::uint32_t begin, std::uint32_t end, std::uint32_t place) {
    for (std::uint32_t i = begin; i < end; ++i) centre_[tasks_[i]] = place;
  }

  const TaskGraph& graph_;
  std::span<const double> at_;
  std::size_t d_;
  const Target& target_;
  std::vector<std::uint32_t> tasks_;   ///< region by region
  std::vector<std::uint32_t> places_;  ///< region by region
  std::vector<std::uint32_t> centre_;  ///< of each task's region: a place in its middle
  std::vector<std::uint8_t> half_;
};
}  // namespace

Map geometric_map(const TaskGraph& graph, std::span<const double> at, std::size_t dimensions, const Target& target) {
  require(dimensions >= 1 && at.size() == std::size_t{graph.tasks()} * dimensions, "coordinates: ", at.size(),
          " numbers for ", graph.tasks(), " tasks in ", dimensions, " dimensions");
  for (const double x : at) require(std::isfinite(x), "coordinates: a number is not finite");
  require(graph.tasks() <= target.slots(), graph.tasks(), " tasks do not fit: the nodes take ", target.slots());
  return Halving(graph, at, dimensions, target).run();
}

}  // namespace isthmus::mapping
