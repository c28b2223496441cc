// Meshes and tori of any number of dimensions; linear arrays and rings are the one-dimensional case.
#pragma once

#include "topology/router_topology.hpp"

namespace isthmus::topology {

struct GridParameters {
  std::string kind = "torus";          ///< how the user called it: torus, mesh, linear, ring
  std::vector<std::uint32_t> dims;     ///< extents, x first; x varies fastest with the id
  std::vector<bool> wrap = {};         ///< per dimension; empty: all wrap (torus, ring) or none
  std::string names = {};              ///< one letter per dimension; empty: x y z w v u t s r q p o n m
  std::uint32_t nodes_per_router = 0;  ///< 0: the router is inside the node
  std::string ties = "balanced";       ///< both ways round equally long: both directions, or "positive"
};

/// Dimension-order routing, x first. Where both ways round a ring are equally long the route goes in the positive
/// direction if the source's coordinate in that dimension and the ways ahead in all others, counted in the positive
/// direction, have an even sum: uniform traffic then loads both directions alike. With ties = positive it always does.
/// With wrap, an extent of 2 has two parallel cables, as on Blue Gene/Q; without wrap it has one.
class Grid final : public RouterTopology<Grid> {
 public:
  explicit Grid(const GridParameters& parameters);

  [[nodiscard]] Bisection bisection() const override;
  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override;
  void channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const override;

  [[nodiscard]] std::uint32_t router_distance(Vertex r, Vertex s) const;
  void router_distances(const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* out) const;
  LinkId* write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const;
  /// Adds bytes to `change`, one number a link between routers, where runs of the route along a line begin, and takes
  /// them off where these end; returns the axes that the route goes along, a bit each.
  std::uint32_t add_runs(Vertex r, Vertex s, double bytes, double* change) const;
  /// Sums what add_runs() left along every line: the bytes over every link.
  void sum_runs(double* change) const;
  [[nodiscard]] Link router_link(LinkId id) const;
  [[nodiscard]] std::uint32_t router_link_class(LinkId id) const;
  void router_out_links(Vertex r, std::vector<LinkId>& out) const;
  [[nodiscard]] Estimate router_diameter() const;
  [[nodiscard]] Estimate router_mean_distance() const;

 private:
  struct Axis {
    Divider extent;
    std::uint32_t stride;
    bool wrap;
    LinkId first[2];     ///< id of the first link in the positive and in the negative direction
    LinkId count;        ///< links per direction
    std::uint32_t step;  ///< how far ids of parallel lines are apart: stride * links per line
  };
  struct Hop {
    std::size_t axis;
    int direction;        ///< 0 positive, 1 negative
    std::uint32_t lower;  ///< router at the lower end, or the sender where the dimension wraps
    std::uint32_t coordinate;
  };
  /// Links per line and direction.
  [[nodiscard]] static std::uint32_t line(const Axis& a) {
    const std::uint32_t e = a.extent.divisor();
    return e == 1 ? 0 : (a.wrap ? e : e - 1);
  }
  [[nodiscard]] Hop decode(LinkId id) const;
  /// Calls body(axis, direction, lower end of the line, coordinate of the first link, links) for the runs of a route:
  /// links of a line one after another, upwards in direction 0, downwards in direction 1.
  template <class Body>
  void for_runs(Vertex r, Vertex s, Body body) const;
  /// Is the sum of the ways ahead from r to s odd, in all dimensions?
  [[nodiscard]] bool odd_ahead(Vertex r, Vertex s) const;

  std::vector<Axis> axes_;
  bool balanced_;
};

extern template class RouterTopology<Grid>;

inline std::uint32_t Grid::router_distance(Vertex r, Vertex s) const {
  std::uint32_t sum = 0;
  for (const Axis& a : axes_) {
    const std::uint32_t e = a.extent.divisor();
    const std::uint32_t qr = a.extent.quotient(r);
    const std::uint32_t qs = a.extent.quotient(s);
    const std::uint32_t cr = r - qr * e;
    const std::uint32_t cs = s - qs * e;
    const std::uint32_t direct = cr > cs ? cr - cs : cs - cr;
    const std::uint32_t around = e - direct;
    sum += a.wrap && around < direct ? around : direct;
    r = qr;
    s = qs;
  }
  return sum;
}

}  // namespace isthmus::topology
