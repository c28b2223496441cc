// Dragonfly+ (Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017).
#pragma once

#include "topology/global_links.hpp"
#include "topology/router_topology.hpp"

namespace isthmus::topology {

struct DragonflyPlusParameters {
  std::uint32_t leaves = 1;          ///< leaf switches of a group
  std::uint32_t spines = 1;          ///< spine switches of a group
  std::uint32_t nodes_per_leaf = 1;  ///< p
  std::uint32_t global_ports = 1;    ///< h: ports per spine for links to other groups
  std::uint32_t groups = 2;          ///< g
  Arrangement arrangement = Arrangement::absolute;
  std::uint32_t links_per_pair = 0;  ///< global links between two groups; 0: as many as the ports allow
};

/// Every leaf of a group is linked to every spine of it, spines to spines of other groups. Leaves carry the nodes and
/// are numbered first. Minimal routes are leaf-spine-leaf or leaf-spine-spine-leaf; the salt chooses the spine or link.
class DragonflyPlus final : public RouterTopology<DragonflyPlus> {
 public:
  explicit DragonflyPlus(const DragonflyPlusParameters& parameters);

  [[nodiscard]] std::string label(Vertex vertex) const override;
  [[nodiscard]] Bisection bisection() const override;
  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override;
  void channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const override;

  /// From any switch to a leaf.
  [[nodiscard]] std::uint32_t router_distance(Vertex r, Vertex leaf) const;
  LinkId* write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const;
  [[nodiscard]] Link router_link(LinkId id) const;
  [[nodiscard]] std::uint32_t router_link_class(LinkId id) const { return id < first_global_ ? 0 : 1; }
  void router_out_links(Vertex r, std::vector<LinkId>& out) const;
  [[nodiscard]] Vertex valiant_router(Vertex r, Vertex s, Rng& rng) const;
  [[nodiscard]] Estimate router_diameter() const;
  [[nodiscard]] Estimate router_mean_distance() const;

 private:
  [[nodiscard]] bool is_leaf(Vertex r) const { return r < hosts(); }
  [[nodiscard]] std::uint32_t group_of(Vertex r) const {
    return is_leaf(r) ? leaves_.quotient(r) : spines_.quotient(r - hosts());
  }
  [[nodiscard]] Vertex spine(std::uint32_t group, std::uint32_t index) const {
    return hosts() + group * spines_.divisor() + index;
  }
  /// Does the spine have a link to the group?
  [[nodiscard]] bool linked(Vertex spine, std::uint32_t group) const;
  [[nodiscard]] LinkId up(Vertex leaf, std::uint32_t spine_index) const {
    return leaf * spines_.divisor() + spine_index;
  }
  [[nodiscard]] LinkId down(Vertex spine, std::uint32_t leaf_index) const {
    return first_down_ + (spine - hosts()) * leaves_.divisor() + leaf_index;
  }

  Divider leaves_;
  Divider spines_;
  GlobalLinks global_;
  LinkId first_down_ = 0;
  LinkId first_global_ = 0;
};

extern template class RouterTopology<DragonflyPlus>;

}  // namespace isthmus::topology
