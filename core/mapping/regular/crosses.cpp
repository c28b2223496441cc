#include "mapping/regular/crosses.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace isthmus::mapping {
namespace {
bool adjacent(const Csr& graph, std::uint32_t a, std::uint32_t b) {
  const auto row = graph.row(a);
  return std::binary_search(row.begin(), row.end(), b);
}
}  // namespace

std::uint32_t common(const Csr& graph, std::uint32_t a, std::uint32_t b, std::uint32_t v, std::uint32_t most) {
  std::uint32_t count = 0;
  const auto x = graph.row(a);
  const auto y = graph.row(b);
  for (auto i = x.begin(), j = y.begin(); i != x.end() && j != y.end() && count < most;) {
    if (*i < *j) ++i;
    else if (*j < *i) ++j;
    else {
      count += *i != v;
      ++i, ++j;
    }
  }
  return count;
}

std::vector<Beginning> cross(std::span<const std::uint32_t> row, const std::vector<std::uint64_t>& squares,
                             std::size_t dimensions) {
  std::vector<Beginning> best;
  for (std::size_t first = 0; first < row.size(); ++first) {
    std::vector<std::size_t> axes{first};
    std::uint64_t all = squares[first];
    while (axes.size() < dimensions && all != 0) {
      const auto next = static_cast<std::size_t>(std::countr_zero(all));
      axes.push_back(next);
      all &= squares[next];
    }
    if (axes.size() < dimensions) continue;
    std::vector<Beginning> out;
    std::uint64_t used = 0;
    for (std::size_t k = 0; k < dimensions; ++k) {
      Position p{};
      p[k] = 1;
      out.push_back({row[axes[k]], p});
      used |= std::uint64_t{1} << axes[k];
    }
    for (std::size_t k = 0; k < dimensions; ++k) {
      std::uint64_t others = 0;
      for (std::size_t j = 0; j < dimensions; ++j) others |= j == k ? 0 : std::uint64_t{1} << axes[j];
      std::size_t found = row.size();
      bool one = true;
      for (std::size_t x = 0; x < row.size(); ++x) {
        if ((used >> x & 1) != 0 || (squares[x] & others) != others) continue;
        one = found == row.size();
        found = x;
      }
      if (found == row.size() || !one) continue;
      Position p{};
      p[k] = -1;
      out.push_back({row[found], p});
      used |= std::uint64_t{1} << found;
    }
    if (out.size() > best.size()) best = std::move(out);
    if (best.size() == 2 * dimensions) break;
  }
  return best;
}

std::vector<std::uint64_t> squares_at(const Csr& graph, std::uint32_t v) {
  const auto row = graph.row(v);
  std::vector<std::uint64_t> out(row.size(), 0);
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::size_t j = i + 1; j < row.size(); ++j) {
      if (common(graph, row[i], row[j], v, 1) == 0) continue;
      out[i] |= std::uint64_t{1} << j;
      out[j] |= std::uint64_t{1} << i;
    }
  }
  return out;
}

std::vector<Beginning> cross_of_box(const Csr& graph, std::uint32_t v, std::size_t dimensions) {
  const auto row = graph.row(v);
  if (row.size() < 2 * dimensions) return {};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shared;
  for (const std::uint32_t w : row) shared.emplace_back(common(graph, v, w, v, 64), w);
  std::sort(shared.begin(), shared.end(), std::greater<>());
  const std::size_t axes = 2 * dimensions;
  if (shared.size() > axes && shared[axes].first == shared[axes - 1].first) return {};
  std::vector<Beginning> out;
  std::vector<bool> used(axes, false);
  for (std::size_t i = 0; i < axes; ++i) {
    if (used[i]) continue;
    std::size_t opposite = axes;
    for (std::size_t j = 0; j < axes; ++j) {
      if (j == i || adjacent(graph, shared[i].second, shared[j].second)) continue;
      if (opposite != axes || used[j]) return {};
      opposite = j;
    }
    if (opposite == axes) return {};
    used[i] = used[opposite] = true;
    Position p{};
    p[out.size() / 2] = 1;
    out.push_back({shared[i].second, p});
    p[(out.size() - 1) / 2] = -1;
    out.push_back({shared[opposite].second, p});
  }
  return out;
}

}  // namespace isthmus::mapping
