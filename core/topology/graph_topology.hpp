// Any network, from a list of its cables.
#pragma once

#include <memory>
#include <mutex>

#include "graph/traversal.hpp"
#include "topology/topology.hpp"

namespace isthmus::topology {
using namespace graph;

struct Cable {
  Vertex a;  ///< vertices: nodes first, then switches
  Vertex b;
  std::uint32_t link_class;  ///< index in `classes`
  std::uint32_t count = 1;   ///< cables between the two
};

struct GraphParameters {
  std::vector<std::string> nodes;
  std::vector<std::string> switches;
  std::vector<LinkClass> classes;
  std::vector<Cable> cables;  ///< undirected: two links each
};

/// Shortest paths by breadth-first search from the destination, whose result is kept for the destinations used last.
/// Nodes pass messages on only where the network has no switches. Of several next links on a shortest path the
/// deterministic route takes number (source + destination) modulo their count, as equal-cost multipath does.
class GraphTopology final : public Topology {
 public:
  /// Throws InvalidInput for a cable to itself or beyond the vertices, or two nodes that cannot reach each other.
  explicit GraphTopology(GraphParameters parameters);

  [[nodiscard]] std::string label(Vertex vertex) const override;
  [[nodiscard]] Link link(LinkId id) const override;
  [[nodiscard]] std::uint32_t link_class(LinkId id) const override;
  void out_links(Vertex vertex, std::vector<LinkId>& out) const override;
  [[nodiscard]] std::uint32_t distance(Vertex from, Vertex to) const override;
  void distances(std::span<const Vertex> from, std::span<const Vertex> to, std::span<std::uint32_t> out) const override;
  [[nodiscard]] Estimate diameter() const override;
  [[nodiscard]] Estimate average_distance() const override;
  LinkId* write_route(Vertex from, Vertex to, LinkId* out) const override;
  void routes(std::span<const Vertex> from, std::span<const Vertex> to, std::span<const std::uint64_t> offsets,
              LinkId* out) const override;
  void route_lengths(std::span<const Vertex> from, std::span<const Vertex> to,
                     std::span<std::uint32_t> out) const override;

  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override {
    return routing == Routing::valiant ? 0 : Topology::virtual_channels(routing);  // there is no Valiant routing
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// As they were given, from which the same network can be made again.
  [[nodiscard]] const std::vector<Cable>& cables() const { return cables_; }

 protected:
  [[nodiscard]] bool permits(LinkId link, Vertex to) const override;

 private:
  using Hops = std::vector<std::uint16_t>;
  /// May a path to the node `to` enter the vertex?
  [[nodiscard]] bool enters(Vertex vertex, Vertex to) const {
    return vertex >= nodes_ || vertex == to || nodes_forward_;
  }
  void require_connected() const;
  /// Hops from every vertex to the node.
  [[nodiscard]] std::shared_ptr<const Hops> hops_to(Vertex node) const;
  LinkId* walk(Vertex from, Vertex to, const Hops& hops, LinkId* out) const;
  /// Positions of the pairs sorted by destination, so that each destination is searched once.
  /// Calls visit(i, hops to to[i]) for all pairs, one destination after the other.
  template <class Visit>
  void by_destination(std::span<const Vertex> from, std::span<const Vertex> to, Visit visit) const;
  /// Largest and mean distance over all, or 1024 evenly spaced, destinations.
  struct Sample {
    std::uint32_t largest;
    double mean;
    bool exact;
  };
  [[nodiscard]] Sample sample() const;

  std::vector<std::string> names_;
  std::vector<Cable> cables_;
  Csr graph_;                 ///< both directions of every cable: link id = position
  std::vector<Vertex> from_;  ///< vertex that a link leaves
  std::vector<std::uint16_t> class_of_;
  bool nodes_forward_;

  struct Cache {
    std::mutex mutex;
    std::vector<std::pair<Vertex, std::shared_ptr<const Hops>>> entries;
    std::vector<std::uint32_t> slot_of;  ///< entry of a node, or none
    std::size_t next = 0;
    std::size_t capacity = 1;
  };
  std::shared_ptr<Cache> cache_;
};

}  // namespace isthmus::topology
