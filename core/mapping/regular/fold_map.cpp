#include "mapping/regular/fold_map.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "mapping/problem/objective.hpp"

namespace isthmus::mapping {
namespace {

constexpr std::size_t folds_evaluated = 6;
constexpr std::size_t paddings_tried = 12;
constexpr double emptiest = 2;  // larger boxes are too full of holes to keep neighbours together

using Extents = std::vector<std::uint32_t>;

std::uint64_t volume(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

/// Calls `found` for all combinations of low[i] .. high[i] with a volume from `least` to `most`.
void boxes(const Extents& low, const Extents& high, std::uint64_t least, std::uint64_t most,
           const std::function<void(const Extents&)>& found) {
  Extents at = low;
  std::uint64_t tried = 0;
  constexpr std::uint64_t limit = 1'000'000;
  for (;;) {
    const std::uint64_t v = volume(at);
    if (v >= least && v <= most) found(at);
    std::size_t i = 0;
    while (i < at.size() && at[i] == high[i]) at[i] = low[i], ++i;
    if (i == at.size() || ++tried > limit) return;
    ++at[i];
  }
}

struct Padding {
  Extents tasks;
  Extents axes;
};

/// Extents at least those of the tasks and at most those of the machine that have the same volume, smallest first.
std::vector<Padding> paddings(const Extents& tasks, const Extents& axes) {
  const std::uint64_t least = volume(tasks);
  const std::uint64_t most = volume(axes);
  if (least == most) return {{tasks, axes}};
  Extents up = tasks;
  for (std::uint32_t& e : up) e += std::max(2U, e / 8);
  std::map<std::uint64_t, std::vector<Extents>> grids;  // by volume
  boxes(tasks, up, least, most, [&](const Extents& e) { grids[volume(e)].push_back(e); });
  Extents down = axes;
  for (std::uint32_t& e : down) e = std::max(1U, e - e / 3 - (e > 1 && e < 4));
  std::map<std::uint64_t, std::vector<Extents>> cuts;
  boxes(down, axes, least, most, [&](const Extents& e) {
    if (grids.contains(volume(e))) cuts[volume(e)].push_back(e);
  });
  std::vector<Padding> out;
  for (const auto& [v, cut] : cuts) {
    std::size_t of_volume = 0;
    for (const Extents& grid : grids[v]) {
      for (const Extents& e : cut) {
        if (of_volume++ < 3) out.push_back({grid, e});
      }
    }
    if (out.size() >= paddings_tried) break;
  }
  return out;
}

/// Are all factors paths and cycles?
bool no_cliques(const Structure& structure) {
  return std::all_of(structure.factors.begin(), structure.factors.end(),
                     [](const Factor& f) { return f.kind == FactorKind::path || f.kind == FactorKind::cycle; });
}

std::optional<Map> map_of(const Fold& fold, const TaskGrid& grid, const Extents& cut, const NodeBox& box,
                          const Structure& structure) {
  const std::size_t d = grid.extents.size();
  const FoldTable table(fold, grid, cut.size());
  std::vector<std::uint32_t> at(cut.size());
  Map out(structure.coordinates.size() / d);
  for (std::size_t t = 0; t < out.size(); ++t) {
    table.coordinates(structure.coordinates.data() + t * d, at.data());
    std::uint64_t cell = 0;
    for (std::size_t j = at.size(); j-- > 0;) cell = cell * box.axes[j].extent() + at[j];
    out[t] = static_cast<std::uint32_t>(cell);
  }
  if (!box.settle(out)) return std::nullopt;
  return out;
}
}  // namespace

std::optional<TaskGrid> task_grid(const TaskGraph& graph, const Structure& structure) {
  TaskGrid out;
  std::vector<double> steps;
  const std::uint64_t n = graph.tasks();
  for (const Factor& f : structure.factors) {
    if (f.kind == FactorKind::tree) return std::nullopt;
    out.extents.push_back(f.extent);
    out.wrap.push_back(f.kind == FactorKind::cycle || f.kind == FactorKind::complete);
  }
  out.filled = out.extents;
  const std::size_t d = out.extents.size();
  out.bytes.assign(d, 0);
  std::vector<std::uint64_t> pairs(d, 0);
  for (std::uint32_t v = 0; v < n; ++v) {
    const auto bytes = graph.bytes_of(v);
    const std::uint32_t* a = structure.coordinates.data() + std::size_t{v} * d;
    std::size_t i = 0;
    for (const std::uint32_t w : graph.links.row(v)) {
      const double b = bytes[i++];
      if (w < v) continue;
      const std::uint32_t* c = structure.coordinates.data() + std::size_t{w} * d;
      for (std::size_t f = 0; f < d; ++f) {
        if (a[f] == c[f]) continue;
        out.bytes[f] += b;
        ++pairs[f];
      }
    }
  }
  for (std::size_t f = 0; f < d; ++f) {
    if (pairs[f] > 0) out.bytes[f] /= static_cast<double>(pairs[f]);
    // Everybody with everybody: a cycle stands for all of them.
    if (structure.factors[f].kind == FactorKind::complete) out.bytes[f] *= structure.factors[f].extent;
  }
  return out;
}

std::optional<Map> fold_map(const TaskGraph& graph, const Target& target, const Structure& structure) {
  auto grid = task_grid(graph, structure);
  const auto box = NodeBox::of(target, emptiest);
  if (!grid || !box) return std::nullopt;
  Extents axes;
  for (const NodeAxis& axis : box->axes) axes.push_back(axis.extent());
  const bool exact = structure.stencil == Stencil::star && structure.explained == 1 && no_cliques(structure);
  const double nearest = graph.total_bytes() * (1 + target.terminals());
  const bool no_holes = box->places.size() == target.slots();
  std::optional<Map> best;
  double least_hops = 0;
  double least_load = 0;
  const auto largest_load = [&](const Map& map) {
    const std::vector<double> loads = link_loads(graph, target, map);
    return loads.empty() ? 0.0 : *std::max_element(loads.begin(), loads.end());
  };
  for (const Padding& padding : paddings(grid->extents, axes)) {
    grid->extents = padding.tasks;
    std::vector<NodeAxis> cut;
    for (std::size_t j = 0; j < axes.size(); ++j) cut.push_back(box->axes[j].prefix(padding.axes[j]));
    double first = -1;
    for (const Fold& fold : folds(*grid, cut, folds_evaluated)) {
      if (first < 0) first = fold.hop_bytes;
      if (fold.hop_bytes > 1.2 * first) break;
      // Without diagonals the closed form is what is counted.
      if (best && exact && no_holes && fold.hop_bytes > least_hops * (1 + 1e-9)) break;
      auto settled = map_of(fold, *grid, padding.axes, *box, structure);
      if (!settled) continue;
      Map& map = *settled;
      const double hops = hop_bytes(graph, target, map);
      const bool equal = best && hops <= least_hops * (1 + 1e-12);
      if (best && hops > least_hops * (1 + 1e-12)) continue;
      if (best && equal && hops >= least_hops * (1 - 1e-12)) {
        if (least_load < 0) least_load = largest_load(*best);
        const double load = largest_load(map);
        if (load >= least_load) continue;
        least_load = load;
      } else {
        least_load = -1;  // counted when there is something to compare it with
      }
      least_hops = hops;
      best = std::move(map);
      // Partners side by side, one task a node: no link has more than one pair.
      if (target.slots() == target.places() && hops <= nearest * (1 + 1e-12)) return best;
    }
  }
  return best;
}

}  // namespace isthmus::mapping
