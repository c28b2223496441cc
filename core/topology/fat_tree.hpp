// Trees and fat trees: extended generalised fat trees with parallel cables.
#pragma once

#include "base/divider.hpp"
#include "topology/topology.hpp"

namespace isthmus::topology {

struct FatTreeParameters {
  std::string kind = "xgft";                 ///< how the user called it: tree, fattree, clos2, clos3, xgft
  std::string spec = {};                     ///< empty: written as xgft
  std::vector<std::uint32_t> children;       ///< m: children of a switch of level 1 .. h
  std::vector<std::uint32_t> parents;        ///< w: parents of a vertex of level 0 .. h - 1
  std::vector<std::uint32_t> parallel = {};  ///< cables between child and parent per level; empty: 1
};

/// XGFT(h; m; w) (Oehring, Ibel, Das and Kumar, "On generalized fat trees", IPPS 1995), with parallel cables as in PGFT
/// (Zahavi, "Fat-tree routing and node ordering providing contention free traffic for MPI global collectives", 2012).
/// Nodes are level 0. Up to the nearest common ancestor, then down; the deterministic up route is D-mod-k: at level l
/// port floor(destination / (w1 ... wl)) mod (w(l+1) p(l+1)).
class FatTree final : public Topology {
 public:
  explicit FatTree(const FatTreeParameters& parameters);

  [[nodiscard]] std::string label(Vertex vertex) const override;
  [[nodiscard]] Link link(LinkId id) const override;
  [[nodiscard]] std::uint32_t link_class(LinkId id) const override;
  void out_links(Vertex vertex, std::vector<LinkId>& out) const override;
  [[nodiscard]] std::uint32_t distance(Vertex from, Vertex to) const override;
  void distances(std::span<const Vertex> from, std::span<const Vertex> to, std::span<std::uint32_t> out) const override;
  [[nodiscard]] Estimate diameter() const override;
  [[nodiscard]] Estimate average_distance() const override;
  [[nodiscard]] Bisection bisection() const override;
  LinkId* write_route(Vertex from, Vertex to, LinkId* out) const override;
  /// Up to a random root, then down: more than the nearest common ancestor asks for, which spreads all traffic evenly.
  [[nodiscard]] bool has_valiant() const override { return true; }
  void valiant_route(Vertex from, Vertex to, Rng& rng, std::vector<LinkId>& out) const override;
  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override;
  void channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const override;

  /// Levels of switches.
  [[nodiscard]] std::size_t levels() const { return levels_.size() - 1; }
  /// Bandwidth into the switches of a level from below over bandwidth out of them to above, 1 at the top.
  [[nodiscard]] double oversubscription(std::size_t level) const;

 private:
  struct Level {
    std::uint32_t children;  ///< m of this level, 0 for nodes
    std::uint32_t parents;   ///< w of this level: parents of a vertex of the level below
    std::uint32_t parallel;
    Divider below;       ///< nodes under one vertex of this level: m1 ... ml
    std::uint32_t ways;  ///< w1 ... wl: vertices of this level that share their nodes
    Vertex first;        ///< vertex id of the level's first vertex
    std::uint32_t count;
    LinkId first_up;    ///< links from the level below up to this one
    LinkId first_down;  ///< and back
    LinkId cables;
  };
  /// A vertex as its level and its number on the level: (nodes above below) * ways + way.
  struct Place {
    std::size_t level;
    std::uint32_t index;
  };
  [[nodiscard]] Place place(Vertex vertex) const;
  [[nodiscard]] LinkId up(std::size_t level, std::uint32_t child_index, std::uint32_t port) const;
  [[nodiscard]] LinkId down(std::size_t level, std::uint32_t index, std::uint32_t child, std::uint32_t copy) const;
  [[nodiscard]] std::uint32_t parent_index(std::size_t level, std::uint32_t child_index, std::uint32_t parent) const;
  [[nodiscard]] std::uint32_t common_level(Vertex a, Vertex b) const {
    std::uint32_t level = 0;
    while (levels_[level].below.quotient(a) != levels_[level].below.quotient(b)) ++level;
    return level;
  }
  LinkId* descend(std::size_t level, std::uint32_t index, Vertex to, LinkId* out) const;

  std::vector<Level> levels_;
};

}  // namespace isthmus::topology
