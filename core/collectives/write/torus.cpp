#include "collectives/write/torus.hpp"

#include <cmath>

#include "base/error.hpp"
#include "schedule/names.hpp"

namespace isthmus::collectives {
namespace {

/// `count` factors, the largest first, each the smallest that is not below the root of what is left.
std::vector<Rank> even_extents(Rank ranks, std::size_t count) {
  std::vector<Rank> dims;
  for (; count > 1; --count) {
    const double root = std::pow(static_cast<double>(ranks), 1.0 / static_cast<double>(count));
    auto extent = static_cast<Rank>(std::lround(root));
    while (extent == 0 || ranks % extent != 0) ++extent;
    dims.push_back(extent);
    ranks /= extent;
  }
  dims.push_back(ranks);
  return dims;
}

}  // namespace

std::shared_ptr<const TorusPlan> plan_torus(const CollectiveCall& call, std::size_t count) {
  auto plan = std::make_shared<TorusPlan>();
  plan->dims = call.options->dims.empty() ? even_extents(call.ranks, count) : call.options->dims;
  std::uint64_t places = 1;
  for (const Rank extent : plan->dims) places = places * extent > call.ranks ? 0 : places * extent;
  require(places == call.ranks, "option dims of ", name_of(call.kind), ": the extents must multiply to ", call.ranks,
          ", the number of ranks");
  return plan;
}

}  // namespace isthmus::collectives
