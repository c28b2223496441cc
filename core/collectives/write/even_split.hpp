// A vector cut into parts.
#pragma once

#include <algorithm>
#include <cstdint>

namespace isthmus::collectives {

/// So many bytes in so many parts of floor or ceil(bytes / count), the longer ones first.
class EvenSplit {
 public:
  EvenSplit(std::uint64_t bytes, std::uint64_t count) : least_(bytes / count), longer_(bytes % count) {}
  std::uint64_t operator()(std::uint64_t part) const { return least_ + (part < longer_ ? 1 : 0); }
  /// Where a part begins; the end of the last one for `count`.
  [[nodiscard]] std::uint64_t offset(std::uint64_t part) const { return part * least_ + std::min(part, longer_); }
  /// Size of the parts from `first` to before `end`.
  [[nodiscard]] std::uint64_t between(std::uint64_t first, std::uint64_t end) const {
    return offset(end) - offset(first);
  }

 private:
  std::uint64_t least_;
  std::uint64_t longer_;
};

}  // namespace isthmus::collectives
