#include "mapping/regular/partial_grid.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/interruption.hpp"
#include "mapping/regular/grid_growth.hpp"

namespace isthmus::mapping {
namespace {

/// Do a and b have a neighbour in common besides v?
bool meet(const Csr& graph, std::uint32_t a, std::uint32_t b, std::uint32_t v) {
  const auto x = graph.row(a);
  const auto y = graph.row(b);
  for (auto i = x.begin(), j = y.begin(); i != x.end() && j != y.end();) {
    if (*i < *j) ++i;
    else if (*j < *i) ++j;
    else if (*i++ != v) return true;
    else ++j;
  }
  return false;
}

bool on_square(const Csr& graph, std::uint32_t v, std::uint32_t a) {
  const auto row = graph.row(v);
  return std::any_of(row.begin(), row.end(), [&](std::uint32_t b) { return b != a && meet(graph, a, b, v); });
}

/// Two squares of which the common edge is missing leave a way of five edges round.
bool on_hexagon(const Csr& graph, std::uint32_t v, std::uint32_t a) {
  for (const std::uint32_t x : graph.row(v)) {
    for (const std::uint32_t y : graph.row(a)) {
      if (x == a || y == v || x == y) continue;
      for (const std::uint32_t p : graph.row(x)) {
        if (p == v || p == a || p == y) continue;
        for (const std::uint32_t q : graph.row(y)) {
          if (q == v || q == a || q == x || q == p) continue;
          const auto row = graph.row(p);
          if (std::binary_search(row.begin(), row.end(), q)) return true;
        }
      }
    }
  }
  return false;
}

/// The graph without edges that no grid has so: on plain grids those on no square (nor on a hexagon, where most are on
/// squares), with diagonals those whose ends have no neighbour in common.
Csr likely_edges(const Csr& graph, bool box, std::uint64_t& steps) {
  const std::uint32_t n = graph.vertices();
  std::vector<bool> kept(graph.targets.size());
  std::uint64_t count = 0;
  for (std::uint32_t v = 0; v < n; ++v) {
    const std::uint64_t degree = graph.row(v).size();
    steps += box ? 2 * degree * degree : degree * degree * degree;
    for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      const std::uint32_t a = graph.targets[e];
      if (box) {
        std::vector<std::uint32_t> both;
        std::set_intersection(graph.row(v).begin(), graph.row(v).end(), graph.row(a).begin(), graph.row(a).end(),
                              std::back_inserter(both));
        kept[e] = !both.empty();
      } else {
        kept[e] = on_square(graph, v, a);
      }
      count += kept[e];
    }
  }
  const bool more = !box && 2 * count > graph.targets.size();
  Csr out;
  out.offsets.push_back(0);
  constexpr std::uint64_t most_degree = 2 * most_dimensions + 2;
  for (std::uint32_t v = 0; v < n; ++v) {
    for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      const std::uint32_t a = graph.targets[e];
      if (!kept[e] && more && graph.row(v).size() <= most_degree && graph.row(a).size() <= most_degree) {
        kept[e] = on_hexagon(graph, v, a);
        steps += 200;
      }
      if (kept[e]) out.targets.push_back(a);
    }
    out.offsets.push_back(out.targets.size());
  }
  return out;
}

/// Coordinates found by growth, made those of a box.
class Fitting {
 public:
  Fitting(const Csr& whole, const Csr& graph, GridLayout&& layout, bool box, bool bold)
      : whole_(whole),
        graph_(graph),
        layout_(std::move(layout)),
        box_(box),
        bold_(bold),
        dimensions_(layout_.dimensions) {}

  void run() {
    measure();
    for (std::size_t k = 0; k < dimensions_; ++k) close(k);
    measure();
    constexpr int sweeps = 8;
    if (bold_) {
      // Two neighbours say more than one, and one says more within the box.
      constexpr int most_sweeps = 64;
      for (int sweep = 0; sweep < most_sweeps && repair(2); ++sweep) {
      }
      measure();
      trimmed_ = true;
      for (int sweep = 0; sweep < most_sweeps && (repair(2) || repair()); ++sweep) {
      }
      trimmed_ = false;
    }
    for (int sweep = 0; sweep < sweeps && repair(); ++sweep) {
    }
    measure();
    // What has moved inside leaves slices at the ends that may now be taken off, too.
    for (Position low = high_, high = low_; low != low_ || high != high_;) {
      low = low_, high = high_;
      for (std::size_t k = 0; k < dimensions_; ++k) trim(k);
      trimmed_ = true;
      for (int sweep = 0; sweep < sweeps && repair(); ++sweep) {
      }
      measure();
    }
    place_rest();
    measure();
  }

  /// Coordinates from 0.
  [[nodiscard]] std::optional<Product> product(double emptiest) const {
    Product out;
    double cells = 1;
    for (std::size_t k = 0; k < dimensions_; ++k) {
      const auto extent = static_cast<std::uint32_t>(high_[k] - low_[k] + 1);
      out.factors.push_back({period_[k] > 0 ? FactorKind::cycle : FactorKind::path, extent});
      cells *= extent;
    }
    if (cells > emptiest * graph_.vertices()) return std::nullopt;
    out.coordinates.reserve(layout_.at.size() * dimensions_);
    for (const Position& p : layout_.at) {
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
  };

  /// The box round everything that is placed.
  void measure() {
    bool any = false;
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      if (!layout_.placed[v]) continue;
      const Position& p = layout_.at[v];
      for (std::size_t k = 0; k < most_dimensions; ++k) {
        low_[k] = any ? std::min(low_[k], p[k]) : p[k];
        high_[k] = any ? std::max(high_[k], p[k]) : p[k];
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

  [[nodiscard]] Position wrapped(Position p) const {
    for (std::size_t k = 0; k < dimensions_; ++k) {
      if (period_[k] > 0) p[k] = (p[k] % period_[k] + period_[k]) % period_[k];
    }
    return p;
  }

  void put(std::uint32_t v, const Position& p) {
    layout_.at[v] = p;
    layout_.placed[v] = true;
    layout_.cells.put(p, v);
  }

  [[nodiscard]] std::int32_t step_between(const Position& a, const Position& b, std::size_t k) const {
    const std::int32_t step = std::abs(a[k] - b[k]);
    return period_[k] > 0 ? std::min(step, period_[k] - step) : step;
  }

  [[nodiscard]] std::uint32_t unit_edges(std::uint32_t v, const Position& at) const {
    std::uint32_t count = 0;
    for (const std::uint32_t w : whole_.row(v)) {
      if (!layout_.placed[w]) continue;
      std::int32_t sum = 0;
      std::int32_t most = 0;
      for (std::size_t k = 0; k < dimensions_; ++k) {
        const std::int32_t step = step_between(at, layout_.at[w], k);
        sum += step;
        most = std::max(most, step);
      }
      count += box_ ? most == 1 : sum == 1;
    }
    return count;
  }

  /// Free cells beside the neighbours of v, and how many of these each is beside.
  [[nodiscard]] std::vector<Candidate> candidates(std::uint32_t v) const {
    std::vector<std::uint64_t> keys;
    for (const std::uint32_t w : whole_.row(v)) {
      if (!layout_.placed[w]) continue;
      for (const Position& step : layout_.steps) keys.push_back(packed(wrapped(layout_.at[w] + step)));
    }
    std::sort(keys.begin(), keys.end());
    std::vector<Candidate> out;
    for (std::size_t i = 0; i < keys.size();) {
      const std::size_t first = i;
      while (i < keys.size() && keys[i] == keys[first]) ++i;
      const Position p = unpacked(keys[first]);
      if (layout_.cells.free(p)) out.push_back({p, static_cast<std::uint32_t>(i - first)});
    }
    return out;
  }

  /// Moves vertices to free cells where more of their edges are unit steps, and places those that have none; did any?
  bool repair(std::uint32_t least = 1) {
    bool any = false;
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      const bool placed = layout_.placed[v];
      if ((v & 0x3F) == 0) interruption_point();
      const std::uint32_t now = placed ? unit_edges(v, layout_.at[v]) : 0;
      if (now == whole_.row(v).size()) continue;
      auto found = candidates(v);
      // Within the box first: what sticks out makes it larger.
      std::stable_partition(found.begin(), found.end(), [&](const Candidate& c) { return inside(c.at); });
      if (trimmed_) std::erase_if(found, [&](const Candidate& c) { return !inside(c.at); });
      const auto best = std::max_element(found.begin(), found.end(),
                                         [](const Candidate& a, const Candidate& b) { return a.votes < b.votes; });
      if (best == found.end() || best->votes <= now || best->votes < least) continue;
      if (placed) layout_.cells.erase(layout_.at[v]);
      put(v, best->at);
      any = true;
    }
    return any;
  }

  /// Takes slices off the ends of an open dimension while their vertices have about as many edges elsewhere: what was
  /// put beyond the border for want of edges.
  void trim(std::size_t k) {
    if (period_[k] > 0) return;
    std::vector<std::vector<std::uint32_t>> slices(static_cast<std::size_t>(high_[k] - low_[k] + 1));
    const std::int32_t base = low_[k];
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      if (layout_.placed[v]) slices[static_cast<std::size_t>(layout_.at[v][k] - base)].push_back(v);
    }
    double room = -static_cast<double>(graph_.vertices());
    double cells = 1;
    for (std::size_t j = 0; j < dimensions_; ++j) cells *= high_[j] - low_[j] + 1;
    room += cells;
    while (high_[k] > low_[k] + 1) {
      const double slice_cells = cells / (high_[k] - low_[k] + 1);
      const auto size = [&](std::int32_t x) { return slices[static_cast<std::size_t>(x - base)].size(); };
      interruption_point();
      const bool upper = size(high_[k]) < size(low_[k]);
      std::int32_t& end = upper ? high_[k] : low_[k];
      const auto& slice = slices[static_cast<std::size_t>(end - base)];
      if (room < slice_cells || 4 * static_cast<double>(slice.size()) > slice_cells) return;
      end += upper ? -1 : 1;
      for (const std::uint32_t v : slice) {
        layout_.cells.erase(layout_.at[v]);
        layout_.placed[v] = false;
      }
      std::vector<Position> before;
      double lost = 0;
      for (const std::uint32_t v : slice) lost += unit_edges(v, layout_.at[v]);
      for (const std::uint32_t v : slice) {
        before.push_back(layout_.at[v]);
        const Candidate best = best_inside(v);
        if (best.votes == 0) continue;
        lost -= best.votes;
        put(v, best.at);
      }
      // As recognise_nearly() weighs edges against cells.
      const double gain =
          0.05 * std::log2(cells / (cells - slice_cells)) * static_cast<double>(whole_.targets.size()) / 2;
      if (lost > gain) {
        for (std::size_t i = 0; i < slice.size(); ++i) {
          if (layout_.placed[slice[i]]) layout_.cells.erase(layout_.at[slice[i]]);
        }
        for (std::size_t i = 0; i < slice.size(); ++i) put(slice[i], before[i]);
        end -= upper ? -1 : 1;
        return;
      }
      room -= slice_cells;
      cells -= slice_cells;
    }
  }

  [[nodiscard]] Candidate best_inside(std::uint32_t v) const {
    Candidate best{{}, 0};
    for (const Candidate& c : candidates(v)) {
      if (inside(c.at) && c.votes > best.votes) best = c;
    }
    return best;
  }

  /// Those that nobody has a place for: anywhere free in the box, or beyond it.
  void place_rest() {
    Position p = low_;
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      if (layout_.placed[v]) continue;
      while (!layout_.cells.free(p)) {
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
        if (w < v || !layout_.placed[v] || !layout_.placed[w]) continue;
        const Position& a = layout_.at[v];
        const Position& b = layout_.at[w];
        std::int32_t others = 0;
        for (std::size_t j = 0; j < dimensions_; ++j) {
          const std::int32_t step = step_between(a, b, j);
          if (j != k) others = box_ ? std::max(others, step) : others + step;
        }
        const std::int32_t step = std::abs(a[k] - b[k]);
        if (step <= 1 || others > 1) continue;
        if (others == 1 && !box_) {
          ++votes[step];
          continue;
        }
        if (others == 1) continue;
        ++votes[step + 1];
        if (step > 3) ++votes[step - 1];
      }
    }
    // Lines along k number about n / period; a fifth of them should be seen to close, whoever agrees on a length. A
    // step of the extent less one may be either way round: the larger period is the likelier.
    std::vector<std::pair<std::uint32_t, std::int32_t>> likely;
    for (const auto& [period, count] : votes) {
      if (5.0 * count * period >= graph_.vertices()) likely.emplace_back(count, period);
    }
    std::sort(likely.begin(), likely.end(), std::greater<>());
    for (const auto& [count, period] : likely) {
      if (close_at(k, period)) return;
    }
  }

  /// Makes coordinates along k remainders, unless many vertices would meet.
  bool close_at(std::size_t k, std::int32_t period) {
    Cells folded;
    std::vector<std::uint32_t> lost;
    const std::int32_t before = period_[k];
    period_[k] = period;
    for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
      if (!layout_.placed[v]) continue;
      const Position p = wrapped(layout_.at[v]);
      if (folded.free(p)) folded.put(p, v);
      else lost.push_back(v);
    }
    if (lost.size() * 20 > graph_.vertices()) {
      period_[k] = before;
      return false;
    }
    layout_.cells = std::move(folded);
    for (const std::uint32_t v : lost) layout_.placed[v] = false;
    for (Position& p : layout_.at) p = wrapped(p);
    return true;
  }

  const Csr& whole_;
  const Csr& graph_;
  GridLayout layout_;
  bool box_;
  bool bold_;
  std::size_t dimensions_;
  bool trimmed_ = false;  ///< nobody may leave the box
  Position period_{};     ///< 0: open
  Position low_{};
  Position high_{};
};
}  // namespace

std::optional<GridFit> fit_grid(const Csr& graph, std::uint64_t seed, std::uint64_t& steps, std::uint64_t most,
                                bool bold, double emptiest) {
  constexpr std::uint32_t most_vertices = 1U << 22;
  std::uint64_t most_degree = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) most_degree = std::max(most_degree, graph.row(v).size());
  if (graph.vertices() < 4 || graph.vertices() > most_vertices || most_degree > 63) return std::nullopt;
  Csr sorted = graph;
  for (std::uint32_t v = 0; v < sorted.vertices(); ++v) {
    std::sort(sorted.targets.begin() + static_cast<std::ptrdiff_t>(sorted.offsets[v]),
              sorted.targets.begin() + static_cast<std::ptrdiff_t>(sorted.offsets[v + 1]));
  }
  const GridGuess guess = guess_grid(sorted);
  if (guess.dimensions == 0 || (bold && !(guess.box && guess.dimensions == 2))) return std::nullopt;
  const Csr kept = likely_edges(sorted, guess.box, steps);
  auto layout = grow_grid(kept, guess, seed, steps, most, bold);
  if (!layout) return std::nullopt;
  Fitting fitting(sorted, kept, std::move(*layout), guess.box, bold);
  fitting.run();
  auto product = fitting.product(emptiest);
  if (!product) return std::nullopt;
  return GridFit{std::move(*product), guess.box};
}

}  // namespace isthmus::mapping
