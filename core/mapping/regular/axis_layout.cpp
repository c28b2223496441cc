#include "mapping/regular/axis_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"

namespace isthmus::mapping {
namespace {

constexpr std::uint32_t most_annealed = 128;

struct Pair {
  std::uint32_t a;
  std::uint32_t b;
  double weight;
};

std::vector<Pair> pairs_of(const BlockGrid& grid) {
  std::vector<Pair> out;
  const std::uint32_t n = grid.blocks();
  std::uint32_t stride = 1;
  for (std::size_t i = 0; i < grid.extents.size(); ++i) {
    const std::uint32_t e = grid.extents[i];
    for (std::uint32_t b = 0; b < n; ++b) {
      const std::uint32_t x = b / stride % e;
      if (x + 1 < e && grid.weight[i] > 0) out.push_back({b, b + stride, grid.weight[i]});
      if (x == 0 && grid.closing_weight[i] > 0 && grid.closing[i] > 0) {
        out.push_back({b, b + grid.closing[i] * stride, grid.closing_weight[i]});
      }
    }
    stride *= e;
  }
  return out;
}

double cost_of(const std::vector<Pair>& pairs, const NodeAxis& axis, const std::vector<std::uint32_t>& position) {
  double sum = 0;
  for (const Pair& p : pairs) sum += p.weight * axis.distance(position[p.a], position[p.b]);
  return sum;
}

/// Positions where dimension order[0] varies fastest; reflected: every second line runs backwards.
std::vector<std::uint32_t> row_major(const BlockGrid& grid, const std::vector<std::size_t>& order, bool reflected) {
  const std::uint32_t n = grid.blocks();
  std::vector<std::uint32_t> stride(grid.extents.size());
  std::uint32_t s = 1;
  for (std::size_t i = 0; i < grid.extents.size(); ++i) {
    stride[i] = s;
    s *= grid.extents[i];
  }
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t position = 0; position < n; ++position) {
    std::uint32_t block = 0;
    std::uint32_t rest = position;
    for (const std::size_t i : order) {
      const std::uint32_t e = grid.extents[i];
      std::uint32_t x = rest % e;
      rest /= e;
      if (reflected && rest % 2 == 1) x = e - 1 - x;
      block += x * stride[i];
    }
    out[block] = position;
  }
  return out;
}

/// Swaps under a falling temperature, then until nothing is gained.
void anneal(const std::vector<Pair>& pairs, const NodeAxis& axis, std::vector<std::uint32_t>& position) {
  const auto n = static_cast<std::uint32_t>(position.size());
  std::vector<std::vector<std::pair<std::uint32_t, double>>> row(n);
  double heaviest = 0;
  for (const Pair& p : pairs) {
    row[p.a].emplace_back(p.b, p.weight);
    row[p.b].emplace_back(p.a, p.weight);
    heaviest = std::max(heaviest, p.weight);
  }
  std::vector<std::uint32_t> block(n);  // by position
  for (std::uint32_t b = 0; b < n; ++b) block[position[b]] = b;
  const auto change = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t pa = position[a];
    const std::uint32_t pb = position[b];
    double sum = 0;
    for (const auto& [c, w] : row[a]) {
      if (c != b) sum += w * (double{0} + axis.distance(pb, position[c]) - axis.distance(pa, position[c]));
    }
    for (const auto& [c, w] : row[b]) {
      if (c != a) sum += w * (double{0} + axis.distance(pa, position[c]) - axis.distance(pb, position[c]));
    }
    return sum;
  };
  const auto swap = [&](std::uint32_t a, std::uint32_t b) {
    std::swap(position[a], position[b]);
    block[position[a]] = a;
    block[position[b]] = b;
  };
  Rng rng(n);
  const std::uint32_t steps = 1500 * n;
  double temperature = 2 * heaviest;
  const double factor = std::pow(0.02, 1.0 / steps);
  for (std::uint32_t i = 0; i < steps; ++i, temperature *= factor) {
    const std::uint32_t a = rng.below(n);
    const std::uint32_t b = rng.below(n);
    if (a == b) continue;
    const double by = change(a, b);
    const double chance = static_cast<double>(rng.next() >> 11) * 0x1p-53;
    if (by <= 0 || chance < std::exp(-by / temperature)) swap(a, b);
  }
  for (bool better = true; better;) {
    better = false;
    for (std::uint32_t a = 0; a < n; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        if (change(a, b) >= -1e-12 * heaviest) continue;
        swap(a, b);
        better = true;
      }
    }
  }
}
}  // namespace

std::uint32_t BlockGrid::blocks() const {
  return std::accumulate(extents.begin(), extents.end(), std::uint32_t{1}, std::multiplies<>());
}

AxisLayout lay_out(const BlockGrid& grid, const NodeAxis& axis) {
  const std::uint32_t n = grid.blocks();
  const std::vector<Pair> pairs = pairs_of(grid);
  std::vector<std::size_t> order(grid.extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  AxisLayout best{{}, -1};
  const auto offer = [&](std::vector<std::uint32_t>&& position) {
    const double cost = cost_of(pairs, axis, position);
    if (best.cost >= 0 && cost >= best.cost) return;
    best = {std::move(position), cost};
  };
  std::uint32_t tried = 0;
  do {
    for (const bool reflected : {true, false}) {
      auto position = row_major(grid, order, reflected);
      auto folded = position;
      // 0 2 4 .. 5 3 1: neighbours two apart, and the ends beside each other.
      for (std::uint32_t& p : folded) p = 2 * p < n ? 2 * p : 2 * (n - 1 - p) + 1;
      offer(std::move(position));
      offer(std::move(folded));
    }
  } while (++tried < 24 && std::next_permutation(order.begin(), order.end()));
  double total = 0;
  for (const Pair& p : pairs) total += p.weight;
  if (n > 2 && n <= most_annealed && best.cost > total * (1 + 1e-12)) {
    std::vector<std::uint32_t> position = best.position;
    anneal(pairs, axis, position);
    offer(std::move(position));
  }
  return best;
}

std::vector<std::uint64_t> pairs_at_distance(const NodeAxis& axis) {
  std::vector<std::uint64_t> out;
  const std::uint32_t e = axis.extent();
  if (e > 2048) {  // a line or a ring: at most e pairs at each distance
    out.assign(64, e);
    out.front() = 0;
    out.back() = ~std::uint64_t{0};
    return out;
  }
  for (std::uint32_t a = 0; a < e; ++a) {
    for (std::uint32_t b = a + 1; b < e; ++b) {
      const std::uint32_t d = axis.distance(a, b);
      if (out.size() <= d) out.resize(d + 1, 0);
      ++out[d];
    }
  }
  return out;
}

double layout_bound(const BlockGrid& grid, const std::vector<std::uint64_t>& pairs_at_distance) {
  std::vector<std::pair<double, std::uint64_t>> groups;  // weight, pairs
  const std::uint64_t n = grid.blocks();
  for (std::size_t i = 0; i < grid.extents.size(); ++i) {
    const std::uint64_t e = grid.extents[i];
    if (e > 1) groups.emplace_back(grid.weight[i], n / e * (e - 1));
  }
  std::sort(groups.begin(), groups.end(), std::greater<>());
  double sum = 0;
  std::size_t distance = 0;
  std::uint64_t room = pairs_at_distance.empty() ? 0 : pairs_at_distance[0];
  for (auto [weight, pairs] : groups) {
    while (pairs > 0) {
      while (room == 0 && distance + 1 < pairs_at_distance.size()) room = pairs_at_distance[++distance];
      const std::uint64_t taken = room == 0 ? pairs : std::min(pairs, room);
      sum += weight * static_cast<double>(taken) * static_cast<double>(distance);
      pairs -= taken;
      room -= std::min(room, taken);
    }
  }
  return sum;
}

}  // namespace isthmus::mapping
