#include "topology/hyperx.hpp"

#include "topology/spec_text.hpp"

namespace isthmus::topology {

HyperX::HyperX(const HyperXParameters& p) : RouterTopology("hyperx"), grid_("hyperx", p.dims, p.parallel, 1) {
  static const std::string names = "xyzwvuts";
  for (std::size_t d = 0; d < p.dims.size(); ++d) {
    dimensions_.push_back({std::string(1, names[d]), p.dims[d]});
    classes_.push_back({dimensions_.back().name});
  }
  set_routers(grid_.block(), grid_.block(), p.nodes_per_router, grid_.links());
  spec_ = message("hyperx:", joined(p.dims), p.parallel.empty() ? "" : ",parallel=" + joined(p.parallel),
                  ",p=", p.nodes_per_router);
}

Bisection HyperX::bisection() const { return with_terminals(grid_.bisection(classes_), grid_.spread(classes_)); }

std::uint32_t HyperX::virtual_channels(Routing routing) const {
  return routing == Routing::minimal ? 1 : Topology::virtual_channels(routing);
}

void HyperX::channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const {
  if (routing != Routing::minimal) return Topology::channels(routing, route, out);
  std::fill(out.begin(), out.end(), std::uint8_t{0});  // dimension order alone is acyclic: at most one hop a dimension
}

Estimate HyperX::router_diameter() const {
  double sum = 0;
  for (std::size_t d = 0; d < grid_.dimensions(); ++d) sum += grid_.extent(d) > 1;
  return {sum, true};
}

Estimate HyperX::router_mean_distance() const {
  double sum = 0;
  for (std::size_t d = 0; d < grid_.dimensions(); ++d) sum += 1 - 1.0 / grid_.extent(d);
  return {sum, true};
}

template class RouterTopology<HyperX>;

}  // namespace isthmus::topology
