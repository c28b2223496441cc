#include "mapping/partial_grid.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "graph/order.hpp"

namespace isthmus {
namespace {

constexpr std::size_t most_dimensions = 4;
using Position = std::array<std::int32_t, most_dimensions>;

std::uint64_t key_of(const Position& p) {
  std::uint64_t key = 0;
  for (const std::int32_t x : p) key = key << 16 | static_cast<std::uint16_t>(x);
  return key;
}

/// Vertices that two neighbours of `v` both have as a neighbour, `v` itself not among them.
std::uint32_t common(const Csr& graph, std::uint32_t a, std::uint32_t b, std::uint32_t v) {
  std::uint32_t count = 0;
  const auto other = graph.row(b);
  for (const std::uint32_t w : graph.row(a)) {
    if (w != v && std::binary_search(other.begin(), other.end(), w)) ++count;
  }
  return count;
}

/// The graph without edges that are on no square.
Csr edges_of_squares(const Csr& graph) {
  Csr out;
  out.offsets.push_back(0);
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    for (const std::uint32_t a : graph.row(v)) {
      const auto row = graph.row(v);
      const bool square =
          std::any_of(row.begin(), row.end(), [&](std::uint32_t b) { return b != a && common(graph, a, b, v) > 0; });
      if (square) out.targets.push_back(a);
    }
    out.offsets.push_back(out.targets.size());
  }
  return out;
}

class Growth {
 public:
  explicit Growth(const Csr& whole)
      : whole_(whole), graph_(edges_of_squares(whole)), at_(graph_.vertices()), placed_(graph_.vertices(), false) {}

  bool run() {
    if (!choose_dimensions()) return false;
    std::int32_t base = 0;
    for (std::uint32_t seed = best_seed(); seed < graph_.vertices(); seed = best_seed()) {
      start(seed, base);
      spread();
      // Another part of the graph goes beside what there is.
      for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
        if (placed_[v]) base = std::max(base, at_[v][0] + 2);
      }
    }
    measure();
    for (std::size_t k = 0; k < dimensions_; ++k) close(k);
    measure();
    for (int sweep = 0; sweep < 3; ++sweep) repair();
    place_rest();
    measure();
    return true;
  }

  /// Coordinates from 0.
  std::optional<Product> product(double emptiest) const {
    Product out;
    double cells = 1;
    for (std::size_t k = 0; k < dimensions_; ++k) {
      const auto extent = static_cast<std::uint32_t>(high_[k] - low_[k] + 1);
      out.factors.push_back({period_[k] > 0 ? FactorKind::cycle : FactorKind::path, extent});
      cells *= extent;
    }
    if (cells > emptiest * graph_.vertices()) return std::nullopt;
    for (const Position& p : at_) {
      for (std::size_t k = 0; k < dimensions_; ++k) {
        out.coordinates.push_back(static_cast<std::uint32_t>(p[k] - low_[k]));
      }
    }
    return out;
  }

 private:
  struct Candidate {
    Position at;
    std::uint32_t votes;
    std::uint64_t voters;
  };

  /// The box round everything that is placed.
  void measure() {
    bool any = false;
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      if (!placed_[v]) continue;
      for (std::size_t k = 0; k < most_dimensions; ++k) {
        low_[k] = any ? std::min(low_[k], at_[v][k]) : at_[v][k];
        high_[k] = any ? std::max(high_[k], at_[v][k]) : at_[v][k];
      }
      any = true;
    }
    for (std::size_t k = 0; k < dimensions_; ++k) {
      if (period_[k] == 0) continue;
      low_[k] = 0;
      high_[k] = period_[k] - 1;
    }
  }

  [[nodiscard]] bool inside(const Position& p) const {
    for (std::size_t k = 0; k < dimensions_; ++k) {
      if (p[k] < low_[k] || p[k] > high_[k]) return false;
    }
    return true;
  }

  /// One step from p along dimension k.
  [[nodiscard]] Position moved(Position p, std::size_t k, std::int32_t step) const {
    p[k] += step;
    if (period_[k] > 0) p[k] = (p[k] % period_[k] + period_[k]) % period_[k];
    return p;
  }

  [[nodiscard]] bool free(const Position& p) const { return !vertex_at_.contains(key_of(p)); }

  void put(std::uint32_t v, const Position& p) {
    at_[v] = p;
    placed_[v] = true;
    vertex_at_[key_of(p)] = v;
  }

  /// Opposite neighbours of v, pair by pair, then those without one; empty where opposites are ambiguous.
  [[nodiscard]] std::vector<std::array<std::uint32_t, 2>> frame(std::uint32_t v) const {
    const auto row = graph_.row(v);
    std::vector<std::array<std::uint32_t, 2>> out;
    if (row.size() > 2 * most_dimensions) return out;
    std::vector<bool> used(row.size(), false);
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (std::size_t j = i + 1; j < row.size(); ++j) {
        if (common(graph_, row[i], row[j], v) > 0) continue;
        if (used[i] || used[j]) return {};
        used[i] = used[j] = true;
        out.push_back({row[i], row[j]});
      }
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!used[i]) out.push_back({row[i], row[i]});
    }
    if (out.size() > most_dimensions) out.clear();
    return out;
  }

  /// As many dimensions as the frames of many vertices have.
  bool choose_dimensions() {
    std::array<std::uint32_t, most_dimensions + 1> frames{};
    frame_size_.assign(graph_.vertices(), 0);
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      const auto f = frame(v);
      // Whole pairs count double: a seed in the middle sees more.
      std::uint8_t pairs = 0;
      for (const auto& pair : f) pairs = static_cast<std::uint8_t>(pairs + (pair[0] != pair[1]));
      frame_size_[v] = static_cast<std::uint8_t>(f.size() * 8 + pairs);
      ++frames[f.size()];
    }
    for (std::size_t d = most_dimensions; d >= 2; --d) {
      if (frames[d] * 10 < graph_.vertices()) continue;
      dimensions_ = d;
      return true;
    }
    return false;
  }

  /// The unplaced vertex with the largest whole frame of at most the chosen dimensions; none where nobody has one.
  [[nodiscard]] std::uint32_t best_seed() const {
    std::uint32_t best = graph_.vertices();
    int most = 0;
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      if (placed_[v]) continue;
      const int size = frame_size_[v] / 8 > static_cast<int>(dimensions_) ? 0 : frame_size_[v];
      if (size > most) {
        most = size;
        best = v;
      }
    }
    return best;
  }

  void start(std::uint32_t seed, std::int32_t base) {
    Position p{};
    p[0] = base;
    while (!free(p)) ++p[0];
    put(seed, p);
    ready_.clear();
    later_.clear();
    const auto pairs = frame(seed);
    for (std::size_t k = 0; k < std::min(pairs.size(), dimensions_); ++k) {
      for (std::size_t side = 0; side < 2; ++side) {
        Position q = p;
        q[k] += side == 0 ? 1 : -1;
        if ((side == 0 || pairs[k][1] != pairs[k][0]) && !placed_[pairs[k][side]] && free(q)) put(pairs[k][side], q);
      }
    }
    enqueue_around(seed);
    for (const std::uint32_t w : graph_.row(seed)) {
      if (placed_[w]) enqueue_around(w);
    }
  }

  void enqueue_around(std::uint32_t v) {
    for (const std::uint32_t w : graph_.row(v)) {
      if (!placed_[w]) ready_.push_back(w);
    }
  }

  void spread() {
    for (std::size_t level = 0;;) {
      if (!ready_.empty()) {
        std::vector<std::uint32_t> now;
        now.swap(ready_);
        for (const std::uint32_t v : now) {
          if (placed_[v]) continue;
          if (place_by_votes(v)) enqueue_around(v);
          else later_.push_back(v);
        }
        level = 0;
        continue;
      }
      std::vector<std::uint32_t> now;
      now.swap(later_);
      std::sort(now.begin(), now.end());
      now.erase(std::unique(now.begin(), now.end()), now.end());
      for (const std::uint32_t v : now) {
        if (placed_[v]) continue;
        // One step along a line, then squares again.
        if (ready_.empty() && place_along_line(v, level)) enqueue_around(v);
        else later_.push_back(v);
      }
      if (!ready_.empty()) continue;
      if (later_.empty() || ++level > 1) return;
    }
  }

  [[nodiscard]] std::vector<Candidate> candidates(const Csr& graph, std::uint32_t v) const {
    std::vector<Candidate> out;
    std::uint64_t voter = 1;
    for (const std::uint32_t w : graph.row(v)) {
      if (!placed_[w]) continue;
      for (std::size_t k = 0; k < dimensions_; ++k) {
        for (const std::int32_t step : {1, -1}) {
          const Position p = moved(at_[w], k, step);
          if (!free(p)) continue;
          const auto known = std::find_if(out.begin(), out.end(), [&](const Candidate& c) { return c.at == p; });
          if (known == out.end()) {
            out.push_back({p, 1, voter});
          } else {
            ++known->votes;
            known->voters |= voter;
          }
        }
      }
      voter <<= 1;
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.votes > b.votes; });
    return out;
  }

  /// Where two neighbours or more agree, and the same ones on no other place.
  bool place_by_votes(std::uint32_t v) {
    const auto found = candidates(graph_, v);
    if (found.empty() || found[0].votes < 2) return false;
    for (std::size_t i = 1; i < found.size() && found[i].votes == found[0].votes; ++i) {
      if ((found[i].voters & found[0].voters) != 0) return false;
    }
    put(v, found[0].at);
    return true;
  }

  /// Opposite a placed neighbour of a placed neighbour; at level 1 wherever no square forbids it.
  bool place_along_line(std::uint32_t v, std::size_t level) {
    for (const std::uint32_t w : graph_.row(v)) {
      if (!placed_[w]) continue;
      std::vector<Position> strong;
      std::vector<Position> weak;
      for (std::size_t k = 0; k < dimensions_; ++k) {
        for (const std::int32_t step : {1, -1}) {
          Position p = at_[w];
          p[k] += step;
          if (!free(p)) continue;
          Position behind = at_[w];
          behind[k] -= step;
          const auto other = vertex_at_.find(key_of(behind));
          const bool linked = other != vertex_at_.end() && adjacent(w, other->second);
          if (!linked) weak.push_back(p);
          else if (common(graph_, other->second, v, w) == 0) strong.push_back(p);
        }
      }
      if (strong.size() == 1 || (level > 0 && !strong.empty())) {
        put(v, strong[0]);
        return true;
      }
      if (level > 0 && !weak.empty()) {
        put(v, weak[0]);
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool adjacent(std::uint32_t a, std::uint32_t b) const {
    const auto row = graph_.row(a);
    return std::binary_search(row.begin(), row.end(), b);
  }

  [[nodiscard]] std::int32_t step_between(const Position& a, const Position& b, std::size_t k) const {
    const std::int32_t step = std::abs(a[k] - b[k]);
    return period_[k] > 0 ? std::min(step, period_[k] - step) : step;
  }

  [[nodiscard]] std::uint32_t unit_edges(std::uint32_t v, const Position& at) const {
    std::uint32_t count = 0;
    for (const std::uint32_t w : whole_.row(v)) {
      if (!placed_[w]) continue;
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < dimensions_; ++k) sum += step_between(at, at_[w], k);
      count += sum == 1;
    }
    return count;
  }

  /// Moves vertices to free places where more of their edges are unit steps, and places those that have none.
  void repair() {
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      const std::uint32_t now = placed_[v] ? unit_edges(v, at_[v]) : 0;
      if (now == whole_.row(v).size()) continue;
      auto found = candidates(whole_, v);
      // Within the box first: what sticks out makes it larger.
      std::stable_partition(found.begin(), found.end(), [&](const Candidate& c) { return inside(c.at); });
      const auto best = std::max_element(found.begin(), found.end(),
                                         [](const Candidate& a, const Candidate& b) { return a.votes < b.votes; });
      if (best == found.end() || best->votes <= now) continue;
      if (placed_[v]) vertex_at_.erase(key_of(at_[v]));
      put(v, best->at);
    }
  }

  /// Those that nobody has a place for: anywhere free in the box, or beyond it.
  void place_rest() {
    Position p = low_;
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      if (placed_[v]) continue;
      while (!free(p)) {
        std::size_t k = 0;
        while (k + 1 < dimensions_ && p[k] == high_[k]) p[k] = low_[k], ++k;
        ++p[k];
      }
      put(v, p);
    }
  }

  /// Closes dimension k if enough edges lead from its end to its beginning. Vertices that meet others there lose their
  /// places.
  void close(std::size_t k) {
    std::map<std::int32_t, std::uint32_t> votes;  // by period
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      for (const std::uint32_t w : graph_.row(v)) {
        if (w < v || !placed_[v] || !placed_[w]) continue;
        std::int32_t others = 0;
        for (std::size_t j = 0; j < dimensions_; ++j) others += j == k ? 0 : step_between(at_[v], at_[w], j);
        const std::int32_t step = std::abs(at_[v][k] - at_[w][k]);
        if (others == 1 && step > 1) ++votes[step];
        if (others == 0 && step > 1) {
          ++votes[step + 1];
          if (step > 3) ++votes[step - 1];
        }
      }
    }
    // Lines along k number about n / period; half of them should close. A step of the extent less one may be either way
    // round: the larger period is the likelier.
    std::vector<std::pair<std::uint32_t, std::int32_t>> likely;
    for (const auto& [period, count] : votes) {
      if (2.0 * count * period >= graph_.vertices()) likely.emplace_back(count, period);
    }
    std::sort(likely.begin(), likely.end(), std::greater<>());
    for (const auto& [count, period] : likely) {
      if (close_at(k, period)) return;
    }
  }

  /// Makes coordinates along k remainders, unless many vertices would meet.
  bool close_at(std::size_t k, std::int32_t period) {
    std::unordered_map<std::uint64_t, std::uint32_t> folded;
    std::vector<std::uint32_t> lost;
    const auto remainder = [&](Position p) {
      p[k] = (p[k] % period + period) % period;
      return p;
    };
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      if (placed_[v] && !folded.emplace(key_of(remainder(at_[v])), v).second) lost.push_back(v);
    }
    if (lost.size() * 20 > graph_.vertices()) return false;
    period_[k] = period;
    vertex_at_ = std::move(folded);
    for (const std::uint32_t v : lost) placed_[v] = false;
    for (Position& p : at_) p = remainder(p);
    return true;
  }

  const Csr& whole_;
  Csr graph_;
  std::vector<Position> at_;
  std::vector<bool> placed_;
  std::vector<std::uint8_t> frame_size_;
  std::size_t dimensions_ = 0;
  Position period_{};  ///< 0: open
  Position low_{};
  Position high_{};
  std::unordered_map<std::uint64_t, std::uint32_t> vertex_at_;
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> later_;
};
}  // namespace

std::optional<Product> fit_grid(const Csr& graph, double emptiest) {
  constexpr std::uint32_t most_vertices = 1U << 22;
  std::uint64_t most_degree = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) most_degree = std::max(most_degree, graph.row(v).size());
  if (graph.vertices() < 4 || graph.vertices() > most_vertices || most_degree > 64) return std::nullopt;
  Csr sorted = graph;
  for (std::uint32_t v = 0; v < sorted.vertices(); ++v) {
    std::sort(sorted.targets.begin() + static_cast<std::ptrdiff_t>(sorted.offsets[v]),
              sorted.targets.begin() + static_cast<std::ptrdiff_t>(sorted.offsets[v + 1]));
  }
  Growth growth(sorted);
  if (!growth.run()) return std::nullopt;
  return growth.product(emptiest);
}

}  // namespace isthmus
