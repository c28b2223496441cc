#include "mapping/search/grouped.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "mapping/construct/bipartition.hpp"
#include "mapping/problem/effort.hpp"
#include "mapping/problem/objective.hpp"
#include "mapping/refine/anneal.hpp"
#include "mapping/refine/group_costs.hpp"

namespace isthmus::mapping {

Map grouped(const TaskGraph& graph, const Target& target, const GroupedOptions& o) {
  require(o.seconds > 0, "grouped: ", o.seconds, " seconds; must be above 0");
  require(o.limit > 0, "grouped: limit ", o.limit, "; must be above 0");
  Rng rng(o.seed);
  if (!o.start.empty()) require_map(graph, target, o.start);
  const std::uint64_t seed_of_start = rng.next();
  const Map start = o.start.empty() ? dual_bipartition(graph, target, seed_of_start) : o.start;
  AnnealOptions a;
  const double begins = o.start.empty() ? effort::bipartition(graph, target.places()) : 0;
  a.seconds = std::max(o.seconds - begins, 0.1 * o.seconds);
  a.hot = 0.6;
  a.cold = 0.03;
  a.seed = rng.next();
  if (target.groups() > 1) {
    const std::vector<double> loads = group_loads(graph, target, start);
    const double pairs = static_cast<double>(target.groups()) * (target.groups() - 1);
    a.group_limit = o.limit * std::accumulate(loads.begin(), loads.end(), 0.0) / pairs;
  }
  return anneal(graph, target, start, a);
}

}  // namespace isthmus::mapping
