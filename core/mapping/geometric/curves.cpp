#include "mapping/geometric/curves.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "base/error.hpp"

namespace isthmus::mapping {
namespace {

/// Bits of all coordinates, most significant first, turn by turn.
std::uint64_t interleave(const std::vector<std::uint32_t>& x, std::uint32_t bits) {
  std::uint64_t key = 0;
  for (std::uint32_t b = bits; b-- > 0;) {
    for (const std::uint32_t c : x) key = key << 1 | (c >> b & 1);
  }
  return key;
}

/// Skilling's transform of coordinates to the transposed Hilbert index.
void to_hilbert(std::vector<std::uint32_t>& x, std::uint32_t bits) {
  const std::size_t n = x.size();
  const std::uint32_t highest = 1U << (bits - 1);
  for (std::uint32_t q = highest; q > 1; q >>= 1) {
    const std::uint32_t p = q - 1;
    for (std::size_t i = 0; i < n; ++i) {
      if ((x[i] & q) != 0) {
        x[0] ^= p;
      } else {
        const std::uint32_t t = (x[0] ^ x[i]) & p;
        x[0] ^= t;
        x[i] ^= t;
      }
    }
  }
  for (std::size_t i = 1; i < n; ++i) x[i] ^= x[i - 1];
  std::uint32_t t = 0;
  for (std::uint32_t q = highest; q > 1; q >>= 1) {
    if ((x[n - 1] & q) != 0) t ^= q - 1;
  }
  for (std::uint32_t& c : x) c ^= t;
}

std::uint64_t snake_key(const std::vector<std::uint32_t>& x, const std::vector<std::uint32_t>& extents) {
  std::uint64_t key = 0;
  for (std::size_t i = x.size(); i-- > 0;) {
    const std::uint32_t c = key % 2 == 1 ? extents[i] - 1 - x[i] : x[i];
    key = key * extents[i] + c;
  }
  return key;
}
}  // namespace

Curve curve_from(std::string_view name) {
  if (name == "hilbert") return Curve::hilbert;
  if (name == "morton") return Curve::morton;
  if (name == "snake") return Curve::snake;
  throw InvalidInput(message("curve '", std::string(name), "': must be hilbert, morton or snake"));
}

std::vector<std::uint32_t> order_along(Curve curve, std::span<const std::uint32_t> at, std::size_t dimensions) {
  require(dimensions >= 1 && at.size() % dimensions == 0, "curve: ", at.size(), " numbers are no points in ",
          dimensions, " dimensions");
  const std::size_t n = at.size() / dimensions;
  std::vector<std::uint32_t> extents(dimensions, 1);
  for (std::size_t i = 0; i < at.size(); ++i) {
    extents[i % dimensions] = std::max(extents[i % dimensions], at[i] + 1);
  }
  std::uint32_t bits = 1;
  for (const std::uint32_t e : extents) bits = std::max(bits, static_cast<std::uint32_t>(std::bit_width(e - 1)));
  require(curve == Curve::snake || bits * dimensions <= 64, "curve: ", dimensions, " dimensions of ", bits,
          " bits; 64 bits together are possible");
  std::vector<std::uint64_t> key(n);
  std::vector<std::uint32_t> x(dimensions);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < dimensions; ++k) x[k] = at[i * dimensions + k];
    if (curve == Curve::snake) {
      key[i] = snake_key(x, extents);
      continue;
    }
    if (curve == Curve::hilbert) to_hilbert(x, bits);
    key[i] = interleave(x, bits);
  }
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0U);
  std::stable_sort(out.begin(), out.end(), [&](std::uint32_t a, std::uint32_t b) { return key[a] < key[b]; });
  return out;
}

std::vector<std::uint32_t> slots_along(Curve curve, const Target& target) {
  std::vector<std::uint32_t> order(target.places());
  std::iota(order.begin(), order.end(), 0U);
  const auto& axes = target.axes();
  if (axes.empty()) {
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return target.node(a) < target.node(b); });
  } else {
    std::vector<std::uint32_t> at;
    at.reserve(axes.size() * target.places());
    for (std::uint32_t p = 0; p < target.places(); ++p) {
      for (const Target::Axis& axis : axes) at.push_back(axis.at[p]);
    }
    order = order_along(curve, at, axes.size());
  }
  std::vector<std::uint32_t> out;
  for (const std::uint32_t p : order) out.insert(out.end(), target.capacity(p), p);
  return out;
}

Map curve_map(Curve curve, std::span<const std::uint32_t> at, std::size_t dimensions, const Target& target) {
  const std::vector<std::uint32_t> tasks = order_along(curve, at, dimensions);
  const std::vector<std::uint32_t> slots = slots_along(curve, target);
  require(tasks.size() <= slots.size(), tasks.size(), " tasks do not fit: the nodes take ", slots.size());
  Map out(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) out[tasks[i]] = slots[i];
  return out;
}

}  // namespace isthmus::mapping
