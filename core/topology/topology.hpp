// The topology manager: what every predictor, mapper and tuner asks about an interconnect.
//
// Vertices are numbered nodes first, [0, nodes), then switches, [nodes, nodes + switches). Links are directed and
// numbered [0, links). Where a node contains its router (Blue Gene, a Kautz graph) there are no switches and no
// terminal links. Structured topologies store no tables of vertices or links: every answer is arithmetic on ids.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"

namespace isthmus::topology {

using Vertex = std::uint32_t;
using LinkId = std::uint32_t;

struct Link {
  Vertex from;
  Vertex to;
};

/// Links that share a bandwidth (bytes per second, one direction) and a latency (seconds to pass one link).
struct LinkClass {
  std::string name;
  double bandwidth = 1e9;
  double latency = 100e-9;
};

/// One coordinate of a node.
struct Dimension {
  std::string name;
  std::uint32_t extent;
};

/// A number that is either exact or the best bound or sample that is known.
struct Estimate {
  double value;
  bool exact;
};

/// The smallest cut that separates half of the nodes from the other half.
struct Bisection {
  std::uint64_t links;  ///< directed links from one half to the other
  double bandwidth;     ///< their summed bandwidth, bytes per second
  bool exact;           ///< false: an upper bound, the best of the cuts tried
};

/// What every cut of k of n routers has at least, over k (n - k): one over the most routes of uniform traffic that a
/// link carries, per link and per byte per second. 0 where nothing is known.
struct Spread {
  double links = 0;
  double bandwidth = 0;
};

/// Sets of routes that a router chooses from.
enum class Routing : std::uint8_t {
  minimal,  ///< the deterministic minimal route (dimension order, D-mod-k, group-minimal, shift, ...)
  random,   ///< one minimal route, uniformly at each hop among the links that lie on one
  valiant,  ///< minimal to a random intermediate, then minimal (Valiant 1982)
};

/// Name of a routing as users spell it; throws InvalidInput for an unknown one.
Routing routing_from(std::string_view name);

class Topology {
 public:
  virtual ~Topology() = default;

  [[nodiscard]] const std::string& kind() const { return kind_; }
  /// One-line specification that makes an equal topology (without link parameters).
  [[nodiscard]] const std::string& spec() const { return spec_; }
  [[nodiscard]] Vertex nodes() const { return nodes_; }
  [[nodiscard]] Vertex switches() const { return switches_; }
  [[nodiscard]] Vertex vertices() const { return nodes_ + switches_; }
  [[nodiscard]] LinkId links() const { return links_; }

  /// Coordinates of a node; the first varies fastest with the id, but for "slot", the place on a router, which is
  /// listed last and varies fastest of all.
  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }
  /// Writes the coordinates of `node`, dimensions().size() numbers.
  virtual void coordinates(Vertex node, std::span<std::uint32_t> out) const;
  /// The node at the coordinates; throws InvalidInput where there is none.
  [[nodiscard]] virtual Vertex node_at(std::span<const std::uint32_t> coordinates) const;
  /// The vertex in the words of its topology, such as "group 3 router 17".
  [[nodiscard]] virtual std::string label(Vertex vertex) const;

  [[nodiscard]] virtual Link link(LinkId id) const = 0;
  [[nodiscard]] virtual std::uint32_t link_class(LinkId id) const = 0;
  [[nodiscard]] const std::vector<LinkClass>& link_classes() const { return classes_; }
  [[nodiscard]] double bandwidth(LinkId id) const { return classes_[link_class(id)].bandwidth; }
  [[nodiscard]] double latency(LinkId id) const { return classes_[link_class(id)].latency; }
  /// Appends the ids of the links that leave `vertex`, ascending.
  virtual void out_links(Vertex vertex, std::vector<LinkId>& out) const = 0;

  /// Links on a shortest path from any vertex to a node: what breadth-first search finds.
  [[nodiscard]] virtual std::uint32_t distance(Vertex from, Vertex to) const = 0;
  /// distance() of many pairs of nodes, element by element.
  virtual void distances(std::span<const Vertex> from, std::span<const Vertex> to, std::span<std::uint32_t> out) const;
  /// Largest distance between two nodes.
  [[nodiscard]] virtual Estimate diameter() const;
  /// Mean distance over all ordered pairs of different nodes.
  [[nodiscard]] virtual Estimate average_distance() const;
  [[nodiscard]] virtual Bisection bisection() const;

  /// Writes the links of the deterministic minimal route from one node to another at `out`, which has room for
  /// route_length(from, to) ids; returns the end.
  virtual LinkId* write_route(Vertex from, Vertex to, LinkId* out) const = 0;
  /// Appends the deterministic minimal route to `out` (nothing if the nodes are the same).
  void route(Vertex from, Vertex to, std::vector<LinkId>& out) const;
  /// route_length() of many pairs, element by element.
  virtual void route_lengths(std::span<const Vertex> from, std::span<const Vertex> to,
                             std::span<std::uint32_t> out) const;
  /// Writes the route of pair i at `out + offsets[i]`.
  virtual void routes(std::span<const Vertex> from, std::span<const Vertex> to, std::span<const std::uint64_t> offsets,
                      LinkId* out) const;
  /// Links that route() and random minimal routes take between the nodes; differs from distance() only where the
  /// machine's minimal routing is not shortest-path (dragonfly: at most one global link).
  [[nodiscard]] virtual std::uint32_t route_length(Vertex from, Vertex to) const { return distance(from, to); }
  /// Appends the links out of `at` that continue a minimal route to the node `to`: the adaptive candidates of one hop.
  virtual void minimal_links(Vertex at, Vertex to, std::vector<LinkId>& out) const;
  /// Appends a random minimal route.
  virtual void random_route(Vertex from, Vertex to, Rng& rng, std::vector<LinkId>& out) const;
  /// Is there a valiant_route()?
  [[nodiscard]] virtual bool has_valiant() const { return false; }
  /// Appends a route through a random intermediate; throws Unsupported where the notion makes no sense.
  virtual void valiant_route(Vertex from, Vertex to, Rng& rng, std::vector<LinkId>& out) const;
  /// All minimal routes, each appended to `out` with its end offset in `offsets`, at most `limit` of them.
  void minimal_routes(Vertex from, Vertex to, std::size_t limit, std::vector<std::uint64_t>& offsets,
                      std::vector<LinkId>& out) const;

  /// Virtual channels that routing() needs to be free of deadlock; 0 where nothing is promised.
  [[nodiscard]] virtual std::uint32_t virtual_channels(Routing routing) const;
  /// The channel of every hop of a route made by `routing`. With these the channel dependency graph is acyclic
  /// (Dally and Seitz 1987). The default numbers hops, which is acyclic for any route.
  virtual void channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const;

  /// Sets bandwidth and latency of every class that `name` selects ("default": all; "x": x+ and x-); negative values
  /// leave the number as it is. Throws InvalidInput where nothing is selected. Only before the topology is shared.
  void set_links(const std::string& name, double bandwidth, double latency);

 protected:
  Topology(std::string kind) : kind_(std::move(kind)) {}
  Topology(const Topology&) = default;

  /// Sets the counts; throws InvalidInput where they do not fit the 32-bit ids.
  void set_counts(std::uint64_t nodes, std::uint64_t switches, std::uint64_t links);
  /// May `link` be on a minimal route to `to`, beyond shortening it?
  [[nodiscard]] virtual bool permits(LinkId link, Vertex to) const;
  /// Length of the minimal routing from any vertex (a switch too) to a node.
  [[nodiscard]] virtual std::uint32_t remaining(Vertex at, Vertex to) const { return distance(at, to); }
  /// " (1,2,3)", or nothing for fewer than two numbers.
  static std::string tuple_text(std::span<const std::uint32_t> numbers);
  void require_coordinates(std::span<const std::uint32_t> coordinates) const;
  /// Starts of a search for a small cut: many while they are cheap, a second or two in all.
  static int bisection_starts(std::size_t links);
  void require_node(Vertex node) const;
  void require_vertex(Vertex vertex) const;
  void require_link(LinkId link) const;

  std::string kind_;
  std::string spec_;
  Vertex nodes_ = 0;
  Vertex switches_ = 0;
  LinkId links_ = 0;
  std::vector<Dimension> dimensions_;
  std::vector<LinkClass> classes_;
};

}  // namespace isthmus::topology
