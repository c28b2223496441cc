#include "runtime/reorder/network.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "topology/grid.hpp"

namespace isthmus::runtime {
namespace {

using topology::Link;
using topology::LinkId;
using topology::Vertex;

/// Nodes of which nothing is known but the hops between them.
class TableOfHops final : public topology::Topology {
 public:
  /// `ranks`: one of each node.
  TableOfHops(const Places& places, std::vector<std::uint32_t> ranks)
      : Topology("table of hops"), places_(places), ranks_(std::move(ranks)) {
    set_counts(ranks_.size(), 0, 0);
    spec_ = kind_;
  }

  [[nodiscard]] std::uint32_t distance(Vertex from, Vertex to) const override {
    return places_.hops(ranks_[from], ranks_[to]);
  }
  void out_links(Vertex, std::vector<LinkId>&) const override {}
  [[nodiscard]] Link link(LinkId) const override { throw unknown(); }
  [[nodiscard]] std::uint32_t link_class(LinkId) const override { throw unknown(); }
  LinkId* write_route(Vertex, Vertex, LinkId*) const override { throw unknown(); }

 private:
  static Unsupported unknown() { return Unsupported("the file of places says hops, not links"); }

  const Places& places_;
  std::vector<std::uint32_t> ranks_;
};

Network grid_of(const Places& places, std::span<const std::uint32_t> ranks) {
  topology::GridParameters parameters;
  for (const PlaceDimension& d : places.dimensions()) {
    parameters.dims.push_back(d.ring > 0 ? d.ring : d.extent);
    parameters.wrap.push_back(d.ring > 0);
  }
  Network out{std::make_unique<topology::Grid>(parameters), {}};
  for (const std::uint32_t rank : ranks) out.vertex.push_back(out.topology->node_at(places.coordinates(rank)));
  return out;
}

Network table_of(const Places& places, std::span<const std::uint32_t> ranks) {
  std::map<std::uint32_t, std::uint32_t> rank_of;  // of a node
  for (const std::uint32_t rank : ranks) rank_of.emplace(places.node(rank), rank);
  std::map<std::uint32_t, Vertex> vertex_of;
  std::vector<std::uint32_t> representatives;
  for (const auto& [node, rank] : rank_of) {
    vertex_of.emplace(node, static_cast<Vertex>(representatives.size()));
    representatives.push_back(rank);
  }
  Network out{std::make_unique<TableOfHops>(places, std::move(representatives)), {}};
  for (const std::uint32_t rank : ranks) out.vertex.push_back(vertex_of.at(places.node(rank)));
  return out;
}

}  // namespace

Network network_of(const Places& places, std::span<const std::uint32_t> ranks) {
  return places.grid() && !places.dimensions().empty() ? grid_of(places, ranks) : table_of(places, ranks);
}

}  // namespace isthmus::runtime
