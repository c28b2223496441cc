// Division by a divisor fixed at construction, as one multiplication: coordinates of millions of vertices are quotients
// and remainders by the same few extents.
#pragma once

#include <cstdint>

namespace isthmus {

/// Exact quotient and remainder of any 32-bit number by a fixed 32-bit divisor >= 1
/// (Lemire, Kaser and Kurz, "Faster remainder by direct computation", 2019).
class Divider {
 public:
  Divider() = default;
  explicit Divider(std::uint32_t divisor)
      : divisor_(divisor), magic_(divisor > 1 ? ~std::uint64_t{0} / divisor + 1 : 0) {}

  [[nodiscard]] std::uint32_t divisor() const { return divisor_; }

  [[nodiscard]] std::uint32_t quotient(std::uint32_t n) const {
    // The magic number of 1 would be 2^64, which does not fit; a select costs less than a branch mispredicted.
    const auto q = static_cast<std::uint32_t>((static_cast<Wide>(magic_) * n) >> 64);
    return divisor_ == 1 ? n : q;
  }

  [[nodiscard]] std::uint32_t remainder(std::uint32_t n) const { return n - quotient(n) * divisor_; }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint32_t divisor_ = 1;
  std::uint64_t magic_ = 0;
};

}  // namespace isthmus
