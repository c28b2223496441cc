#include "mapping/construct/greedy.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/rng.hpp"
#include "graph/traversal.hpp"
#include "mapping/geometric/curves.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"

namespace isthmus::mapping {
namespace {

/// Free room, and the search for the nearest.
class Room {
 public:
  explicit Room(const Target& target) : target_(&target), free_(target.places()) {
    for (std::uint32_t p = 0; p < target.places(); ++p) free_[p] = target.capacity(p);
    if (target.table().empty()) return;
    first_.assign(target.rows() + 1, 0);
    open_.assign(target.rows(), 0);
    for (std::uint32_t p = 0; p < target.places(); ++p) {
      ++first_[target.row(p) + 1];
      open_[target.row(p)] += at(p);
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    member_.resize(target.places());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t p = 0; p < target.places(); ++p) member_[next[target.row(p)]++] = p;
  }
  [[nodiscard]] bool at(std::uint32_t place) const { return free_[place] > 0; }
  void take(std::uint32_t place) {
    if (--free_[place] == 0 && !open_.empty()) --open_[target_->row(place)];
  }
  /// Processor time of all looks at places so far, about.
  [[nodiscard]] double seconds() const { return looks_ * (target_->by_links() ? effort::look_by_links : effort::look); }
  /// The first place with room.
  std::uint32_t first() {
    while (!at(cursor_)) ++cursor_;
    return cursor_;
  }

  /// Appends up to `count` places with room in the order of their distance from `place`.
  void nearest(std::uint32_t place, std::size_t count, std::vector<std::uint32_t>& out) {
    if (at(place)) {
      out.push_back(place);
      if (--count == 0) return;
    }
    if (!open_.empty()) return nearest_rows(place, count, out);
    const std::size_t before = out.size();
    for (std::uint32_t asked = 32;; asked *= 4) {
      out.resize(before);
      found_.clear();
      looks_ += static_cast<double>(target_->near(place, asked, found_));
      for (const std::uint32_t p : found_) {
        if (!at(p)) continue;
        out.push_back(p);
        if (out.size() - before == count) return;
      }
      if (found_.size() < asked) return;
    }
  }

 private:
  /// By distances of rows, of which there are fewer than places.
  void nearest_rows(std::uint32_t place, std::size_t count, std::vector<std::uint32_t>& out) {
    const std::uint32_t rows = target_->rows();
    const std::uint8_t* distance = target_->table().data() + static_cast<std::size_t>(target_->row(place)) * rows;
    std::array<std::uint32_t, 256> open{};
    for (std::uint32_t r = 0; r < rows; ++r) open[distance[r]] += open_[r];
    looks_ += rows / 16.0;
    for (std::size_t d = 0; d < open.size() && count > 0; ++d) {
      if (open[d] == 0) continue;
      looks_ += rows / 32.0;
      for (std::uint32_t r = 0; r < rows && count > 0; ++r) {
        if (distance[r] != d || open_[r] == 0) continue;
        for (std::uint32_t i = first_[r]; i < first_[r + 1] && count > 0; ++i) {
          if (member_[i] == place || !at(member_[i])) continue;
          out.push_back(member_[i]);
          --count;
        }
      }
    }
  }

  const Target* target_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> found_;
  std::vector<std::uint32_t> first_;   ///< of a row in member_, where there is a table of rows
  std::vector<std::uint32_t> member_;  ///< places row by row
  std::vector<std::uint32_t> open_;    ///< places of a row with room
  std::uint32_t cursor_ = 0;
  double looks_ = 0;
};

/// A task at the rim of its component: the last that a breadth-first search finds.
std::uint32_t at_the_rim(const TaskGraph& graph, std::uint32_t start) {
  std::vector<std::uint32_t> hops(graph.tasks());
  std::vector<std::uint32_t> queue;
  breadth_first(graph.links, start, hops, queue);
  std::uint32_t last = start;
  for (std::uint32_t t = 0; t < graph.tasks(); ++t) {
    if (hops[t] != unreachable && hops[t] > hops[last]) last = t;
  }
  return last;
}

/// What the placed partners of a task would cost at a place.
double cost_at(const TaskGraph& graph, const Target& target, const Map& map, std::uint32_t task, std::uint32_t place) {
  double sum = 0;
  for (std::uint64_t i = graph.links.offsets[task]; i < graph.links.offsets[task + 1]; ++i) {
    const std::uint32_t there = map[graph.links.targets[i]];
    if (there != nowhere) sum += graph.bytes[i] * target.distance(place, there);
  }
  return sum;
}

/// Calls place(task) for all tasks, always the one with most bytes to those called before.
template <class Place>
void in_heap_order(const TaskGraph& graph, Rng& rng, Place place) {
  using Entry = std::tuple<double, std::uint32_t, std::uint32_t>;  // bytes, a random number for ties, task
  std::priority_queue<Entry> heap;
  std::vector<double> bytes(graph.tasks(), 0);
  std::vector<bool> placed(graph.tasks(), false);
  const auto tie = [&] { return static_cast<std::uint32_t>(rng.next() >> 32); };
  std::uint32_t next_start = 0;
  for (std::uint32_t n = 0; n < graph.tasks(); ++n) {
    interruption_point();
    while (!heap.empty() &&
           (placed[std::get<2>(heap.top())] || std::get<0>(heap.top()) != bytes[std::get<2>(heap.top())])) {
      heap.pop();
    }
    std::uint32_t task = nowhere;
    if (heap.empty()) {
      while (placed[next_start]) ++next_start;
      task = next_start;
    } else {
      task = std::get<2>(heap.top());
      heap.pop();
    }
    placed[task] = true;
    place(task);
    for (std::uint64_t i = graph.links.offsets[task]; i < graph.links.offsets[task + 1]; ++i) {
      const std::uint32_t u = graph.links.targets[i];
      if (placed[u]) continue;
      bytes[u] += graph.bytes[i];
      heap.emplace(bytes[u], tie(), u);
    }
  }
}

/// Visits all tasks breadth first, one component after the other: visit(task, who found it), `nowhere` for the first of
/// a component, which is start(task) for the next task that has not been visited, from `first` on.
template <class Start, class Visit>
void breadth_first(const TaskGraph& graph, std::uint32_t first, Start start, Visit visit) {
  std::vector<bool> seen(graph.tasks(), false);
  std::vector<std::uint32_t> queue;
  queue.reserve(graph.tasks());
  const auto add = [&](std::uint32_t task, std::uint32_t finder) {
    seen[task] = true;
    queue.push_back(task);
    visit(task, finder);
  };
  for (std::uint32_t i = 0; i < graph.tasks(); ++i) {
    const std::uint32_t task = (first + i) % graph.tasks();
    if (seen[task]) continue;
    add(start(task), nowhere);
    for (std::size_t head = queue.size() - 1; head < queue.size(); ++head) {
      if ((head & 0x3F) == 0) interruption_point();
      for (const std::uint32_t neighbour : graph.links.row(queue[head])) {
        if (!seen[neighbour]) add(neighbour, queue[head]);
      }
    }
  }
}

}  // namespace

Map breadth_first_map(const TaskGraph& graph, const Target& target, std::uint64_t seed) {
  require_room(graph, target);
  Room room(target);
  Rng rng(seed);
  Map map(graph.tasks(), nowhere);
  std::vector<std::uint32_t> found;
  std::uint32_t last = 0;
  const std::uint32_t start = graph.tasks() == 0 ? 0 : rng.below(graph.tasks());
  breadth_first(
      graph, start, [&](std::uint32_t task) { return at_the_rim(graph, task); },
      [&](std::uint32_t task, std::uint32_t finder) {
        found.clear();
        room.nearest(finder == nowhere ? last : map[finder], 1, found);
        map[task] = last = found[0];
        room.take(last);
      });
  return map;
}

Map linear_map(const TaskGraph& graph, const Target& target) {
  require_room(graph, target);
  const std::vector<std::uint32_t> slots = slots_along(Curve::hilbert, target);
  Map map(graph.tasks(), nowhere);
  std::size_t placed = 0;
  // The largest component comes first as a rule: where the others begin matters little.
  breadth_first(
      graph, 0, [&](std::uint32_t task) { return task == 0 ? at_the_rim(graph, task) : task; },
      [&](std::uint32_t task, std::uint32_t) { map[task] = slots[placed++]; });
  return map;
}

Map linear_map_of_loads(const TaskGraph& graph, const Target& target, std::span<const double> limit) {
  std::vector<std::uint32_t> places = slots_along(Curve::hilbert, target);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const double a_limit = graph.total_load() / std::accumulate(limit.begin(), limit.end(), 0.0);
  Map map(graph.tasks(), nowhere);
  std::size_t at = 0;
  double before = 0;
  double full = limit[places[0]] * a_limit;
  breadth_first(
      graph, 0, [&](std::uint32_t task) { return task == 0 ? at_the_rim(graph, task) : task; },
      [&](std::uint32_t task, std::uint32_t) {
        const double middle = before + graph.load_of(task) / 2;
        while (middle > full && at + 1 < places.size()) full += limit[places[++at]] * a_limit;
        map[task] = places[at];
        before += graph.load_of(task);
      });
  return map;
}

Map max_heap_map(const TaskGraph& graph, const Target& target, std::uint64_t seed, double seconds) {
  require_room(graph, target);
  Room room(target);
  Rng rng(seed);
  Map map(graph.tasks(), nowhere);
  std::vector<std::uint32_t> found;
  std::uint32_t last = 0;
  in_heap_order(graph, rng, [&](std::uint32_t task) {
    if (room.seconds() > seconds) {
      map[task] = room.first();
      room.take(map[task]);
      return;
    }
    found.clear();
    constexpr std::size_t candidates = 8;
    constexpr int partners = 8;
    int looked_at = 0;
    for (const std::uint32_t u : graph.links.row(task)) {
      if (map[u] == nowhere || looked_at == partners) continue;
      room.nearest(map[u], candidates, found);
      ++looked_at;
    }
    if (found.empty()) room.nearest(last, 1, found);
    std::uint32_t best = found[0];
    double best_cost = cost_at(graph, target, map, task, best);
    for (const std::uint32_t p : found) {
      const double cost = cost_at(graph, target, map, task, p);
      if (cost < best_cost) {
        best = p;
        best_cost = cost;
      }
    }
    map[task] = last = best;
    room.take(best);
  });
  return map;
}

Map topo_cent_lb(const TaskGraph& graph, const Target& target, std::uint64_t seed) {
  require_room(graph, target);
  Room room(target);
  Rng rng(seed);
  Map map(graph.tasks(), nowhere);
  in_heap_order(graph, rng, [&](std::uint32_t task) {
    std::uint32_t best = nowhere;
    double best_cost = 0;
    for (std::uint32_t p = 0; p < target.places(); ++p) {
      if (!room.at(p)) continue;
      const double cost = cost_at(graph, target, map, task, p);
      if (best == nowhere || cost < best_cost) {
        best = p;
        best_cost = cost;
      }
    }
    map[task] = best;
    room.take(best);
  });
  return map;
}

namespace {

/// The table of TopoLB: cost of every task at every place, with sums and least ones over the free places.
class TopoLb {
 public:
  TopoLb(const TaskGraph& graph, const Target& target, std::uint64_t seed)
      : graph_(&graph), target_(&target), room_(target), rng_(seed), places_(target.places()), mean_(places_, 0) {
    for (std::uint32_t p = 0; p < places_; ++p) {
      interruption_point();
      double sum = 0;
      for (std::uint32_t q = 0; q < places_; ++q) sum += target.distance(p, q);
      mean_[p] = static_cast<float>(sum / places_);
      if (room_.at(p)) free_.push_back(p);
    }
    cost_.resize(static_cast<std::size_t>(graph.tasks()) * places_);
    least_.resize(graph.tasks());
    sum_.assign(graph.tasks(), 0);
    for (std::uint32_t t = 0; t < graph.tasks(); ++t) {
      interruption_point();
      double bytes = 0;
      for (const double b : graph.bytes_of(t)) bytes += b;
      for (std::uint32_t p = 0; p < places_; ++p) row(t)[p] = static_cast<float>(bytes) * mean_[p];
      scan(t);
    }
  }

  Map run() {
    Map map(graph_->tasks(), nowhere);
    std::vector<std::uint32_t> open(graph_->tasks());
    for (std::uint32_t t = 0; t < graph_->tasks(); ++t) open[t] = t;
    for (std::uint32_t i = static_cast<std::uint32_t>(open.size()); i-- > 1;)
      std::swap(open[i], open[rng_.below(i + 1)]);
    while (!open.empty()) {
      interruption_point();
      std::size_t best = 0;
      double best_loss = -1;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const std::uint32_t t = open[i];
        const double loss = sum_[t] / static_cast<double>(free_.size()) - row(t)[least_[t]];
        if (loss > best_loss) {
          best = i;
          best_loss = loss;
        }
      }
      const std::uint32_t task = open[best];
      open[best] = open.back();
      open.pop_back();
      const std::uint32_t place = least_[task];
      map[task] = place;
      room_.take(place);
      if (!room_.at(place)) {
        free_.erase(std::lower_bound(free_.begin(), free_.end(), place));
        for (const std::uint32_t t : open) {
          sum_[t] -= row(t)[place];
          if (least_[t] == place) scan(t);
        }
      }
      for (std::uint64_t i = graph_->links.offsets[task]; i < graph_->links.offsets[task + 1]; ++i) {
        const std::uint32_t u = graph_->links.targets[i];
        if (map[u] != nowhere) continue;
        float* r = row(u);
        const auto bytes = static_cast<float>(graph_->bytes[i]);
        for (const std::uint32_t p : free_) {
          r[p] += bytes * (static_cast<float>(target_->distance(p, place)) - mean_[p]);
        }
        scan(u);
      }
    }
    return map;
  }

 private:
  float* row(std::uint32_t task) { return cost_.data() + static_cast<std::size_t>(task) * places_; }

  /// Sum and least cost over the free places; of equal ones any.
  void scan(std::uint32_t task) {
    if (free_.empty()) return;
    const float* r = row(task);
    double sum = 0;
    float least = r[free_[0]];
    for (const std::uint32_t p : free_) {
      sum += r[p];
      least = std::min(least, r[p]);
    }
    sum_[task] = sum;
    const std::uint32_t start = rng_.below(static_cast<std::uint32_t>(free_.size()));
    for (std::size_t i = start;; i = i + 1 == free_.size() ? 0 : i + 1) {
      if (r[free_[i]] == least) {
        least_[task] = free_[i];
        return;
      }
    }
  }

  const TaskGraph* graph_;
  const Target* target_;
  Room room_;
  Rng rng_;
  std::uint32_t places_;
  std::vector<float> mean_;
  std::vector<std::uint32_t> free_;
  std::vector<float> cost_;
  std::vector<std::uint32_t> least_;
  std::vector<double> sum_;
};

}  // namespace

Map topo_lb(const TaskGraph& graph, const Target& target, std::uint64_t seed) {
  require_room(graph, target);
  constexpr std::uint32_t most = 8192;
  if (target.places() > most || graph.tasks() > most) {
    throw Unsupported(message("TopoLB keeps a cost for every task and place, too many for ", graph.tasks(),
                              " tasks on ", target.places(), " places (at most ", most, " of each); use multilevel"));
  }
  return TopoLb(graph, target, seed).run();
}

}  // namespace isthmus::mapping
