#include "mapping/regular/product.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/interruption.hpp"
#include "graph/order.hpp"

namespace isthmus::mapping {
namespace {

constexpr std::size_t most_factors = 32;

/// Coordinates while they are found. On a path: the distance from the root. On a cycle: the same, negative in the
/// direction of the second neighbour of the root. In a complete graph: the number of the root's neighbour.
class Factoring {
 public:
  explicit Factoring(const Csr& original) : order_(breadth_first_order(original, least_degree_vertex(original))) {}

  std::optional<Product> run() {
    if (!group_directions() || !place_all()) return std::nullopt;
    close();
    if (!verify()) return std::nullopt;
    Product out;
    out.factors = factors_;
    const std::size_t d = factors_.size();
    out.coordinates.resize(at_.size());
    for (std::uint32_t v = 0; v < vertices(); ++v) {
      std::copy_n(at_.begin() + static_cast<std::ptrdiff_t>(v * d), d,
                  out.coordinates.begin() + static_cast<std::ptrdiff_t>(order_.vertex[v] * d));
    }
    return out;
  }

 private:
  [[nodiscard]] std::uint32_t vertices() const { return order_.graph.vertices(); }
  [[nodiscard]] std::int32_t* at(std::uint32_t v) { return at_.data() + v * factors_.size(); }
  [[nodiscard]] std::int32_t distance(std::size_t factor, std::int32_t x) const {
    return factors_[factor].kind == FactorKind::complete ? (x != 0) : std::abs(x);
  }

  /// Which neighbours of the root belong to one factor: those that are adjacent (a complete graph) and those without
  /// another common neighbour (the two ways round a cycle).
  bool group_directions() {
    const Csr& graph = order_.graph;
    const std::uint32_t degree = static_cast<std::uint32_t>(graph.row(0).size());
    if (degree == 0) return false;
    std::vector<std::uint32_t> leader(degree + 1, 0);  // of neighbours 1 .. degree; 0: not grouped yet
    std::vector<std::vector<std::uint32_t>> groups;
    for (std::uint32_t a = 1; a <= degree; ++a) {
      if (leader[a] != 0) continue;
      leader[a] = a;
      groups.push_back({a});
      for (const std::uint32_t b : graph.row(a)) {
        if (b == 0 || b > degree) continue;
        if (leader[b] != 0) return false;  // adjacent to a member of an earlier group that was not adjacent to it
        leader[b] = a;
        groups.back().push_back(b);
      }
      if (groups.size() > 2 * most_factors) return false;
    }
    std::vector<bool> joined(groups.size(), false);
    std::vector<bool> marked(vertices(), false);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (joined[i]) continue;
      const std::size_t size = groups[i].size();
      if (size == 1) {
        for (const std::uint32_t w : graph.row(groups[i][0])) marked[w] = w > degree;
        for (std::size_t j = i + 1; j < groups.size() && groups[i].size() == 1; ++j) {
          if (joined[j] || groups[j].size() > 1) continue;
          const auto row = graph.row(groups[j][0]);
          if (std::any_of(row.begin(), row.end(), [&](std::uint32_t w) { return marked[w]; })) continue;
          joined[j] = true;
          groups[i].push_back(groups[j][0]);
        }
        for (const std::uint32_t w : graph.row(groups[i][0])) marked[w] = false;
      }
      const auto extent = static_cast<std::uint32_t>(groups[i].size() + 1);
      const FactorKind kind = size > 2                ? FactorKind::complete
                              : groups[i].size() == 2 ? FactorKind::cycle
                                                      : FactorKind::path;
      factors_.push_back({kind, extent});
      directions_.push_back(groups[i]);
    }
    return factors_.size() <= most_factors;
  }

  bool place_all() {
    const std::size_t d = factors_.size();
    at_.assign(vertices() * d, 0);
    for (std::size_t f = 0; f < d; ++f) {
      const bool complete = factors_[f].kind == FactorKind::complete;
      for (std::size_t i = 0; i < directions_[f].size(); ++i) {
        at(directions_[f][i])[f] = complete ? static_cast<std::int32_t>(i + 1) : (i == 0 ? 1 : -1);
      }
    }
    for (std::size_t l = 2; l + 1 < order_.level.size(); ++l) {
      for (std::uint32_t v = order_.level[l]; v < order_.level[l + 1]; ++v) {
        if ((v & 0xFF) == 0) interruption_point();
        if (!place(v, order_.level[l])) return false;
      }
    }
    return true;
  }

  /// Coordinates of v from its neighbours nearer to the root, which are those below `level`.
  bool place(std::uint32_t v, std::uint32_t level) {
    const auto row = order_.graph.row(v);
    const std::size_t d = factors_.size();
    const std::int32_t* first = at(row[0]);
    std::int32_t* here = at(v);
    std::size_t down = 1;
    for (; down < row.size() && row[down] < level; ++down) {
      const std::int32_t* second = at(row[down]);
      std::size_t differing = 0;
      for (std::size_t f = 0; f < d; ++f) differing += first[f] != second[f];
      if (differing != 2) continue;
      // Each of the two is one step behind v in another factor.
      for (std::size_t f = 0; f < d; ++f) {
        here[f] = distance(f, first[f]) >= distance(f, second[f]) ? first[f] : second[f];
      }
      return true;
    }
    // On an axis: one step further than its only neighbour, or where the two ways round an even cycle meet.
    std::size_t axis = d;
    for (std::size_t f = 0; f < d; ++f) {
      if (first[f] == 0) continue;
      if (axis < d) return false;
      axis = f;
    }
    if (axis == d || factors_[axis].kind == FactorKind::complete) return false;
    if (down > 2 || (down == 2 && factors_[axis].kind != FactorKind::cycle)) return false;
    here[axis] = down == 2 ? std::abs(first[axis]) + 1 : (first[axis] > 0 ? first[axis] + 1 : first[axis] - 1);
    return true;
  }

  /// Extents, and coordinates counted from 0.
  void close() {
    const std::size_t d = factors_.size();
    std::vector<std::int32_t> least(d, 0);
    std::vector<std::int32_t> greatest(d, 0);
    for (std::size_t i = 0; i < at_.size(); i += d) {
      for (std::size_t f = 0; f < d; ++f) {
        least[f] = std::min(least[f], at_[i + f]);
        greatest[f] = std::max(greatest[f], at_[i + f]);
      }
    }
    for (std::size_t f = 0; f < d; ++f) {
      if (factors_[f].kind != FactorKind::complete) {
        factors_[f].extent = static_cast<std::uint32_t>(greatest[f] - least[f] + 1);
      }
    }
    for (std::size_t i = 0; i < at_.size(); i += d) {
      for (std::size_t f = 0; f < d; ++f) {
        if (at_[i + f] < 0) at_[i + f] += static_cast<std::int32_t>(factors_[f].extent);
      }
    }
  }

  /// As many vertices and edges as the product has, every vertex at a place of its own, every edge along one factor:
  /// then it is the product.
  [[nodiscard]] bool verify() const {
    const std::size_t d = factors_.size();
    const std::uint64_t n = vertices();
    std::uint64_t size = 1;
    for (const Factor& f : factors_) {
      size *= f.extent;
      if (size > n) return false;
    }
    if (size != n) return false;
    std::uint64_t edges = 0;  // directed
    for (const Factor& f : factors_) {
      const std::uint64_t e = f.extent;
      edges += n / e * (f.kind == FactorKind::path ? 2 * (e - 1) : f.kind == FactorKind::cycle ? 2 * e : e * (e - 1));
    }
    if (edges != order_.graph.targets.size()) return false;
    std::vector<bool> taken(n, false);
    for (std::uint32_t v = 0; v < n; ++v) {
      const std::int32_t* here = at_.data() + v * d;
      std::uint64_t index = 0;
      for (std::size_t f = 0; f < d; ++f) index = index * factors_[f].extent + static_cast<std::uint32_t>(here[f]);
      if (taken[index]) return false;
      taken[index] = true;
      for (const std::uint32_t w : order_.graph.row(v)) {
        if (w >= v) break;
        if (!along_one_factor(here, at_.data() + w * d)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool along_one_factor(const std::int32_t* a, const std::int32_t* b) const {
    std::size_t differing = 0;
    for (std::size_t f = 0; f < factors_.size(); ++f) {
      if (a[f] == b[f]) continue;
      ++differing;
      const auto step = static_cast<std::uint32_t>(std::abs(a[f] - b[f]));
      if (step == 1 || factors_[f].kind == FactorKind::complete) continue;
      if (factors_[f].kind != FactorKind::cycle || step != factors_[f].extent - 1) return false;
    }
    return differing == 1;
  }

  BreadthFirstOrder order_;
  std::vector<Factor> factors_;
  std::vector<std::vector<std::uint32_t>> directions_;  ///< per factor, neighbours of the root
  std::vector<std::int32_t> at_;                        ///< coordinates, vertex by vertex
};

}  // namespace

std::optional<Product> factor_product(const Csr& graph) {
  if (graph.vertices() < 2 || graph.targets.size() < 2) return std::nullopt;
  return Factoring(graph).run();
}

}  // namespace isthmus::mapping
