// Division by a divisor fixed at construction, as one multiplication: coordinates of millions of vertices are quotients
// and remainders by the same few extents.
#pragma once

#include <bit>
#include <cstdint>

namespace isthmus {

/// Exact quotient and remainder of any 32-bit number by a fixed 32-bit divisor >= 1.
class Divider {
 public:
  Divider() = default;
  explicit Divider(std::uint32_t divisor) : divisor_(divisor), magic_(~std::uint64_t{0} / divisor) {
    const auto bits = static_cast<std::uint32_t>(std::bit_width(divisor - 1));  // 2^bits >= divisor
    narrow_magic_ = static_cast<std::uint32_t>((((std::uint64_t{1} << bits) - divisor) << 32) / divisor + 1);
    shift_once_ = bits > 0 ? 1 : 0;
    shift_rest_ = bits > 0 ? bits - 1 : 0;
  }

  [[nodiscard]] std::uint32_t divisor() const { return divisor_; }

  /// For single numbers: floor(magic (n + 1) / 2^64) with magic = floor((2^64 - 1) / divisor) (Robison, "N-bit unsigned
  /// division via N-bit multiply-add", 2005).
  [[nodiscard]] std::uint32_t quotient(std::uint32_t n) const {
    return static_cast<std::uint32_t>((static_cast<Wide>(magic_) * (std::uint64_t{n} + 1)) >> 64);
  }
  [[nodiscard]] std::uint32_t remainder(std::uint32_t n) const { return n - quotient(n) * divisor_; }

  /// The same in 32-bit steps, for loops over arrays that compilers turn into vector instructions (Granlund and
  /// Montgomery, "Division by invariant integers using multiplication", 1994, figure 4.1).
  [[nodiscard]] std::uint32_t lane_quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{narrow_magic_} * n) >> 32);
    return (high + ((n - high) >> shift_once_)) >> shift_rest_;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint32_t divisor_ = 1;
  std::uint32_t narrow_magic_ = 1;
  std::uint32_t shift_once_ = 0;
  std::uint32_t shift_rest_ = 0;
  std::uint64_t magic_ = ~std::uint64_t{0};
};

}  // namespace isthmus
