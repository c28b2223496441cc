// Transfers of many pieces: between an address of this rank and memory of the space that is shared with it.
//
// A strided transfer costs a load, a store and two additions for each element of 1 to 64 bytes; what lies together on
// both sides is copied at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace isthmus::runtime {

/// A box of elements that lie at strides on both sides; dimension 0 changes fastest.
class Strided {
 public:
  static constexpr std::size_t most_dimensions = 16;

  /// Throws InvalidInput where there are too many dimensions, or numbers that pass 63 bits.
  Strided(const char* call, std::size_t bytes, const std::size_t* extents, const std::int64_t* space_strides,
          const std::int64_t* own_strides, std::uint32_t dimensions);

  [[nodiscard]] bool empty() const { return empty_; }
  /// Bytes from the first element that are touched in the space: from so many before it to below so many after it.
  [[nodiscard]] std::uint64_t before() const { return before_; }
  [[nodiscard]] std::uint64_t behind() const { return behind_; }

  /// Copies all elements; both point to the first one.
  void put(char* space, const char* own) const { copy(space, space_strides_, own, own_strides_); }
  void get(const char* space, char* own) const { copy(own, own_strides_, space, space_strides_); }
  /// Bytes that lie together on both sides, and the strides of the first dimension.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t space_stride() const { return space_strides_[0]; }
  [[nodiscard]] std::int64_t own_stride() const { return own_strides_[0]; }
  /// Calls what(offset from the first element in the space, the same of this rank, elements) for every row: the
  /// elements of the first dimension.
  template <class F>
  void each_row(const F& what) const {
    const std::size_t length = dimensions_ == 0 ? 1 : extents_[0];
    std::array<std::size_t, most_dimensions> at{};
    std::int64_t there = 0, here = 0;
    for (;;) {
      what(there, here, length);
      std::uint32_t d = 1;
      for (; d < dimensions_; ++d) {
        there += space_strides_[d];
        here += own_strides_[d];
        if (++at[d] < extents_[d]) break;
        there -= static_cast<std::int64_t>(at[d]) * space_strides_[d];
        here -= static_cast<std::int64_t>(at[d]) * own_strides_[d];
        at[d] = 0;
      }
      if (d >= dimensions_) return;
    }
  }

 private:
  using Strides = std::array<std::int64_t, most_dimensions>;

  void copy(char* to, const Strides& to_strides, const char* from, const Strides& from_strides) const;

  std::size_t bytes_;
  std::uint32_t dimensions_ = 0;
  bool empty_ = false;
  std::uint64_t before_ = 0, behind_ = 0;
  std::array<std::size_t, most_dimensions> extents_{};
  Strides space_strides_{}, own_strides_{};
};

}  // namespace isthmus::runtime
