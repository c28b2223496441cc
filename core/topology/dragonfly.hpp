// Dragonfly (Kim, Dally, Scott and Abts, ISCA 2008), with the two-dimensional groups of the Cray XC as a case.
#pragma once

#include "topology/all_to_all.hpp"
#include "topology/global_links.hpp"
#include "topology/nearest_links.hpp"
#include "topology/router_topology.hpp"

namespace isthmus::topology {

struct DragonflyParameters {
  std::vector<std::uint32_t> routers;  ///< a: routers of a group; {16, 6} on a Cray XC, all-to-all per dimension
  std::uint32_t nodes_per_router = 1;  ///< p
  std::uint32_t global_ports = 1;      ///< h: ports per router for links to other groups
  std::uint32_t groups = 2;            ///< g
  Arrangement arrangement = Arrangement::absolute;
  std::uint32_t links_per_pair = 0;          ///< global links between two groups; 0: as many as the ports allow
  std::vector<std::uint32_t> parallel = {};  ///< local links between two routers per dimension; empty: 1
};

/// Minimal routing takes at most one global link: local hops to a router with a link to the destination's group, the
/// global link, local hops; of several global links the nearest, the salt choosing among equals. Now and then two
/// global links through a third group are shorter than local-global-local: distance() counts that path, as
/// breadth-first search does, minimal routing does not take it, as no machine does.
class Dragonfly final : public RouterTopology<Dragonfly> {
 public:
  explicit Dragonfly(const DragonflyParameters& parameters);

  [[nodiscard]] std::string label(Vertex vertex) const override;
  [[nodiscard]] Bisection bisection() const override;
  void random_route(Vertex from, Vertex to, Rng& rng, std::vector<LinkId>& out) const override;
  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override;
  void channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const override;

  [[nodiscard]] std::uint32_t router_distance(Vertex r, Vertex s) const;
  void router_distances(const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* out) const;
  [[nodiscard]] std::uint32_t router_route_length(Vertex r, Vertex s) const;
  void router_route_lengths(const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* out) const {
    for (std::size_t i = 0; i < count; ++i) out[i] = router_route_length(r[i], s[i]);
  }
  LinkId* write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const;
  [[nodiscard]] Link router_link(LinkId id) const;
  [[nodiscard]] std::uint32_t router_link_class(LinkId id) const;
  void router_out_links(Vertex r, std::vector<LinkId>& out) const;
  /// In relative arrangement every group sees the same.
  [[nodiscard]] std::uint32_t router_representatives() const {
    return global_.arrangement() == Arrangement::relative ? local_.block() : hosts();
  }
  [[nodiscard]] Vertex valiant_router(Vertex r, Vertex s, Rng& rng) const;

 protected:
  [[nodiscard]] bool permits(LinkId link, Vertex to) const override;

 private:
  /// Place of a router in its group and the group.
  struct Place {
    std::uint32_t group;
    std::uint32_t local;
  };
  [[nodiscard]] Place place(Vertex r) const {
    const std::uint32_t group = group_size_.quotient(r);
    return {group, r - group * group_size_.divisor()};
  }
  [[nodiscard]] bool flat() const { return local_.dimensions() == 1; }
  /// Links of a minimal route between different groups.
  [[nodiscard]] std::uint32_t between_groups(Place r, Place s) const;
  /// Is there a router of a third group with a link from r and a link to s?
  [[nodiscard]] bool two_global_hops(Place r, Place s) const;
  [[nodiscard]] std::uint32_t searched_distance(Vertex r, Vertex s, std::uint32_t bound) const;
  void tabulate();

  AllToAll local_;
  GlobalLinks global_;
  NearestLinks nearest_;  // where there is a choice
  Divider group_size_;
  LinkId first_global_ = 0;
  /// Two-dimensional groups in relative arrangement look the same from every group: distances and route lengths by
  /// (group difference, place, place), routers * a bytes instead of routers^2.
  std::vector<std::uint8_t> distance_table_;
  std::vector<std::uint8_t> length_table_;
};

extern template class RouterTopology<Dragonfly>;

}  // namespace isthmus::topology
