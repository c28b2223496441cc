#include "topology/hypercube.hpp"

#include <algorithm>

namespace isthmus::topology {

Hypercube::Hypercube(const HypercubeParameters& p) : RouterTopology("hypercube"), n_(p.n) {
  require(p.n >= 1 && p.n <= 26, "hypercube: n = ", p.n, "; must be 1 to 26");
  for (std::uint32_t bit = 0; bit < n_; ++bit) {
    dimensions_.push_back({message("x", bit), 2});
    classes_.push_back({message("x", bit)});
  }
  const std::uint64_t routers = std::uint64_t{1} << n_;
  set_routers(routers, routers, p.nodes_per_router, routers * n_);
  spec_ = message("hypercube:", n_, has_terminals() ? message(",p=", p.nodes_per_router) : "");
}

Bisection Hypercube::bisection() const {
  double least = classes_[0].bandwidth;
  for (std::uint32_t bit = 1; bit < n_; ++bit) least = std::min(least, classes_[bit].bandwidth);
  const double per_pair = 2.0 / routers();  // a link carries 2^(n - 1) routes of uniform traffic
  return with_terminals({routers() / 2, least * (routers() / 2), true}, {per_pair, per_pair * least});
}

std::uint32_t Hypercube::virtual_channels(Routing routing) const {
  return routing == Routing::minimal ? 1 : Topology::virtual_channels(routing);
}

void Hypercube::channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const {
  if (routing != Routing::minimal) return Topology::channels(routing, route, out);
  std::fill(out.begin(), out.end(), std::uint8_t{0});  // bits rise along a route
}

template class RouterTopology<Hypercube>;

}  // namespace isthmus::topology
