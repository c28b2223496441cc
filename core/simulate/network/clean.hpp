// Rates without the noise of rounding.
#pragma once

#include <bit>
#include <cstdint>

namespace isthmus::simulate {

/// Sums of rates are rounded; what differs by less is the same.
inline constexpr double tolerance = 1e-9;

/// Links that are filled less than this and hold nobody back are not looked at before they turn out to be too full.
inline constexpr double roomy = 0.6;

inline bool above(double a, double b) { return a > b * (1 + tolerance); }

/// The number without its last 14 bits: what is the same but for rounding is the same then, whatever was added and
/// subtracted to get there. Flows that are alike stay alike, and rates do not depend on which others were solved too.
inline double clean(double rate) {
  constexpr std::uint64_t last = 1 << 14;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(rate) + last / 2) & ~(last - 1));
}

}  // namespace isthmus::simulate
