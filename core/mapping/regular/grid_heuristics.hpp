// Heuristics that place a grid of tasks on a box of nodes cell by cell.
#pragma once

#include <optional>
#include <string_view>

#include "mapping/problem/target.hpp"
#include "mapping/regular/structure.hpp"

namespace isthmus::mapping {

/// The heuristics of Bhatele's framework for regular patterns ("Automated mapping of regular communication graphs on
/// mesh interconnects", HiPC 2010), for any number of dimensions.
enum class GridHeuristic : std::uint8_t {
  maximum_overlap,          ///< MXOVLP: the largest common box one to one, then what is left of both
  maximum_overlap_aligned,  ///< MXOV+AL: the same with the longest dimensions alongside each other
  expand_from_corner,       ///< EXCO: both by distance from a corner
  corners_to_centre,        ///< COCE: both by distance from the nearest corner, corner by corner
  affine,                   ///< AFFN: coordinates scaled, conflicts to the nearest free cell
  stepwise,  ///< STEP: lines of tasks one after another along lines of nodes, after Aleliunas and Rosenberg
};

/// By name, as in the comments with hyphens; throws InvalidInput for an unknown one.
GridHeuristic grid_heuristic_from(std::string_view name);

/// A map by one heuristic. Where tasks and nodes have different numbers of dimensions, some of the larger number are
/// joined by going to and fro, so that the extents match best. Nothing for trees, where the target is no box, or where
/// the grid has more cells than the target takes.
std::optional<Map> grid_heuristic_map(GridHeuristic heuristic, const Structure& structure, const Target& target);

}  // namespace isthmus::mapping
