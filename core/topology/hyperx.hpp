// HyperX (Ahn et al., "HyperX: topology, routing, and packaging of efficient large-scale networks", SC 2009).
#pragma once

#include "topology/all_to_all.hpp"
#include "topology/router_topology.hpp"

namespace isthmus::topology {

struct HyperXParameters {
  std::vector<std::uint32_t> dims;           ///< routers per dimension
  std::vector<std::uint32_t> parallel = {};  ///< links between two routers per dimension; empty: 1
  std::uint32_t nodes_per_router = 1;
};

/// Routers of a grid, all-to-all in every dimension; dimension-order routing. One dimension: a full mesh; all extents
/// 2: a hypercube; two dimensions: the flattened butterfly.
class HyperX final : public RouterTopology<HyperX> {
 public:
  explicit HyperX(const HyperXParameters& parameters);

  [[nodiscard]] Bisection bisection() const override;
  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override;
  void channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const override;

  [[nodiscard]] std::uint32_t router_distance(Vertex r, Vertex s) const { return grid_.distance(r, s); }
  LinkId* write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const {
    return grid_.write_route(r, s, salt, out);
  }
  [[nodiscard]] Link router_link(LinkId id) const { return grid_.link(id); }
  [[nodiscard]] std::uint32_t router_link_class(LinkId id) const { return grid_.dimension_of(id); }
  void router_out_links(Vertex r, std::vector<LinkId>& out) const { grid_.out_links(r, out); }
  [[nodiscard]] Estimate router_diameter() const;
  [[nodiscard]] Estimate router_mean_distance() const;

 private:
  AllToAll grid_;
};

extern template class RouterTopology<HyperX>;

}  // namespace isthmus::topology
