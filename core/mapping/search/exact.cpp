#include "mapping/search/exact.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "mapping/construct/bipartition.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/anneal.hpp"

namespace isthmus::mapping {
namespace {

class Search {
 public:
  Search(const TaskGraph& graph, const Target& target, std::uint64_t most_steps, std::span<const double> sent)
      : graph_(&graph),
        target_(&target),
        sent_(sent),
        most_steps_(most_steps),
        places_(target.places()),
        order_(graph.tasks()),
        place_(graph.tasks(), nowhere),
        room_(target.places()),
        offers_(graph.tasks()),
        // What every task pays at every place, of every depth.
        price_((graph.tasks() + 1) * static_cast<std::size_t>(graph.tasks()) * target.places(), 0),
        best_map_(improve(graph, target, dual_bipartition(graph, target, 0), 0)),
        best_(cost_of(best_map_)) {
    bool several = false;
    for (std::uint32_t p = 0; p < places_; ++p) {
      room_[p] = target.capacity(p);
      several |= room_[p] > 1;
    }
    least_ = std::numeric_limits<std::uint32_t>::max();
    for (std::uint32_t p = 0; p < places_ && !several; ++p) {
      for (std::uint32_t q = 0; q < p; ++q) {
        least_ = std::min(least_, sent_.empty() ? target.distance(p, q) : std::min(length(p, q), length(q, p)));
      }
    }
    if (several || places_ < 2) least_ = 0;
    put_in_order();
  }

  std::optional<Map> run() {
    place(0, 0);
    return steps_ > most_steps_ ? std::nullopt : std::optional(best_map_);
  }

 private:
  [[nodiscard]] std::uint32_t length(std::uint32_t p, std::uint32_t q) const {
    return target_->topology().route_length(target_->node(p), target_->node(q));
  }

  /// Hop-bytes between tasks t and u, `bytes` in both directions together, on places p and q.
  [[nodiscard]] double between(std::uint32_t t, std::uint32_t u, double bytes, std::uint32_t p, std::uint32_t q) const {
    if (sent_.empty()) return bytes * target_->distance(p, q);
    const auto n = static_cast<std::size_t>(graph_->tasks());
    return sent_[t * n + u] * length(p, q) + sent_[u * n + t] * length(q, p);
  }

  [[nodiscard]] double cost_of(const Map& map) const {
    double sum = 0;
    for (std::uint32_t t = 0; t < graph_->tasks(); ++t) {
      for (std::uint64_t e = graph_->links.offsets[t]; e < graph_->links.offsets[t + 1]; ++e) {
        const std::uint32_t u = graph_->links.targets[e];
        if (u > t) sum += between(t, u, graph_->bytes[e], map[t], map[u]);
      }
    }
    return sum;
  }

  /// Always the task with most bytes to those before it, of equals the one with most bytes.
  void put_in_order() {
    std::iota(order_.begin(), order_.end(), 0U);
    std::vector<double> total(order_.size(), 0);
    std::vector<double> pull(order_.size(), 0);
    for (const std::uint32_t t : order_) {
      for (const double b : graph_->bytes_of(t)) total[t] += b;
    }
    between_.assign(order_.size() + 1, 0);
    between_[0] = graph_->total_bytes();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto next = std::max_element(
          order_.begin() + static_cast<std::ptrdiff_t>(i), order_.end(),
          [&](auto a, auto b) { return std::tuple(pull[a], total[a], b) < std::tuple(pull[b], total[b], a); });
      std::iter_swap(order_.begin() + static_cast<std::ptrdiff_t>(i), next);
      const std::uint32_t t = order_[i];
      between_[i + 1] = between_[i] - (total[t] - pull[t]);
      for (std::uint64_t e = graph_->links.offsets[t]; e < graph_->links.offsets[t + 1]; ++e) {
        pull[graph_->links.targets[e]] += graph_->bytes[e];
      }
    }
  }

  [[nodiscard]] double* prices(std::size_t depth, std::uint32_t task) {
    return price_.data() + (depth * order_.size() + task) * places_;
  }

  /// Places the tasks from `depth` on; those before it cost `cost`.
  void place(std::size_t depth, double cost) {
    if (depth == order_.size()) {
      best_ = cost;
      best_map_ = place_;
      return;
    }
    // Edges among the tasks that have no place yet, this one with them.
    double rest = between_[depth] * least_;
    for (std::size_t i = depth + 1; i < order_.size(); ++i) rest += cheapest(depth, order_[i]);
    const std::uint32_t t = order_[depth];
    auto& offers = offers_[depth];
    offers.clear();
    for (std::uint32_t p = 0; p < places_; ++p) {
      if (room_[p] > 0) offers.emplace_back(prices(depth, t)[p], p);
    }
    std::sort(offers.begin(), offers.end());
    // To whom nobody talks any place is as good.
    if (graph_->links.row(t).empty()) offers.resize(1);
    for (const auto& [price, p] : offers) {
      if (cost + price + rest >= best_ * (1 - rounding)) return;
      if (steps_ > most_steps_) return;
      if ((++placed_ & 0x3F) == 0) interruption_point();
      --room_[p];
      place_[t] = p;
      for (std::size_t i = depth + 1; i < order_.size(); ++i) {
        std::copy_n(prices(depth, order_[i]), places_, prices(depth + 1, order_[i]));
      }
      for (std::uint64_t e = graph_->links.offsets[t]; e < graph_->links.offsets[t + 1]; ++e) {
        const std::uint32_t u = graph_->links.targets[e];
        if (place_[u] != nowhere) continue;
        double* to = prices(depth + 1, u);
        for (std::uint32_t q = 0; q < places_; ++q) to[q] += between(t, u, graph_->bytes[e], p, q);
      }
      steps_ += (order_.size() - depth) * places_;
      place(depth + 1, cost + price);
      place_[t] = nowhere;
      ++room_[p];
    }
  }

  [[nodiscard]] double cheapest(std::size_t depth, std::uint32_t task) {
    double least = std::numeric_limits<double>::infinity();
    const double* of = prices(depth, task);
    for (std::uint32_t p = 0; p < places_; ++p) {
      if (room_[p] > 0) least = std::min(least, of[p]);
    }
    return least;
  }

  static constexpr double rounding = 1e-12;

  const TaskGraph* graph_;
  const Target* target_;
  std::span<const double> sent_;
  std::uint64_t most_steps_;
  std::uint64_t steps_ = 0;
  std::uint64_t placed_ = 0;
  std::uint32_t places_;
  std::uint32_t least_ = 0;  ///< distance of different tasks
  std::vector<std::uint32_t> order_;
  std::vector<double> between_;  ///< bytes among the tasks from a position in the order on
  Map place_;
  std::vector<std::uint32_t> room_;
  std::vector<std::vector<std::pair<double, std::uint32_t>>> offers_;  ///< of every depth: price and place
  std::vector<double> price_;
  Map best_map_;
  double best_;
};

}  // namespace

std::optional<Map> exact_map(const TaskGraph& graph, const Target& target, std::uint64_t most_steps,
                             std::span<const double> sent) {
  require_room(graph, target);
  require(sent.empty() || sent.size() == static_cast<std::size_t>(graph.tasks()) * graph.tasks(),
          "exact: ", sent.size(), " numbers of bytes for the pairs of ", graph.tasks(), " tasks");
  const auto cells = (graph.tasks() + std::uint64_t{1}) * graph.tasks() * target.places();
  constexpr std::uint64_t most_cells = 1 << 22;
  if (cells > most_cells) return std::nullopt;
  return Search(graph, target, most_steps, sent).run();
}

}  // namespace isthmus::mapping
