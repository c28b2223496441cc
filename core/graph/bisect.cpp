#include "graph/bisect.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/rng.hpp"

namespace isthmus::graph {
namespace {

struct Edge {
  std::uint32_t to;
  double weight;  // of both directions together
};

/// Both directions of every edge merged: moving a vertex changes the sum of both cuts, whose halves are equal on every
/// undirected network and never differ by more than the imbalance of degrees on a directed one.
class Halving {
 public:
  Halving(const Csr& graph, std::span<const double> weights, std::uint32_t terminals)
      : terminals_(terminals), rows_(graph.vertices()), side_(graph.vertices()), gain_(graph.vertices()) {
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      for (std::uint64_t i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
        const std::uint32_t w = graph.targets[i];
        if (w == v) continue;
        rows_[v].push_back({w, weights[i]});
        rows_[w].push_back({v, weights[i]});
      }
    }
  }

  /// Side 0 takes the terminals that a breadth-first search from `source` meets first.
  void grow_from(std::uint32_t source) {
    std::fill(side_.begin(), side_.end(), std::uint8_t{1});
    std::vector<std::uint8_t> seen(rows_.size(), 0);
    std::vector<std::uint32_t> queue{source};
    seen[source] = 1;
    std::uint32_t left = terminals_ / 2;
    for (std::size_t head = 0; head < queue.size() && left > 0; ++head) {
      const std::uint32_t v = queue[head];
      side_[v] = 0;
      if (v < terminals_) --left;
      for (const Edge& e : rows_[v]) {
        if (seen[e.to]) continue;
        seen[e.to] = 1;
        queue.push_back(e.to);
      }
    }
    // A graph in several pieces: fill up with terminals in order.
    for (std::uint32_t v = 0; v < terminals_ && left > 0; ++v) {
      if (side_[v] == 1) {
        side_[v] = 0;
        --left;
      }
    }
  }

  /// Passes until one does not help.
  void refine() {
    while (pass()) {
    }
  }

  [[nodiscard]] const std::vector<std::uint8_t>& sides() const { return side_; }

 private:
  using Candidate = std::pair<double, std::uint32_t>;
  using Heap = std::priority_queue<Candidate>;

  void move(std::uint32_t v, std::vector<Heap>& heaps) {
    for (const Edge& e : rows_[v]) {
      gain_[e.to] += side_[e.to] == side_[v] ? 2 * e.weight : -2 * e.weight;
      if (!locked_[e.to]) heaps[heap_of(e.to)].push({gain_[e.to], e.to});
    }
    side_[v] ^= 1;
    gain_[v] = -gain_[v];
    locked_[v] = 1;
  }

  // Heaps: terminals of side 0, terminals of side 1, other vertices.
  [[nodiscard]] int heap_of(std::uint32_t v) const { return v < terminals_ ? side_[v] : 2; }

  /// The unlocked vertex of highest gain on a heap, or -1; stale entries are dropped on the way.
  std::int64_t best(Heap& heap, int which) {
    while (!heap.empty()) {
      const auto [gain, v] = heap.top();
      if (!locked_[v] && heap_of(v) == which && gain == gain_[v]) return v;
      heap.pop();
    }
    return -1;
  }

  bool pass() {
    const auto n = static_cast<std::uint32_t>(rows_.size());
    locked_.assign(n, 0);
    std::vector<Heap> heaps(3);
    for (std::uint32_t v = 0; v < n; ++v) {
      gain_[v] = 0;
      for (const Edge& e : rows_[v]) gain_[v] += side_[e.to] == side_[v] ? -e.weight : e.weight;
      heaps[heap_of(v)].push({gain_[v], v});
    }
    std::vector<std::uint32_t> moved;
    double total = 0;
    double best_total = 0;
    std::size_t best_length = 0;
    std::uint32_t since_best = 0;
    // A pass that has long not helped will not: the bound keeps large graphs affordable.
    const std::uint32_t patience = std::max(1000U, n / 8);
    while (since_best < patience) {
      const std::int64_t other = best(heaps[2], 2);
      if (other >= 0 && gain_[other] > 0) {
        total += gain_[other];
        moved.push_back(static_cast<std::uint32_t>(other));
        move(moved.back(), heaps);
      } else {
        // A swap keeps the halves equal: the best terminal of one side, then of the other with gains brought up to
        // date.
        const std::int64_t a = best(heaps[0], 0);
        if (a < 0) break;
        total += gain_[a];
        moved.push_back(static_cast<std::uint32_t>(a));
        move(moved.back(), heaps);
        const std::int64_t b = best(heaps[1], 1);
        if (b < 0) break;  // the half swap is undone below: best_length never points between the two
        total += gain_[b];
        moved.push_back(static_cast<std::uint32_t>(b));
        move(moved.back(), heaps);
      }
      if (total > best_total + 1e-9 * std::abs(best_total) + 1e-12) {
        best_total = total;
        best_length = moved.size();
        since_best = 0;
      } else {
        ++since_best;
      }
    }
    while (moved.size() > best_length) {
      side_[moved.back()] ^= 1;
      moved.pop_back();
    }
    return best_length > 0;
  }

  std::uint32_t terminals_;
  std::vector<std::vector<Edge>> rows_;
  std::vector<std::uint8_t> side_;
  std::vector<double> gain_;
  std::vector<std::uint8_t> locked_;
};

Cut cut_of(const Csr& graph, std::span<const double> weights, const std::vector<std::uint8_t>& side) {
  Cut there{0, 0};
  Cut back{0, 0};
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    for (std::uint64_t i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
      if (side[v] == side[graph.targets[i]]) continue;
      Cut& c = side[v] == 0 ? there : back;
      ++c.edges;
      c.weight += weights[i];
    }
  }
  return {std::min(there.edges, back.edges), std::min(there.weight, back.weight)};
}

}  // namespace

Cut bisect(const Csr& graph, std::span<const double> weights, std::uint32_t terminals, int starts, std::uint64_t seed) {
  if (terminals < 2) return {0, 0};
  // Unit weights find the fewest links, bandwidths the least bandwidth: the two cuts can differ.
  const std::vector<double> ones(weights.size(), 1.0);
  Cut out{~std::uint64_t{0}, 1e300};
  for (const bool by_weight : {false, true}) {
    Halving halving(graph, by_weight ? weights : std::span<const double>(ones), terminals);
    Rng rng(seed);
    for (int i = 0; i < starts; ++i) {
      halving.grow_from(i == 0 ? 0 : rng.below(terminals));
      halving.refine();
      const Cut cut = cut_of(graph, weights, halving.sides());
      out.edges = std::min(out.edges, cut.edges);
      out.weight = std::min(out.weight, cut.weight);
    }
  }
  return out;
}

}  // namespace isthmus::graph
