// More tasks than places: partition and map together, loads balanced.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/problem/target.hpp"
#include "mapping/problem/task_graph.hpp"

namespace isthmus::mapping {

struct BalancedOptions {
  double imbalance = 0.03;         ///< a place may have this much more load than its share
  double seconds = 30;             ///< processor time by counted steps, see effort.hpp
  double group_limit = 2.4;        ///< on networks of groups, as in GroupedOptions
  unsigned threads = 1;            ///< the result is the same for any number
  std::vector<double> speed = {};  ///< of every place, empty: all the same; shares of load are in proportion
  std::uint64_t seed = 0;
};

/// Where there are many tasks a place on networks with coordinates, map_by_levels(); otherwise, and where there is time
/// for both, dual recursive bipartition by loads; then single tasks move to and swap between places of their partners,
/// with real distances, within the balance, at temperatures that at first let go of all but the coarsest shape (on
/// networks without coordinates at low ones, after parts moved as wholes). With time for it there are several starts,
/// and the best is kept; without time for a bipartition, the start is linear_map_of_loads(). Where the target has
/// capacities they are the limits, in tasks, and loads and speeds do not count. What does not fit the balance because
/// tasks are large is as balanced as moves make it.
Map balanced(const TaskGraph& graph, const Target& target, const BalancedOptions& options);

/// Load of every place.
std::vector<double> place_loads(const TaskGraph& graph, const Target& target, const Map& map);

}  // namespace isthmus::mapping
