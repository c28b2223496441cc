// Complete connection in every dimension of a grid of routers: the whole of a HyperX, a group of a dragonfly.
#pragma once

#include <vector>

#include "base/divider.hpp"
#include "topology/topology.hpp"

namespace isthmus::topology {

/// Routers r of any number of equal blocks; r mod block size is the place in the block. In every dimension each router
/// has `parallel` links to each router of its block that differs in this coordinate alone. Links count from 0.
class AllToAll {
 public:
  AllToAll() = default;
  /// `parallel` empty: one link each. Throws InvalidInput, naming `kind`.
  AllToAll(const std::string& kind, const std::vector<std::uint32_t>& extents,
           const std::vector<std::uint32_t>& parallel, std::uint64_t blocks);

  [[nodiscard]] std::uint32_t block() const { return block_; }
  [[nodiscard]] std::uint64_t links() const { return links_; }
  [[nodiscard]] std::size_t dimensions() const { return axes_.size(); }
  [[nodiscard]] std::uint32_t extent(std::size_t d) const { return axes_[d].extent.divisor(); }
  [[nodiscard]] std::uint32_t parallel(std::size_t d) const { return axes_[d].parallel; }

  /// Coordinates in which two places of a block differ.
  [[nodiscard]] std::uint32_t distance(std::uint32_t i, std::uint32_t j) const {
    if (axes_.size() == 1) return i != j;
    std::uint32_t sum = 0;
    for (const Axis& a : axes_) {
      const std::uint32_t qi = a.extent.quotient(i);
      const std::uint32_t qj = a.extent.quotient(j);
      sum += i - qi * a.extent.divisor() != j - qj * a.extent.divisor();
      i = qi;
      j = qj;
    }
    return sum;
  }

  /// Dimension order, first dimension first, inside one block; `salt` chooses among parallel links.
  LinkId* write_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const;
  [[nodiscard]] Link link(LinkId id) const;
  [[nodiscard]] std::uint32_t dimension_of(LinkId id) const;
  void out_links(Vertex r, std::vector<LinkId>& out) const;

  /// The smallest staircase cut of one block, in links and in bandwidth (classes in the order of the dimensions). For
  /// equal dimensions (parallel and bandwidth) it is optimal (Lindsey, "Assignment of numbers to vertices", 1964).
  [[nodiscard]] Bisection bisection(const std::vector<LinkClass>& classes) const;
  [[nodiscard]] Spread spread(const std::vector<LinkClass>& classes) const;

 private:
  struct Axis {
    Divider extent;
    std::uint32_t stride;
    std::uint32_t parallel;
    LinkId first;
  };
  std::vector<Axis> axes_;
  std::uint32_t block_ = 1;
  std::uint64_t links_ = 0;
};

}  // namespace isthmus::topology
