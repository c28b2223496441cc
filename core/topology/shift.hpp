// Networks whose vertices are words and whose links shift a letter in: Kautz and de Bruijn graphs.
#pragma once

#include <cstdint>
#include <vector>

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
  /// The letters of a router's word in fields of `bits_` bits, the last one lowest.
  [[nodiscard]] std::uint64_t word(Vertex r) const { return r < words_.size() ? words_[r] : spelled(r); }
  [[nodiscard]] std::uint64_t spelled(Vertex r) const;
  void spell_all();
  /// A word and one letter more.
  [[nodiscard]] std::uint64_t continued(std::uint64_t word, std::uint32_t code) const {
    return word << bits_ | (kautz_ && code >= letter(word, 0) ? code + 1 : code);
  }
  /// A letter of a word, counted from its end.
  [[nodiscard]] std::uint32_t letter(std::uint64_t word, std::uint32_t from_end) const {
    return static_cast<std::uint32_t>(word >> (from_end * bits_)) & ((1U << bits_) - 1);
  }
  /// Appending the letter that is coded `code` after the last one.
  [[nodiscard]] Vertex shifted(Vertex r, std::uint32_t code) const;
  /// Number of the link that appends `code`, loops not counted.
  [[nodiscard]] LinkId link_number(Vertex r, std::uint32_t code) const;

  bool kautz_;
  std::uint32_t degree_;
  std::uint32_t length_;
  std::uint32_t letters_;
  std::uint32_t bits_;                ///< of a letter; at most 62 of a word, as there are fewer than 2^32 words
  std::uint32_t tail_;                ///< degree^(length - 1): words that share a first letter
  std::uint64_t loop_period_ = 0;     ///< de Bruijn: every loop_period_-th numbered pair (router, code) is a loop
  std::vector<std::uint64_t> words_;  ///< of all routers, as searches ask for millions of distances; none of very many
};

extern template class RouterTopology<ShiftNetwork>;

}  // namespace isthmus::topology
