#include "mapping/regular/factor_tables.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace isthmus::mapping {
namespace {

std::uint32_t exponent(std::uint32_t number, std::uint32_t prime) {
  std::uint32_t out = 0;
  for (; number % prime == 0; number /= prime) ++out;
  return out;
}

void add_primes(std::uint32_t number, std::set<std::uint32_t>& out) {
  for (std::uint32_t p = 2; std::uint64_t{p} * p <= number; ++p) {
    if (number % p != 0) continue;
    out.insert(p);
    while (number % p == 0) number /= p;
  }
  if (number > 1) out.insert(number);
}

std::size_t entries(const std::vector<std::uint32_t>& table, std::uint32_t nothing) {
  return table.size() - static_cast<std::size_t>(std::count(table.begin(), table.end(), nothing));
}

/// Tables of exponents with these sums. Large entries come first, so that the search meets sparse tables early.
std::vector<std::vector<std::uint32_t>> exponent_tables(const std::vector<std::uint32_t>& rows,
                                                        const std::vector<std::uint32_t>& columns, std::size_t most) {
  std::vector<std::vector<std::uint32_t>> out;
  std::vector<std::uint32_t> table(rows.size() * columns.size(), 0);
  std::vector<std::uint32_t> left = columns;
  std::function<void(std::size_t, std::size_t, std::uint32_t)> fill = [&](std::size_t i, std::size_t j,
                                                                          std::uint32_t rest) {
    if (out.size() >= most) return;
    if (j == columns.size()) {
      if (rest > 0) return;
      if (i + 1 == rows.size()) out.push_back(table);
      else fill(i + 1, 0, rows[i + 1]);
      return;
    }
    for (std::uint32_t x = std::min(rest, left[j]) + 1; x-- > 0;) {
      table[i * columns.size() + j] = x;
      left[j] -= x;
      fill(i, j + 1, rest - x);
      left[j] += x;
    }
    table[i * columns.size() + j] = 0;
  };
  fill(0, 0, rows[0]);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return entries(a, 0) < entries(b, 0); });
  return out;
}
}  // namespace

std::vector<FactorTable> factor_tables(const std::vector<std::uint32_t>& rows,
                                       const std::vector<std::uint32_t>& columns, std::size_t most) {
  std::set<std::uint32_t> primes;
  for (const std::uint32_t r : rows) add_primes(r, primes);
  for (const std::uint32_t c : columns) add_primes(c, primes);
  std::vector<FactorTable> out{FactorTable(rows.size() * columns.size(), 1)};
  for (const std::uint32_t p : primes) {
    std::vector<std::uint32_t> a;
    std::vector<std::uint32_t> b;
    std::uint32_t difference = 0;
    for (const std::uint32_t r : rows) difference += a.emplace_back(exponent(r, p));
    for (const std::uint32_t c : columns) difference -= b.emplace_back(exponent(c, p));
    if (difference != 0) return {};
    auto exponents = exponent_tables(a, b, most);
    exponents.resize(std::min(exponents.size(), 8 * most / std::max<std::size_t>(out.size(), 1) + 1));
    std::vector<FactorTable> next;
    for (const FactorTable& table : out) {
      for (const auto& powers : exponents) {
        next.push_back(table);
        for (std::size_t k = 0; k < powers.size(); ++k) {
          for (std::uint32_t e = 0; e < powers[k]; ++e) next.back()[k] *= p;
        }
      }
    }
    std::stable_sort(next.begin(), next.end(),
                     [](const auto& x, const auto& y) { return entries(x, 1) < entries(y, 1); });
    if (next.size() > most) next.resize(most);
    out = std::move(next);
  }
  return out;
}

}  // namespace isthmus::mapping
