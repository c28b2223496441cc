// A vector in as many parts as there are ranks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace isthmus {

/// Parts of floor or ceil(bytes / count) bytes, the larger ones first.
class EqualParts {
 public:
  EqualParts(std::uint64_t bytes, std::uint64_t count) : count_(count), least_(bytes / count), larger_(bytes % count) {}
  /// Where a part <= count begins.
  [[nodiscard]] std::uint64_t offset(std::uint64_t part) const { return part * least_ + std::min(part, larger_); }
  /// Of the parts from `first` to before `end`.
  [[nodiscard]] std::uint64_t bytes(std::uint64_t first, std::uint64_t end) const {
    return offset(end) - offset(first);
  }
  std::uint64_t operator()(std::uint64_t part) const { return least_ + (part < larger_ ? 1 : 0); }
  /// The part `steps` <= count before `part`, the last one before the first.
  [[nodiscard]] std::uint64_t before(std::uint64_t part, std::uint64_t steps) const {
    return part >= steps ? part - steps : part + count_ - steps;
  }

 private:
  std::uint64_t count_;
  std::uint64_t least_;
  std::uint64_t larger_;
};

}  // namespace isthmus
