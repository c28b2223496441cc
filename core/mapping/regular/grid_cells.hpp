// Cells of a grid that grows in all directions: which vertex is where.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace isthmus::mapping {

inline constexpr std::size_t most_dimensions = 4;
/// Coordinates from -32768 to 32767; those of dimensions that there are not are 0.
using Position = std::array<std::int32_t, most_dimensions>;

inline Position operator+(Position a, const Position& b) {
  for (std::size_t k = 0; k < most_dimensions; ++k) a[k] += b[k];
  return a;
}
inline Position operator-(Position a, const Position& b) {
  for (std::size_t k = 0; k < most_dimensions; ++k) a[k] -= b[k];
  return a;
}

inline std::uint64_t packed(const Position& p) {
  std::uint64_t key = 0;
  for (const std::int32_t x : p) key = key << 16 | static_cast<std::uint16_t>(x);
  return key;
}

inline Position unpacked(std::uint64_t key) {
  Position p{};
  for (std::size_t k = most_dimensions; k-- > 0; key >>= 16) p[k] = static_cast<std::int16_t>(key & 0xffff);
  return p;
}

/// A hash table with open addressing: a cell that was used stays in it, empty.
class Cells {
 public:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  Cells() : slots_(64) {}

  [[nodiscard]] std::uint32_t at(const Position& p) const { return slots_[find(packed(p))].vertex; }
  [[nodiscard]] bool free(const Position& p) const { return at(p) == nobody; }
  void put(const Position& p, std::uint32_t vertex) {
    if (2 * used_ >= slots_.size()) grow();
    Slot& slot = slots_[find(packed(p))];
    used_ += !slot.known;
    slot = {packed(p), vertex, true};
  }
  void erase(const Position& p) { slots_[find(packed(p))].vertex = nobody; }
  void clear() { *this = Cells(); }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t vertex = nobody;
    bool known = false;
  };

  [[nodiscard]] std::size_t find(const std::uint64_t wanted) const {
    std::uint64_t key = wanted;
    const std::size_t mask = slots_.size() - 1;
    // The high half of a product depends on all bits of the key.
    key ^= key >> 32;
    std::size_t i = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15U >> 32) & mask;
    while (slots_[i].known && slots_[i].key != wanted) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    used_ = 0;
    for (const Slot& s : old) {
      if (s.vertex == nobody) continue;
      slots_[find(s.key)] = s;
      ++used_;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace isthmus::mapping
