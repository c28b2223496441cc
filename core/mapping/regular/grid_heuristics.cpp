#include "mapping/regular/grid_heuristics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "mapping/regular/node_box.hpp"

namespace isthmus::mapping {
namespace {

using Extents = std::vector<std::uint32_t>;

constexpr std::array<std::pair<std::string_view, GridHeuristic>, 6> names{{
    {"maximum-overlap", GridHeuristic::maximum_overlap},
    {"maximum-overlap-aligned", GridHeuristic::maximum_overlap_aligned},
    {"expand-from-corner", GridHeuristic::expand_from_corner},
    {"corners-to-centre", GridHeuristic::corners_to_centre},
    {"affine", GridHeuristic::affine},
    {"stepwise", GridHeuristic::stepwise},
}};

/// A grid whose dimensions are joined in groups; neighbours in a joined dimension are neighbours in the grid.
class Joined {
 public:
  Joined(Extents extents, std::vector<std::size_t> group, std::size_t groups)
      : extents_(std::move(extents)), group_(std::move(group)), joined_(groups, 1) {
    for (std::size_t i = 0; i < extents_.size(); ++i) joined_[group_[i]] *= extents_[i];
  }

  [[nodiscard]] const Extents& extents() const { return joined_; }

  /// Coordinates of the grid to joined ones.
  void join(const std::uint32_t* x, std::uint32_t* out) const {
    std::fill_n(out, joined_.size(), 0U);
    for (std::size_t i = extents_.size(); i-- > 0;) {
      std::uint32_t& sum = out[group_[i]];
      sum = sum * extents_[i] + (sum % 2 == 1 ? extents_[i] - 1 - x[i] : x[i]);
    }
  }

 private:
  Extents extents_;
  std::vector<std::size_t> group_;
  Extents joined_;
};

double mismatch(const Extents& a, const Extents& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(std::log(static_cast<double>(a[i]) / b[i]));
  return sum;
}

/// The dimensions of `extents` in as many groups as `like` has, so that joined extents are most like those.
Joined joined_like(const Extents& extents, const Extents& like) {
  const std::size_t groups = like.size();
  std::vector<std::size_t> group(extents.size());
  if (extents.size() == groups) {
    std::iota(group.begin(), group.end(), std::size_t{0});
    return {extents, group, groups};
  }
  std::optional<Joined> best;
  double least = 0;
  constexpr std::size_t most = 100'000;
  for (std::size_t tried = 0; tried < most; ++tried) {
    Joined now(extents, group, groups);
    const double cost = mismatch(now.extents(), like);
    if (!best || cost < least) {
      least = cost;
      best.emplace(std::move(now));
    }
    std::size_t i = 0;
    while (i < group.size() && ++group[i] == groups) group[i++] = 0;
    if (i == group.size()) break;
  }
  return *best;
}

std::uint64_t cells_of(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

std::uint64_t cell_at(const Extents& extents, const std::uint32_t* x) {
  std::uint64_t cell = 0;
  for (std::size_t i = extents.size(); i-- > 0;) cell = cell * extents[i] + x[i];
  return cell;
}

void coordinates_of(const Extents& extents, std::uint64_t cell, std::uint32_t* x) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    x[i] = static_cast<std::uint32_t>(cell % extents[i]);
    cell /= extents[i];
  }
}

using Cells = std::vector<std::uint64_t>;  ///< of every cell of the tasks' grid: a cell of the nodes'

struct Box {
  Extents low;
  Extents size;
};

/// What is left of a box when the corner `taken` is cut off: one box per dimension.
void add_remainders(const Box& box, const Extents& taken, std::vector<Box>& out) {
  Box rest = box;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    Box slab = rest;
    slab.low[i] += taken[i];
    slab.size[i] -= taken[i];
    if (cells_of(slab.size) > 0) out.push_back(slab);
    rest.size[i] = taken[i];
  }
}

std::size_t largest(const std::vector<Box>& boxes) {
  const auto by_cells = [](const Box& a, const Box& b) { return cells_of(a.size) < cells_of(b.size); };
  return static_cast<std::size_t>(std::max_element(boxes.begin(), boxes.end(), by_cells) - boxes.begin());
}

/// Dimensions by extent, largest first.
std::vector<std::size_t> by_size(const Extents& size) {
  std::vector<std::size_t> out(size.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](auto a, auto b) { return size[a] > size[b]; });
  return out;
}

Cells overlap(const Extents& tasks, const Extents& nodes, bool aligned) {
  const std::size_t d = tasks.size();
  Cells out(cells_of(tasks));
  std::vector<Box> from{{Extents(d, 0), tasks}};
  std::vector<Box> to{{Extents(d, 0), nodes}};
  std::vector<std::size_t> straight(d);
  std::iota(straight.begin(), straight.end(), std::size_t{0});
  Extents x(d);
  Extents y(d);
  while (!from.empty()) {
    const std::size_t f = largest(from);
    const std::size_t t = largest(to);
    const Box a = from[f];
    const Box b = to[t];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(f));
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(t));
    const auto da = aligned ? by_size(a.size) : straight;
    const auto db = aligned ? by_size(b.size) : straight;
    Extents taken_a(d);
    Extents taken_b(d);
    for (std::size_t i = 0; i < d; ++i) taken_a[da[i]] = taken_b[db[i]] = std::min(a.size[da[i]], b.size[db[i]]);
    for (std::uint64_t cell = 0; cell < cells_of(taken_a); ++cell) {
      coordinates_of(taken_a, cell, x.data());
      for (std::size_t i = 0; i < d; ++i) y[db[i]] = x[da[i]] + b.low[db[i]];
      for (std::size_t i = 0; i < d; ++i) x[i] += a.low[i];
      out[cell_at(tasks, x.data())] = cell_at(nodes, y.data());
    }
    add_remainders(a, taken_a, from);
    add_remainders(b, taken_b, to);
  }
  return out;
}

/// Cells by distance from a corner: the first one, or the nearest; then corner by corner, then by number.
std::vector<std::uint64_t> by_corner(const Extents& extents, bool nearest) {
  struct Entry {
    std::uint64_t distance;
    std::uint32_t corner;
    std::uint64_t cell;
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  Extents x(extents.size());
  for (std::uint64_t cell = 0; cell < cells_of(extents); ++cell) {
    coordinates_of(extents, cell, x.data());
    Entry e{0, 0, cell};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::uint32_t other = extents[i] - 1 - x[i];
      const bool far = nearest && other < x[i];
      e.distance += far ? other : x[i];
      e.corner = 2 * e.corner + (far ? 1 : 0);
    }
    entries.push_back(e);
  }
  std::sort(entries.begin(), entries.end());
  std::vector<std::uint64_t> out;
  for (const Entry& e : entries) out.push_back(e.cell);
  return out;
}

/// The k-th of one order to the k-th of the other.
Cells matched(const std::vector<std::uint64_t>& tasks, const std::vector<std::uint64_t>& nodes) {
  Cells out(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) out[tasks[i]] = nodes[i];
  return out;
}

/// Tasks and cells corner by corner: every task goes to the next cell of its own corner while there is one.
Cells corners_to_centre(const Extents& tasks, const Extents& nodes) {
  const std::size_t corners = std::size_t{1} << tasks.size();
  const auto corner_of = [](const Extents& extents, std::uint64_t cell) {
    Extents x(extents.size());
    coordinates_of(extents, cell, x.data());
    std::size_t corner = 0;
    for (std::size_t i = 0; i < x.size(); ++i) corner = 2 * corner + (extents[i] - 1 - x[i] < x[i] ? 1 : 0);
    return corner;
  };
  std::vector<std::vector<std::uint64_t>> free(corners);
  for (const std::uint64_t cell : by_corner(nodes, true)) free[corner_of(nodes, cell)].push_back(cell);
  std::vector<std::size_t> next(corners, 0);
  Cells out(cells_of(tasks));
  std::vector<std::uint64_t> waiting;
  for (const std::uint64_t cell : by_corner(tasks, true)) {
    const std::size_t corner = corner_of(tasks, cell);
    if (next[corner] < free[corner].size()) out[cell] = free[corner][next[corner]++];
    else waiting.push_back(cell);
  }
  std::size_t corner = 0;
  for (const std::uint64_t cell : waiting) {
    while (next[corner] == free[corner].size()) ++corner;
    out[cell] = free[corner][next[corner]++];
  }
  return out;
}

/// The nearest free cell, looked for in the surfaces of growing boxes round the wanted one; counts lines and cells.
std::uint64_t nearest_free(const Extents& nodes, const Extents& wanted, const std::vector<bool>& taken,
                           std::uint64_t& searched) {
  const std::size_t d = nodes.size();
  const std::uint32_t widest = *std::max_element(nodes.begin(), nodes.end());
  std::uint64_t best = 0;
  std::uint64_t least = ~std::uint64_t{0};
  Extents low(d);
  Extents size(d);
  Extents x(d);
  const auto step_to = [&](std::size_t i) { return x[i] > wanted[i] ? x[i] - wanted[i] : wanted[i] - x[i]; };
  for (std::uint32_t radius = 0; radius < widest && least > radius; ++radius) {
    for (std::size_t i = 0; i < d; ++i) {
      low[i] = wanted[i] > radius ? wanted[i] - radius : 0;
      size[i] = std::min(nodes[i] - 1, wanted[i] + radius) - low[i] + 1;
    }
    // Line by line along the first dimension: all of a line on the surface, otherwise its two ends.
    const std::uint32_t length = std::exchange(size[0], 1);
    searched += cells_of(size);
    for (std::uint64_t line = 0; line < cells_of(size); ++line) {
      coordinates_of(size, line, x.data());
      std::uint64_t away = 0;
      std::uint32_t shell = 0;
      for (std::size_t i = 1; i < d; ++i) {
        x[i] += low[i];
        away += step_to(i);
        shell = std::max(shell, step_to(i));
      }
      if (away >= least) continue;
      const auto look = [&](std::uint32_t first) {
        ++searched;
        x[0] = first;
        const std::uint64_t cell = cell_at(nodes, x.data());
        if (away + step_to(0) >= least || taken[cell]) return;
        least = away + step_to(0);
        best = cell;
      };
      if (shell == radius) {
        for (std::uint32_t k = 0; k < length; ++k) look(low[0] + k);
      } else {
        if (wanted[0] >= radius) look(wanted[0] - radius);
        if (wanted[0] + radius < nodes[0]) look(wanted[0] + radius);
      }
    }
  }
  return best;
}

/// Nothing where most tasks would have to look far for a free cell, which takes quadratic time.
std::optional<Cells> affine(const Extents& tasks, const Extents& nodes) {
  constexpr std::uint64_t budget = 20'000'000;
  std::uint64_t searched = 0;
  Cells out(cells_of(tasks));
  std::vector<bool> taken(cells_of(nodes), false);
  Extents x(tasks.size());
  for (std::uint64_t cell = 0; cell < out.size(); ++cell) {
    coordinates_of(tasks, cell, x.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<std::uint32_t>(std::uint64_t{x[i]} * nodes[i] / tasks[i]);
    }
    const std::uint64_t wanted = cell_at(nodes, x.data());
    out[cell] = taken[wanted] ? nearest_free(nodes, x, taken, searched) : wanted;
    if (searched > budget) return std::nullopt;
    taken[out[cell]] = true;
  }
  return out;
}

/// Cells with the shortest dimension varying fastest, to and fro.
std::vector<std::uint64_t> short_lines(const Extents& extents) {
  const auto order = by_size(extents);
  std::vector<std::uint64_t> out(cells_of(extents));
  Extents x(extents.size());
  for (std::uint64_t index = 0; index < out.size(); ++index) {
    std::uint64_t rest = index;
    for (std::size_t k = order.size(); k-- > 0;) {
      const std::uint32_t e = extents[order[k]];
      const auto c = static_cast<std::uint32_t>(rest % e);
      rest /= e;
      x[order[k]] = rest % 2 == 1 ? e - 1 - c : c;
    }
    out[index] = cell_at(extents, x.data());
  }
  return out;
}
}  // namespace

GridHeuristic grid_heuristic_from(std::string_view name) {
  std::string allowed;
  for (const auto& [known, heuristic] : names) {
    if (known == name) return heuristic;
    allowed += (allowed.empty() ? "" : ", ") + std::string(known);
  }
  throw InvalidInput(message("heuristic '", std::string(name), "': must be one of ", allowed));
}

std::optional<Map> grid_heuristic_map(GridHeuristic heuristic, const Structure& structure, const Target& target) {
  const auto box = NodeBox::of(target);
  if (!box) return std::nullopt;
  Extents tasks;
  for (const Factor& f : structure.factors) {
    if (f.kind == FactorKind::tree) return std::nullopt;
    tasks.push_back(f.extent);
  }
  Extents nodes;
  for (const NodeAxis& axis : box->axes) nodes.push_back(axis.extent());
  if (cells_of(tasks) > cells_of(nodes)) return std::nullopt;
  const bool more_tasks = tasks.size() > nodes.size();
  const Joined from = more_tasks ? joined_like(tasks, nodes) : joined_like(tasks, tasks);
  const Joined to = more_tasks ? joined_like(nodes, nodes) : joined_like(nodes, tasks);
  std::optional<Cells> found;
  switch (heuristic) {
    case GridHeuristic::maximum_overlap: found = overlap(from.extents(), to.extents(), false); break;
    case GridHeuristic::maximum_overlap_aligned: found = overlap(from.extents(), to.extents(), true); break;
    case GridHeuristic::expand_from_corner:
      found = matched(by_corner(from.extents(), false), by_corner(to.extents(), false));
      break;
    case GridHeuristic::corners_to_centre: found = corners_to_centre(from.extents(), to.extents()); break;
    case GridHeuristic::affine: found = affine(from.extents(), to.extents()); break;
    case GridHeuristic::stepwise: found = matched(short_lines(from.extents()), short_lines(to.extents())); break;
  }
  if (!found) return std::nullopt;
  const Cells& cells = *found;
  // Cells of the joined nodes back to places.
  std::vector<std::uint32_t> place(cells_of(nodes));
  Extents x(nodes.size());
  Extents joined(to.extents().size());
  for (std::uint64_t cell = 0; cell < place.size(); ++cell) {
    coordinates_of(nodes, cell, x.data());
    to.join(x.data(), joined.data());
    place[cell_at(to.extents(), joined.data())] = box->places[cell];
  }
  const std::size_t d = tasks.size();
  joined.resize(from.extents().size());
  Map out(structure.coordinates.size() / d);
  for (std::size_t t = 0; t < out.size(); ++t) {
    from.join(structure.coordinates.data() + t * d, joined.data());
    out[t] = place[cells[cell_at(from.extents(), joined.data())]];
  }
  return out;
}

}  // namespace isthmus::mapping
