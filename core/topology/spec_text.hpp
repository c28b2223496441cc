// Pieces of one-line specifications.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"

namespace isthmus::topology {

/// "8x8x16"
inline std::string joined(std::span<const std::uint32_t> numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) out += message(i ? "x" : "", numbers[i]);
  return out;
}

}  // namespace isthmus::topology
