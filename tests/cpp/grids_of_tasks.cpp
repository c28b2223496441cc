#include "grids_of_tasks.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/rng.hpp"

namespace isthmus::test {
namespace {

std::vector<std::uint32_t> permutation(std::uint32_t n, Rng& rng) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0U);
  for (std::uint32_t i = n; i > 1; --i) std::swap(out[i - 1], out[rng.below(i)]);
  return out;
}

Csr csr_of(const std::vector<std::set<std::uint32_t>>& rows) {
  Csr out;
  out.offsets.push_back(0);
  for (const auto& row : rows) {
    out.targets.insert(out.targets.end(), row.begin(), row.end());
    out.offsets.push_back(out.targets.size());
  }
  return out;
}

bool one_step(const Factor& f, std::uint32_t a, std::uint32_t b) {
  switch (f.kind) {
    case FactorKind::path: return a + 1 == b || b + 1 == a;
    case FactorKind::cycle: return (a + 1) % f.extent == b || (b + 1) % f.extent == a;
    case FactorKind::complete: return a != b;
    default: return false;
  }
}
}  // namespace

Csr scrambled_grid(const Extents& extents, const Wraps& wrap, bool diagonals, std::uint64_t seed, Damage damage) {
  Rng rng(seed);
  const auto chance = [&](double share) { return rng.below(1'000'000) < share * 1e6; };
  const std::uint32_t cells = std::accumulate(extents.begin(), extents.end(), 1U, std::multiplies<>());
  std::vector<std::uint32_t> number(cells, unreachable);
  std::uint32_t n = 0;
  for (std::uint32_t& v : number) {
    if (!chance(damage.vertices)) v = n++;
  }
  const auto renumbered = permutation(n, rng);
  std::vector<std::set<std::uint32_t>> rows(n);
  const auto link = [&](std::uint32_t a, std::uint32_t b) {
    if (a == b) return;
    rows[renumbered[a]].insert(renumbered[b]);
    rows[renumbered[b]].insert(renumbered[a]);
  };
  std::vector<std::uint32_t> offsets;  // digits to the base of 3: 1 is one on, 2 is one back
  std::uint32_t power = 1;
  for (std::size_t i = 0; i < extents.size(); ++i, power *= 3) offsets.insert(offsets.end(), {power, 2 * power});
  if (diagonals) {
    offsets.resize(power - 1);
    std::iota(offsets.begin(), offsets.end(), 1U);
  }
  for (std::uint32_t cell = 0; cell < cells; ++cell) {
    for (const std::uint32_t offset : offsets) {
      std::uint32_t rest = cell;
      std::uint32_t digits = offset;
      std::uint32_t other = 0;
      std::uint32_t stride = 1;
      bool inside = true;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        const std::uint32_t e = extents[i];
        const std::uint32_t step = digits % 3;
        const std::uint32_t x = rest % e + (step == 2 ? e - 1 : step);
        inside = inside && (step == 0 || wrap[i] || (step == 1 ? x < e : x >= e));
        other += x % e * stride;
        stride *= e;
        rest /= e;
        digits /= 3;
      }
      if (!inside) continue;
      if (other < cell || number[cell] == unreachable || number[other] == unreachable || chance(damage.edges)) continue;
      link(number[cell], number[other]);
    }
  }
  for (std::uint32_t i = 0; i < damage.added; ++i) link(rng.below(n), rng.below(n));
  return csr_of(rows);
}

Csr scrambled_product(const Csr& a, const Csr& b, std::uint64_t seed) {
  Rng rng(seed);
  const auto number = permutation(a.vertices() * b.vertices(), rng);
  std::vector<std::set<std::uint32_t>> rows(number.size());
  const auto id = [&](std::uint32_t x, std::uint32_t y) { return number[x + y * a.vertices()]; };
  for (std::uint32_t x = 0; x < a.vertices(); ++x) {
    for (std::uint32_t y = 0; y < b.vertices(); ++y) {
      for (const std::uint32_t w : a.row(x)) rows[id(x, y)].insert(id(w, y));
      for (const std::uint32_t w : b.row(y)) rows[id(x, y)].insert(id(x, w));
    }
  }
  return csr_of(rows);
}

Csr complete(std::uint32_t vertices) {
  std::vector<std::set<std::uint32_t>> rows(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t w = 0; w < vertices; ++w) {
      if (v != w) rows[v].insert(w);
    }
  }
  return csr_of(rows);
}

TaskGraph with_bytes(Csr graph) {
  TaskGraph out;
  out.bytes.assign(graph.targets.size(), 2);
  out.links = std::move(graph);
  return out;
}

bool is_product(const Csr& graph, const std::vector<Factor>& factors, const std::vector<std::uint32_t>& coordinates,
                bool box) {
  const std::size_t d = factors.size();
  const std::uint32_t n = graph.vertices();
  std::uint64_t cells = 1;
  for (const Factor& f : factors) cells *= f.extent;
  if (cells != n || coordinates.size() != n * d) return false;
  for (std::uint32_t v = 0; v < n; ++v) {
    for (std::uint32_t w = 0; w < n; ++w) {
      std::size_t same = 0;
      std::size_t steps = 0;
      for (std::size_t f = 0; f < d; ++f) {
        const std::uint32_t a = coordinates[v * d + f];
        const std::uint32_t b = coordinates[w * d + f];
        if (a >= factors[f].extent) return false;
        same += a == b;
        steps += a != b && one_step(factors[f], a, b);
      }
      if (v != w && same == d) return false;
      const bool wanted = v != w && same + steps == d && (box || steps == 1);
      const auto row = graph.row(v);
      if (wanted != (std::find(row.begin(), row.end(), w) != row.end())) return false;
    }
  }
  return true;
}

}  // namespace isthmus::test
