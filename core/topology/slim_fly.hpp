// Slim Fly: McKay-Miller-Siran graphs of diameter 2 (Besta and Hoefler, "Slim Fly: a cost effective low-diameter
// network topology", SC 2014).
#pragma once

#include "topology/router_topology.hpp"

namespace isthmus::topology {

struct SlimFlyParameters {
  std::uint32_t q;  ///< a prime power 4w - 1, 4w or 4w + 1; 2 q^2 routers
  std::uint32_t nodes_per_router = 1;
};

/// Routers (set, x, y) with set in {0, 1} and x, y in the field of q elements: (0, x, y) - (0, x, y') where y - y' is
/// in X, (1, m, c) - (1, m, c') where c - c' is in X', (0, x, y) - (1, m, c) where y = m x + c. Routes of two hops go
/// through the common neighbour that the salt picks first.
class SlimFly final : public RouterTopology<SlimFly> {
 public:
  explicit SlimFly(const SlimFlyParameters& parameters);

  [[nodiscard]] std::uint32_t router_distance(Vertex r, Vertex s) const {
    return r == s ? 0 : adjacent(router(r), router(s)) ? 1 : 2;
  }
  LinkId* write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const;
  [[nodiscard]] Link router_link(LinkId id) const {
    return {id / degree_, vertex(neighbour(router(id / degree_), id % degree_))};
  }
  [[nodiscard]] std::uint32_t router_link_class(LinkId id) const {
    return id % degree_ < generators_[0].size() ? 0 : 1;
  }
  void router_out_links(Vertex r, std::vector<LinkId>& out) const;
  [[nodiscard]] Estimate router_diameter() const { return {2, true}; }
  [[nodiscard]] Estimate router_mean_distance() const;

 private:
  /// A router is the place (x, y) in set 0 or 1.
  struct Router {
    std::uint32_t set;
    std::uint32_t x;
    std::uint32_t y;
  };
  [[nodiscard]] Router router(Vertex r) const { return {r / (q_ * q_), r / q_ % q_, r % q_}; }
  [[nodiscard]] Vertex vertex(const Router& r) const { return (r.set * q_ + r.x) * q_ + r.y; }
  [[nodiscard]] bool adjacent(const Router& r, const Router& s) const;
  [[nodiscard]] Router neighbour(const Router& r, std::uint32_t port) const;
  /// Port of r that leads to its neighbour s.
  [[nodiscard]] std::uint32_t port_to(const Router& r, const Router& s) const;
  [[nodiscard]] std::uint32_t add(std::uint32_t a, std::uint32_t b) const { return add_[a * q_ + b]; }
  [[nodiscard]] std::uint32_t subtract(std::uint32_t a, std::uint32_t b) const { return add_[a * q_ + negative_[b]]; }
  [[nodiscard]] std::uint32_t multiply(std::uint32_t a, std::uint32_t b) const { return multiply_[a * q_ + b]; }
  void build_field();

  std::uint32_t q_;
  std::uint32_t degree_ = 0;
  // Tables of the field, q x q: half as large as the list of routers.
  std::vector<std::uint16_t> add_;
  std::vector<std::uint16_t> multiply_;
  std::vector<std::uint16_t> negative_;
  std::vector<std::uint16_t> generators_[2];  ///< X and X'
  std::vector<std::uint16_t> place_[2];       ///< index in X or X' of an element, or none
};

extern template class RouterTopology<SlimFly>;

}  // namespace isthmus::topology
