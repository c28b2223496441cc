// Tasks into places of given room: what single moves and exchanges do not reach.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace isthmus::mapping {

/// A bin for every task in which all of them have room: tasks go down in descending order of load, and back where they
/// find no room. A first search tries the bin of a task first, then the others by `cost` (tasks x bins), so that few
/// tasks move; a second one the fullest bin that has room. None if there is no such packing, or none was found in some
/// thousand steps.
std::optional<std::vector<std::uint32_t>> pack(std::span<const double> load, std::span<const double> room,
                                               std::span<const std::uint32_t> home, std::span<const double> cost);

}  // namespace isthmus::mapping
