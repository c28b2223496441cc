#include "mapping/regular/grid_guess.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/rng.hpp"
#include "mapping/regular/crosses.hpp"

namespace isthmus::mapping {
namespace {
constexpr std::uint32_t sample = 512;
}  // namespace

GridGuess guess_grid(const Csr& graph) {
  const std::uint32_t n = graph.vertices();
  Rng rng(n);
  std::array<std::uint32_t, most_dimensions + 2> crosses{};
  std::vector<std::size_t> degrees;
  std::uint32_t looked = 0;
  std::uint32_t edges = 0;
  std::uint32_t triangles = 0;
  for (std::uint32_t i = 0; i < std::min(n, sample); ++i) {
    const std::uint32_t v = n <= sample ? i : rng.below(n);
    const auto row = graph.row(v);
    if (row.size() > 63) return {};
    if (row.empty()) continue;
    ++looked;
    degrees.push_back(row.size());
    edges += static_cast<std::uint32_t>(row.size());
    for (const std::uint32_t w : row) triangles += common(graph, v, w, v, 1);
    if (row.size() > 2 * most_dimensions + 2) continue;
    const auto squares = squares_at(graph, v);
    std::size_t most = 0;
    for (std::size_t first = 0; first < row.size(); ++first) {
      std::size_t size = 1;
      for (std::uint64_t all = squares[first]; all != 0; ++size)
        all &= squares[static_cast<std::size_t>(std::countr_zero(all))];
      most = std::max(most, size);
    }
    ++crosses[std::min(most, most_dimensions + 1)];
  }
  if (looked == 0) return {};
  if (triangles * 2 > edges) {
    std::sort(degrees.begin(), degrees.end());
    const std::size_t high = degrees[degrees.size() * 9 / 10];
    const std::size_t dimensions = high <= 9 ? 2 : high <= 28 ? 3 : 0;
    return {dimensions, true};
  }
  for (std::size_t d = most_dimensions + 1; d >= 2; --d) {
    if (crosses[d] * 20 >= looked) return {d > most_dimensions ? 0 : d, false};
  }
  return {};
}

}  // namespace isthmus::mapping
