#include "mapping/regular/structure.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "graph/order.hpp"
#include "mapping/regular/partial_grid.hpp"
#include "mapping/regular/skeleton.hpp"

namespace isthmus::mapping {
namespace {

/// Are two coordinates of a factor at most one step apart?
bool near(const Factor& factor, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t step = a > b ? a - b : b - a;
  switch (factor.kind) {
    case FactorKind::path: return step <= 1;
    case FactorKind::cycle: return step <= 1 || step + 1 == factor.extent;
    case FactorKind::complete: return true;
    default: return step == 0;
  }
}

/// Does every edge lead at most one step along each factor?
bool within_box(const Csr& graph, const Product& p) {
  const std::size_t d = p.factors.size();
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const std::uint32_t* a = p.coordinates.data() + v * d;
    for (const std::uint32_t w : graph.row(v)) {
      const std::uint32_t* b = p.coordinates.data() + w * d;
      for (std::size_t f = 0; f < d; ++f) {
        if (!near(p.factors[f], a[f], b[f])) return false;
      }
    }
  }
  return true;
}

/// Directed edges of a strong product of the factors.
double box_edges(const std::vector<Factor>& factors) {
  double vertices = 1;
  double closed = 1;  // pairs at most one step apart in every factor, vertices with themselves included
  for (const Factor& f : factors) {
    const double e = f.extent;
    vertices *= e;
    closed *= f.kind == FactorKind::path ? 3 * e - 2 : f.kind == FactorKind::cycle ? 3 * e : e * e;
  }
  return closed - vertices;
}

struct Shape {
  Product product;
  Stencil stencil;
};

bool is_two(const Factor& f) { return f == Factor{FactorKind::path, 2}; }

/// Two factors of 2 are a cycle of 4, which is how tori are spoken of. `partner` of a factor: the one it is joined
/// with, or itself.
void join_twos(Product& p, const std::vector<std::size_t>& partner) {
  const std::size_t d = p.factors.size();
  std::vector<std::size_t> firsts;
  std::vector<Factor> factors;
  for (std::size_t f = 0; f < d; ++f) {
    if (partner[f] < f) continue;
    firsts.push_back(f);
    factors.push_back(partner[f] == f ? p.factors[f] : Factor{FactorKind::cycle, 4});
  }
  std::vector<std::uint32_t> coordinates;
  coordinates.reserve(p.coordinates.size());
  for (std::size_t i = 0; i < p.coordinates.size(); i += d) {
    for (const std::size_t f : firsts) {
      const std::uint32_t x = p.coordinates[i + f];
      coordinates.push_back(partner[f] == f ? x : 2 * x + (x ^ p.coordinates[i + partner[f]]));  // 00 01 11 10
    }
  }
  p = {std::move(factors), std::move(coordinates)};
}

/// Partners where nothing but taste decides: in a torus, or where there are just two. Hypercubes keep their factors,
/// and open grids of extent 2 theirs.
void join_twos_of_torus(Product& p) {
  const auto twos = static_cast<std::size_t>(std::count_if(p.factors.begin(), p.factors.end(), is_two));
  const bool cycles =
      std::any_of(p.factors.begin(), p.factors.end(), [](const Factor& f) { return f.kind == FactorKind::cycle; });
  if (twos < 2 || (!cycles && p.factors.size() > 2)) return;
  std::vector<std::size_t> partner(p.factors.size());
  std::iota(partner.begin(), partner.end(), std::size_t{0});
  std::size_t waiting = partner.size();
  for (std::size_t f = 0; f < partner.size(); ++f) {
    if (!is_two(p.factors[f])) continue;
    if (waiting == partner.size()) {
      waiting = f;
    } else {
      std::swap(partner[f], partner[waiting]);
      waiting = partner.size();
    }
  }
  join_twos(p, partner);
}

/// In the skeleton of a stencil with diagonals all factors of 2 come from cycles of 4 (others would be twins): partners
/// are those whose diagonals nobody takes.
bool join_twos_of_box(Product& thin, const Csr& graph, const std::vector<std::uint32_t>& twin) {
  const std::size_t d = thin.factors.size();
  std::vector<std::size_t> partner(d);
  std::iota(partner.begin(), partner.end(), std::size_t{0});
  std::vector<bool> taken(d * d, false);
  const std::uint32_t* origin = thin.coordinates.data() + twin[0] * d;
  for (const std::uint32_t w : graph.row(0)) {
    const std::uint32_t* at = thin.coordinates.data() + twin[w] * d;
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b < d; ++b)
        taken[a * d + b] = taken[a * d + b] || (at[a] != origin[a] && at[b] != origin[b]);
    }
  }
  for (std::size_t a = 0; a < d; ++a) {
    if (!is_two(thin.factors[a]) || partner[a] != a) continue;
    for (std::size_t b = a + 1; b < d && partner[a] == a; ++b) {
      if (is_two(thin.factors[b]) && partner[b] == b && !taken[a * d + b]) {
        partner[a] = b;
        partner[b] = a;
      }
    }
    if (partner[a] == a) return false;
  }
  join_twos(thin, partner);
  return true;
}

/// 9- and 27-point stencils: the product is that of the skeleton, and of the twins that the skeleton has as one vertex.
std::optional<Shape> factor_box(const Csr& original) {
  const BreadthFirstOrder order = breadth_first_order(original, least_degree_vertex(original));
  const Csr& graph = order.graph;
  const Skeleton skeleton = cartesian_skeleton(graph);
  if (skeleton.size == 0) return std::nullopt;
  Product thin;
  if (skeleton.graph.vertices() > 1) {
    auto found = factor_product(skeleton.graph);
    if (!found) return std::nullopt;
    thin = std::move(*found);
    if (!join_twos_of_box(thin, graph, skeleton.twin)) return std::nullopt;
  }
  const std::size_t d = thin.factors.size();
  std::vector<Factor> twins;  // extents of 2 and periodic ones of 3 have no other neighbours than everybody
  std::uint32_t rest = skeleton.size;
  for (; rest % 3 == 0; rest /= 3) twins.push_back({FactorKind::cycle, 3});
  for (; rest % 2 == 0; rest /= 2) twins.push_back({FactorKind::path, 2});
  if (rest > 1 || d + twins.size() > 4) twins.assign(1, {FactorKind::complete, skeleton.size});
  Shape out{{thin.factors, {}}, Stencil::mixed};
  out.product.factors.insert(out.product.factors.end(), twins.begin(), twins.end());
  const std::size_t all = out.product.factors.size();
  out.product.coordinates.resize(graph.vertices() * all);
  std::vector<std::uint32_t> met(skeleton.graph.vertices(), 0);
  Product local = out.product;  // in the order of the search, for the check
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const std::uint32_t c = skeleton.twin[v];
    std::uint32_t* to = local.coordinates.data() + v * all;
    std::copy_n(thin.coordinates.begin() + static_cast<std::ptrdiff_t>(c * d), d, to);
    std::uint32_t number = met[c]++;
    for (std::size_t t = 0; t < twins.size(); ++t) {
      to[d + t] = number % twins[t].extent;
      number /= twins[t].extent;
    }
    std::copy_n(to, all, out.product.coordinates.begin() + static_cast<std::ptrdiff_t>(order.vertex[v] * all));
  }
  if (!within_box(graph, local)) return std::nullopt;
  if (box_edges(out.product.factors) == static_cast<double>(graph.targets.size())) out.stencil = Stencil::box;
  return out;
}

/// Depth-first numbers of a tree, from a vertex of least degree, smaller subtrees first.
Product tree_numbers(const Csr& original) {
  const BreadthFirstOrder order = breadth_first_order(original, least_degree_vertex(original));
  const std::uint32_t n = order.graph.vertices();
  std::vector<std::uint32_t> size(n, 1);
  for (std::uint32_t v = n - 1; v > 0; --v) size[order.graph.row(v)[0]] += size[v];
  std::vector<std::uint32_t> begin(n, 0);  // a vertex, then its subtrees
  Product out{{{FactorKind::tree, n}}, std::vector<std::uint32_t>(n)};
  std::vector<std::uint32_t> children;
  for (std::uint32_t v = 0; v < n; ++v) {
    out.coordinates[order.vertex[v]] = begin[v];
    const auto row = order.graph.row(v);
    children.assign(row.begin() + (v > 0), row.end());
    std::stable_sort(children.begin(), children.end(), [&](auto a, auto b) { return size[a] < size[b]; });
    std::uint32_t next = begin[v] + 1;
    for (const std::uint32_t c : children) {
      begin[c] = next;
      next += size[c];
    }
  }
  return out;
}

/// Largest extents first.
void sort_factors(Product& p) {
  const std::size_t d = p.factors.size();
  std::vector<std::size_t> order(d);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (p.factors[a].extent != p.factors[b].extent) return p.factors[a].extent > p.factors[b].extent;
    return p.factors[a].kind < p.factors[b].kind;
  });
  Product out;
  for (const std::size_t f : order) out.factors.push_back(p.factors[f]);
  out.coordinates.reserve(p.coordinates.size());
  for (std::size_t i = 0; i < p.coordinates.size(); i += d) {
    for (const std::size_t f : order) out.coordinates.push_back(p.coordinates[i + f]);
  }
  p = std::move(out);
}

std::optional<Shape> recognise_connected(const Csr& graph) {
  if (auto product = factor_product(graph)) {
    Shape out{std::move(*product), Stencil::star};
    join_twos_of_torus(out.product);
    sort_factors(out.product);
    return out;
  }
  if (graph.targets.size() == 2 * (std::uint64_t{graph.vertices()} - 1)) {
    return Shape{tree_numbers(graph), Stencil::star};
  }
  auto out = factor_box(graph);
  if (out) sort_factors(out->product);
  return out;
}

/// Several components that are all the same.
std::optional<Shape> recognise_copies(const Csr& graph, std::uint32_t count,
                                      const std::vector<std::uint32_t>& component) {
  const std::uint32_t n = graph.vertices();
  if (n % count != 0 || n == count) return std::nullopt;
  const std::uint32_t size = n / count;
  std::vector<std::uint32_t> members(n);  // by component
  std::vector<std::uint32_t> local(n);
  std::vector<std::uint32_t> filled(count, 0);
  for (std::uint32_t v = 0; v < n; ++v) {
    const std::uint32_t c = component[v];
    if (filled[c] == size) return std::nullopt;
    local[v] = filled[c]++;
    members[c * size + local[v]] = v;
  }
  Shape out{{}, Stencil::star};
  for (std::uint32_t c = 0; c < count; ++c) {
    Csr part;
    part.offsets.push_back(0);
    for (std::uint32_t i = 0; i < size; ++i) {
      for (const std::uint32_t w : graph.row(members[c * size + i])) part.targets.push_back(local[w]);
      part.offsets.push_back(part.targets.size());
    }
    const auto shape = recognise_connected(part);
    if (!shape) return std::nullopt;
    const std::size_t d = shape->product.factors.size();
    if (c == 0) {
      out.stencil = shape->stencil;
      out.product.factors = shape->product.factors;
      out.product.factors.insert(out.product.factors.begin(), {FactorKind::independent, count});
      out.product.coordinates.resize(n * (d + 1));
    } else if (shape->stencil != out.stencil ||
               !std::equal(shape->product.factors.begin(), shape->product.factors.end(),
                           out.product.factors.begin() + 1, out.product.factors.end())) {
      return std::nullopt;
    }
    for (std::uint32_t i = 0; i < size; ++i) {
      std::uint32_t* to = out.product.coordinates.data() + members[c * size + i] * (d + 1);
      *to = c;
      std::copy_n(shape->product.coordinates.begin() + static_cast<std::ptrdiff_t>(i * d), d, to + 1);
    }
  }
  return out;
}

std::optional<Shape> recognise_exactly(const Csr& graph) {
  std::vector<std::uint32_t> component;
  const std::uint32_t count = components(graph, component);
  return count == 1 ? recognise_connected(graph) : recognise_copies(graph, count, component);
}

/// The graph without edges lighter than `least`.
Csr without_light_edges(const Csr& graph, std::span<const double> weights, double least) {
  Csr out;
  out.offsets.push_back(0);
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      if (weights[e] >= least) out.targets.push_back(graph.targets[e]);
    }
    out.offsets.push_back(out.targets.size());
  }
  return out;
}

/// Weights at the largest jumps of the sorted weights: between halo exchanges and what is not.
std::vector<double> thresholds(std::span<const double> weights) {
  std::vector<double> sorted(weights.begin(), weights.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::pair<double, double>> jumps;  // ratio, weight above it
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] > 1.2 * sorted[i - 1]) {
      jumps.emplace_back(sorted[i - 1] > 0 ? sorted[i] / sorted[i - 1] : 1e300, sorted[i]);
    }
  }
  constexpr std::size_t most = 4;
  std::stable_sort(jumps.begin(), jumps.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (jumps.size() > most) jumps.resize(most);
  std::vector<double> out;
  for (const auto& jump : jumps) out.push_back(jump.second);
  return out;
}

/// Shares of the weight on edges along one factor, and on edges at most one step along each.
std::pair<double, double> explained_shares(const Csr& graph, std::span<const double> weights, const Product& p) {
  const std::size_t d = p.factors.size();
  double total = 0;
  double star = 0;
  double box = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const std::uint32_t* a = p.coordinates.data() + v * d;
    for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      const std::uint32_t* b = p.coordinates.data() + graph.targets[e] * d;
      std::size_t differing = 0;
      bool inside = true;
      for (std::size_t f = 0; f < d; ++f) {
        differing += a[f] != b[f];
        inside = inside && near(p.factors[f], a[f], b[f]);
      }
      const double w = weights.empty() ? 1 : weights[e];
      total += w;
      if (!inside) continue;
      box += w;
      if (differing == 1) star += w;
    }
  }
  return {total > 0 ? star / total : 0, total > 0 ? box / total : 0};
}

/// Processor time of a step of the growth of grids, and of all that is exact for an edge or a vertex, about.
constexpr double second_of_step = 2e-9;
constexpr double second_of_entry = 0.35e-6;
/// From so many vertices on a grid that is nearly one is grown once.
constexpr std::uint32_t large = 100'000;

/// Steps for a vertex or an edge that a bold growth may take.
constexpr std::uint64_t steps_of_boldness = 200;

/// A grid with vertices or edges missing or too many: of fits as it is and without the diagonals that are known to be
/// some the one that explains most with few empty cells.
std::optional<Structure> recognise_nearly(const Csr& graph, std::span<const double> weights, double least_explained,
                                          double seconds, double& spent) {
  std::optional<Structure> best;
  double best_value = 0;
  std::uint64_t steps = 0;
  const double all = 1e6 + 400.0 * (graph.vertices() + static_cast<double>(graph.targets.size()));
  const auto most = static_cast<std::uint64_t>(std::min(all, seconds / second_of_step));
  const auto offer = [&](std::optional<GridFit>&& found, bool diagonals) {
    if (!found) return;
    Product& product = found->product;
    const auto [star, box] = explained_shares(graph, weights, product);
    const double share = diagonals || found->diagonals ? box : star;
    double cells = 1;
    for (const Factor& f : product.factors) cells *= f.extent;
    // As many cells again count like a tenth of the bytes.
    const double value = share - 0.1 * std::log2(cells / graph.vertices());
    if (share < least_explained || (best && value <= best_value)) return;
    sort_factors(product);
    best = Structure{std::move(product.factors), std::move(product.coordinates),
                     diagonals || found->diagonals ? Stencil::mixed : Stencil::star, share};
    best_value = value;
  };
  // Where growth begins decides what it meets first: unless all fits, it begins elsewhere, too.
  const std::uint64_t beginnings = graph.vertices() < large ? 3 : 1;
  const std::uint64_t most_beginnings = graph.vertices() < large ? 8 : 1;
  constexpr double perfect = 0.995;
  constexpr double good = 0.97;
  const auto enough = [&] { return best && best_value < good ? most_beginnings : beginnings; };
  for (std::uint64_t seed = 0; seed < enough() && best_value < perfect; ++seed) {
    auto found = fit_grid(graph, seed, steps, most);
    if (!found) break;
    offer(std::move(found), false);
  }
  // Grids with diagonals have edges enough to be found boldly, and what does not fit is cut off and joined anew.
  const std::uint64_t patience = steps_of_boldness * (graph.vertices() + graph.targets.size());
  for (std::uint64_t seed = 0; graph.vertices() < large && seed < beginnings && best_value < good; ++seed) {
    auto found = fit_grid(graph, seed, steps, std::min(most, steps + patience), true);
    if (!found) break;
    offer(std::move(found), false);
  }
  spent += static_cast<double>(steps) * second_of_step;
  if (best_value > good) return best;
  const std::uint64_t before = steps;
  Csr ascending = graph;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    std::sort(ascending.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[v]),
              ascending.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[v + 1]));
  }
  const Skeleton skeleton = cartesian_skeleton(ascending, false);
  if (skeleton.size > 0) offer(fit_grid(skeleton.graph, 0, steps, most), true);
  spent += static_cast<double>(steps - before) * second_of_step;
  return best;
}

Structure structure_of(Shape&& shape, double explained) {
  return {std::move(shape.product.factors), std::move(shape.product.coordinates), shape.stencil, explained};
}
}  // namespace

std::optional<Structure> recognise(const Csr& graph, std::span<const double> weights, double least_explained,
                                   double seconds, double* spent) {
  double none = 0;
  double& took = spent == nullptr ? none : *spent;
  took = 0;
  require(weights.empty() || weights.size() == graph.targets.size(), "weights: ", weights.size(), " for ",
          graph.targets.size(), " directed edges");
  if (graph.vertices() < 2 || graph.targets.empty()) return std::nullopt;
  const double exactly = second_of_entry * (graph.vertices() + static_cast<double>(graph.targets.size()));
  if (exactly > seconds) return std::nullopt;
  took = exactly;
  if (auto shape = recognise_exactly(graph)) return structure_of(std::move(*shape), 1);
  if (!weights.empty()) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (const double least : thresholds(weights)) {
      double kept = 0;
      for (const double w : weights) kept += w >= least ? w : 0;
      if (kept < least_explained * total) continue;
      const Csr heavy = without_light_edges(graph, weights, least);
      if (auto shape = recognise_exactly(heavy)) return structure_of(std::move(*shape), kept / total);
    }
  }
  return recognise_nearly(graph, weights, least_explained, seconds - exactly, took);
}

}  // namespace isthmus::mapping
