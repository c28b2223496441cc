#include "mapping/regular/patch_join.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace isthmus::mapping {
namespace {

std::vector<Motion> symmetries(std::size_t dimensions) {
  std::vector<Motion> out;
  Motion m;
  std::iota(m.axis.begin(), m.axis.end(), std::size_t{0});
  const auto last = m.axis.begin() + static_cast<std::ptrdiff_t>(dimensions);
  do {
    for (std::size_t signs = 0; signs < std::size_t{1} << dimensions; ++signs) {
      for (std::size_t k = 0; k < most_dimensions; ++k) m.sign[k] = k < dimensions && (signs >> k & 1) != 0 ? -1 : 1;
      out.push_back(m);
    }
  } while (std::next_permutation(m.axis.begin(), last));
  return out;
}
}  // namespace

std::optional<Motion> find_motion(std::span<const PatchEdge> edges, std::span<const Position> cells, const Cells& whole,
                                  std::size_t dimensions, std::span<const Position> neighbours, std::uint64_t& steps) {
  constexpr std::size_t most_votes = 200'000;
  if (edges.size() < 2) return std::nullopt;
  const std::vector<Motion> all = symmetries(dimensions);
  const std::size_t each = all.size() * neighbours.size();
  const std::size_t stride = std::max<std::size_t>(1, edges.size() * each / most_votes);
  struct Vote {
    std::uint64_t shift;
    std::uint32_t symmetry;
    std::uint32_t edge;
    std::uint32_t neighbour;
    bool operator<(const Vote& o) const { return symmetry != o.symmetry ? symmetry < o.symmetry : shift < o.shift; }
  };
  std::vector<Vote> votes;
  for (std::size_t e = 0; e < edges.size(); e += stride) {
    for (std::size_t s = 0; s < all.size(); ++s) {
      const Position base = edges[e].there - all[s].turned(edges[e].here);
      for (std::size_t k = 0; k < neighbours.size(); ++k) {
        votes.push_back({packed(base + neighbours[k]), static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(e),
                         static_cast<std::uint32_t>(k)});
      }
    }
  }
  steps += votes.size() * 20;
  std::sort(votes.begin(), votes.end());
  std::vector<std::pair<std::uint32_t, std::size_t>> counted;  // votes, the first of them
  for (std::size_t i = 0; i < votes.size();) {
    std::size_t j = i;
    while (j < votes.size() && !(votes[i] < votes[j])) ++j;
    if (j - i >= 2) counted.emplace_back(static_cast<std::uint32_t>(j - i), i);
    i = j;
  }
  std::sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t looked_at = 16;
  if (counted.size() > looked_at) counted.resize(looked_at);
  std::optional<Motion> best;
  double best_value = 0;
  double best_count = 0;
  double second = 0;
  for (const auto& [count, first] : counted) {
    const Vote& vote = votes[first];
    Motion m = all[vote.symmetry];
    m.shift = edges[vote.edge].there - m.turned(edges[vote.edge].here) + neighbours[vote.neighbour];
    double taken = 0;
    for (const Position& p : cells) taken += !whole.free(m.apply(p));
    steps += cells.size() * 2;
    const double value = static_cast<double>(count * stride) - taken;
    if (!best || value > best_value) {
      second = best ? best_value : second;
      best = m;
      best_value = value;
      best_count = static_cast<double>(count * stride);
    } else {
      second = std::max(second, value);
    }
  }
  // Round a torus a part may meet the whole from both sides.
  constexpr double least_share = 0.45;
  if (!best || best_value < 2 || second >= best_value) return std::nullopt;
  if (best_count < least_share * static_cast<double>(edges.size())) return std::nullopt;
  return best;
}

}  // namespace isthmus::mapping
