// The binary hypercube.
#pragma once

#include <bit>

#include "topology/router_topology.hpp"

namespace isthmus::topology {

struct HypercubeParameters {
  std::uint32_t n;                     ///< dimensions; 2^n routers
  std::uint32_t nodes_per_router = 0;  ///< 0: the router is inside the node
};

/// Routers whose numbers differ in one bit are linked; e-cube routing, lowest bit first (Sullivan and Bashkow 1977).
class Hypercube final : public RouterTopology<Hypercube> {
 public:
  explicit Hypercube(const HypercubeParameters& parameters);

  [[nodiscard]] Bisection bisection() const override;
  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override;
  void channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const override;

  [[nodiscard]] std::uint32_t router_distance(Vertex r, Vertex s) const {
    return static_cast<std::uint32_t>(std::popcount(r ^ s));
  }
  LinkId* write_router_route(Vertex r, Vertex s, std::uint32_t /*salt*/, LinkId* out) const {
    for (Vertex differ = r ^ s; differ != 0; differ &= differ - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(differ));
      *out++ = r * n_ + bit;
      r ^= Vertex{1} << bit;
    }
    return out;
  }
  [[nodiscard]] Link router_link(LinkId id) const { return {id / n_, id / n_ ^ (Vertex{1} << id % n_)}; }
  [[nodiscard]] std::uint32_t router_link_class(LinkId id) const { return id % n_; }
  void router_out_links(Vertex r, std::vector<LinkId>& out) const {
    for (std::uint32_t bit = 0; bit < n_; ++bit) out.push_back(r * n_ + bit);
  }
  [[nodiscard]] Estimate router_diameter() const { return {static_cast<double>(n_), true}; }
  [[nodiscard]] Estimate router_mean_distance() const { return {n_ / 2.0, true}; }

 private:
  std::uint32_t n_;
};

extern template class RouterTopology<Hypercube>;

}  // namespace isthmus::topology
