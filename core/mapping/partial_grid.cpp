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
  explicit Growth(Csr graph) : graph_(std::move(graph)), at_(graph_.vertices()), placed_(graph_.vertices(), false) {}

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
    for (int sweep = 0; sweep < 2; ++sweep) repair();
    return true;
  }

  /// Coordinates from 0, periodic dimensions closed.
  std::optional<Product> product(double emptiest) {
    Product out;
    Position low = at_[0];
    Position high = at_[0];
    for (const Position& p : at_) {
      for (std::size_t k = 0; k < dimensions_; ++k) {
        low[k] = std::min(low[k], p[k]);
        high[k] = std::max(high[k], p[k]);
      }
    }
    for (std::size_t k = 0; k < dimensions_; ++k) {
      const std::int32_t period = close(k);
      const bool periodic = period > 0;
      const auto extent = static_cast<std::uint32_t>(periodic ? period : high[k] - low[k] + 1);
      out.factors.push_back({periodic ? FactorKind::cycle : FactorKind::path, extent});
      if (periodic) low[k] = 0;
    }
    double cells = 1;
    for (const Factor& f : out.factors) cells *= f.extent;
    if (cells > emptiest * graph_.vertices()) return std::nullopt;
    for (const Position& p : at_) {
      for (std::size_t k = 0; k < dimensions_; ++k)
        out.coordinates.push_back(static_cast<std::uint32_t>(p[k] - low[k]));
    }
    return out;
  }

 private:
  struct Candidate {
    Position at;
    std::uint32_t votes;
    std::uint64_t voters;
  };

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

  /// The unplaced vertex with the largest whole frame of at most the chosen dimensions; none if no unplaced one has
  /// neighbours.
  [[nodiscard]] std::uint32_t best_seed() const {
    std::uint32_t best = graph_.vertices();
    int most = -1;
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

  [[nodiscard]] std::vector<Candidate> candidates(std::uint32_t v) const {
    std::vector<Candidate> out;
    std::uint64_t voter = 1;
    for (const std::uint32_t w : graph_.row(v)) {
      if (!placed_[w]) continue;
      for (std::size_t k = 0; k < dimensions_; ++k) {
        for (const std::int32_t step : {1, -1}) {
          Position p = at_[w];
          p[k] += step;
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
    const auto found = candidates(v);
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

  [[nodiscard]] std::uint32_t unit_edges(std::uint32_t v, const Position& at) const {
    std::uint32_t count = 0;
    for (const std::uint32_t w : graph_.row(v)) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < dimensions_; ++k) sum += std::abs(at[k] - at_[w][k]);
      count += sum == 1;
    }
    return count;
  }

  /// Moves vertices to free places where more of their edges are unit steps.
  void repair() {
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      const std::uint32_t now = unit_edges(v, at_[v]);
      if (now == graph_.row(v).size()) continue;
      const auto found = candidates(v);
      if (found.empty() || found[0].votes <= now) continue;
      vertex_at_.erase(key_of(at_[v]));
      put(v, found[0].at);
    }
  }

  /// The period of dimension k if enough edges close it: coordinates become their remainders. 0 if it is open.
  std::int32_t close(std::size_t k) {
    std::map<std::int32_t, std::uint32_t> votes;  // by period
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      for (const std::uint32_t w : graph_.row(v)) {
        if (w < v) continue;
        std::int32_t others = 0;
        for (std::size_t j = 0; j < dimensions_; ++j) others += j == k ? 0 : std::abs(at_[v][j] - at_[w][j]);
        const std::int32_t step = std::abs(at_[v][k] - at_[w][k]);
        if (others == 1 && step > 1) ++votes[step];
        if (others == 0 && step > 1) {
          ++votes[step + 1];
          if (step > 3) ++votes[step - 1];
        }
      }
    }
    const auto most =
        std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == votes.end()) return 0;
    const std::int32_t period = most->first;
    // Lines along k number about n / period; half of them should close.
    if (static_cast<double>(most->second) * 2 < static_cast<double>(graph_.vertices()) / period) return 0;
    std::unordered_map<std::uint64_t, std::uint32_t> folded;
    std::vector<Position> moved = at_;
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      moved[v][k] = (moved[v][k] % period + period) % period;
      if (!folded.emplace(key_of(moved[v]), v).second) return 0;
    }
    at_ = std::move(moved);
    vertex_at_ = std::move(folded);
    return period;
  }

  Csr graph_;
  std::vector<Position> at_;
  std::vector<bool> placed_;
  std::vector<std::uint8_t> frame_size_;
  std::size_t dimensions_ = 0;
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
  Growth growth(edges_of_squares(sorted));
  if (!growth.run()) return std::nullopt;
  return growth.product(emptiest);
}

}  // namespace isthmus
