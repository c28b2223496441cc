// Networks whose vertices are words and whose links shift a letter in: Kautz and de Bruijn graphs.
#pragma once

#include "topology/router_topology.hpp"

namespace isthmus::topology {

struct ShiftParameters {
  std::string kind;                    ///< "kautz" or "debruijn"
  std::uint32_t degree;                ///< links out of every router (a constant de Bruijn word has one fewer)
  std::uint32_t length;                ///< letters of a word: the diameter
  std::uint32_t nodes_per_router = 0;  ///< 0: the router is inside the node
};

/// De Bruijn B(d, k): words of k letters out of d. Kautz K(d, k): words of k letters out of d + 1, no two neighbouring
/// letters equal: (d + 1) d^(k - 1) vertices, the most that are known for degree d and diameter k (Kautz 1968). A link
/// goes from every word to the words that drop its first letter and append one; loops are left out. Links are directed:
/// distances are not symmetric. Shift routing appends the letters of the destination beyond the longest suffix of the
/// source that is a prefix of the destination; the route is the only shortest one.
///
/// Ids: the word as a number, first letter highest; on a Kautz graph every letter after the first counts the letters
/// that may follow its predecessor.
class ShiftNetwork final : public RouterTopology<ShiftNetwork> {
 public:
  explicit ShiftNetwork(const ShiftParameters& parameters);

  [[nodiscard]] std::string label(Vertex vertex) const override;
  [[nodiscard]] std::uint32_t virtual_channels(Routing routing) const override;

  [[nodiscard]] std::uint32_t router_distance(Vertex r, Vertex s) const;
  LinkId* write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const;
  [[nodiscard]] Link router_link(LinkId id) const;
  [[nodiscard]] std::uint32_t router_link_class(LinkId /*id*/) const { return 0; }
  void router_out_links(Vertex r, std::vector<LinkId>& out) const;
  [[nodiscard]] Estimate router_diameter() const;

 private:
  /// The letters of a router's word as a number in base `letters_`.
  [[nodiscard]] std::uint64_t word(Vertex r) const;
  /// Appending the letter that is coded `code` after the last one.
  [[nodiscard]] Vertex shifted(Vertex r, std::uint32_t code) const;
  [[nodiscard]] std::uint32_t letter_at_end(Vertex r) const;
  /// Number of the link that appends `code`, loops not counted.
  [[nodiscard]] LinkId link_number(Vertex r, std::uint32_t code) const;

  bool kautz_;
  std::uint32_t degree_;
  std::uint32_t length_;
  std::uint32_t letters_;
  std::uint32_t tail_;                 ///< degree^(length - 1): words that share a first letter
  std::uint64_t loop_period_ = 0;      ///< de Bruijn: every loop_period_-th numbered pair (router, code) is a loop
  std::vector<std::uint64_t> powers_;  ///< letters_^i
};

extern template class RouterTopology<ShiftNetwork>;

}  // namespace isthmus::topology
