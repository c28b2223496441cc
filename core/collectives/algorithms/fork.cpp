#include <cmath>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/write/tree_streams.hpp"
#include "schedule/names.hpp"

namespace isthmus::collectives::fork {
namespace {

struct Extents : Plan {
  explicit Extents(std::vector<Rank> extents) : dims(std::move(extents)) {}
  std::vector<Rank> dims;
};

Fork tree(const CollectiveCall& call) { return {call, call.root, static_cast<const Extents*>(call.plan)->dims}; }

}  // namespace

std::shared_ptr<const Plan> prepare(const CollectiveCall& call) {
  std::vector<Rank> dims = call.options->dims;
  if (dims.empty()) {
    const auto side = static_cast<Rank>(std::ceil(std::sqrt(static_cast<double>(call.ranks))));
    dims = {(call.ranks - 1) / side + 1, side};
  }
  std::uint64_t places = 1;
  for (const Rank extent : dims) places = std::min(places * extent, std::uint64_t{any_rank});
  require(places >= call.ranks, "fork (", name_of(call.kind), "): the grid has ", places, " places, for ", call.ranks,
          " ranks");
  return std::make_shared<Extents>(std::move(dims));
}

void bcast(const CollectiveCall& call, Emitter& out) { bcast_down(call, out, tree(call)); }
void reduce(const CollectiveCall& call, Emitter& out) { reduce_up(call, out, tree(call)); }

}  // namespace isthmus::collectives::fork
