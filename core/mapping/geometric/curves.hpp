// Orders of points along a space-filling curve.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mapping/problem/target.hpp"

namespace isthmus::mapping {

enum class Curve : std::uint8_t {
  hilbert,  ///< Skilling, "Programming the Hilbert curve" (2004), in any number of dimensions
  morton,   ///< interleaved bits (Z order)
  snake,    ///< row after row, every second one backwards
};

/// By name; throws InvalidInput for an unknown one.
Curve curve_from(std::string_view name);

/// Points in the order in which the curve meets them; point i has the coordinates at[i * dimensions] ... Points at the
/// same place keep their order.
std::vector<std::uint32_t> order_along(Curve curve, std::span<const std::uint32_t> at, std::size_t dimensions);

/// Places in the order of the curve, each as often as it takes tasks; by number where the target has no axes (nodes of
/// dragonflies and trees are numbered by their hierarchy).
std::vector<std::uint32_t> slots_along(Curve curve, const Target& target);

/// The k-th task along the curve to the k-th slot along it. Throws InvalidInput where tasks do not fit.
Map curve_map(Curve curve, std::span<const std::uint32_t> at, std::size_t dimensions, const Target& target);

}  // namespace isthmus::mapping
