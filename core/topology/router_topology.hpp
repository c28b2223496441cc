// The common part of all networks of routers with directly attached nodes: terminal links, vertex numbering, batches.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.hpp"
#include "base/divider.hpp"
#include "base/error.hpp"
#include "graph/bisect.hpp"
#include "graph/traversal.hpp"
#include "topology/topology.hpp"

namespace isthmus::topology {
using namespace graph;

/// Quotients of an array by one divisor.
void quotients(const Divider& divider, const std::uint32_t* numbers, std::size_t count, std::uint32_t* out);

/// Routers 0..R-1; the first `hosts` of them carry `concentration` nodes each (node = router * concentration + slot),
/// or, with concentration 0, every router is inside a node and vertex ids are router ids.
///
/// Link ids: node -> router [0, N), router -> node [N, 2N), then the links between routers; without terminal links the
/// links between routers start at 0. `Net` derives from this class and answers for routers, with static dispatch:
///   std::uint32_t router_distance(r, s), std::uint32_t router_route_length(r, s),
///   LinkId* write_router_route(r, s, salt, out)    links between routers numbered from 0
///   Link router_link(id), std::uint32_t router_link_class(id), void router_out_links(r, out)
/// `salt` spreads different pairs of nodes over parallel links.
template <class Net>
class RouterTopology : public Topology {
 public:
  void coordinates(Vertex node, std::span<std::uint32_t> out) const final {
    require_node(node);
    router_coordinates(router_of(node), out);
    if (terminals_ > 0) out[dimensions_.size() - 1] = slot_of(node);
  }

  [[nodiscard]] Vertex node_at(std::span<const std::uint32_t> c) const final {
    require_coordinates(c);
    std::size_t d = dimensions_.size() - (terminals_ > 0 ? 1 : 0);
    Vertex router = 0;
    while (d-- > 0) router = router * dimensions_[d].extent + c[d];
    return terminals_ > 0 ? router * concentration_.divisor() + c.back() : router;
  }

  /// "node 12 (1,2,0)", "router 6 (1,2)"; networks whose routers are not all hosts say more.
  [[nodiscard]] std::string label(Vertex vertex) const override {
    require_vertex(vertex);
    const bool node = vertex < nodes_;
    std::vector<std::uint32_t> c(dimensions_.size());
    if (node) coordinates(vertex, c);
    else router_coordinates(vertex - first_router_, c);
    if (!node) c.resize(c.size() - 1);
    return message(node ? "node " : "router ", node ? vertex : vertex - first_router_, tuple_text(c));
  }

  [[nodiscard]] Link link(LinkId id) const final {
    require_link(id);
    if (id < terminals_) {
      const bool up = id < nodes_;
      const Vertex node = up ? id : id - nodes_;
      const Vertex router = nodes_ + concentration_.quotient(node);
      return up ? Link{node, router} : Link{router, node};
    }
    const Link inner = net().router_link(id - terminals_);
    return {inner.from + first_router_, inner.to + first_router_};
  }

  [[nodiscard]] std::uint32_t link_class(LinkId id) const final {
    require_link(id);
    if (id < terminals_) return static_cast<std::uint32_t>(classes_.size()) - 1;
    return net().router_link_class(id - terminals_);
  }

  void out_links(Vertex vertex, std::vector<LinkId>& out) const final {
    require_vertex(vertex);
    if (vertex < first_router_) {
      out.push_back(vertex);
      return;
    }
    const Vertex router = vertex - first_router_;
    if (terminals_ > 0 && router < hosts_) {
      const Vertex p = concentration_.divisor();
      for (Vertex slot = 0; slot < p; ++slot) out.push_back(nodes_ + router * p + slot);
    }
    const std::size_t begin = out.size();
    net().router_out_links(router, out);
    for (std::size_t i = begin; i < out.size(); ++i) out[i] += terminals_;
  }

  [[nodiscard]] std::uint32_t distance(Vertex from, Vertex to) const final {
    require_vertex(from);
    require_vertex(to);
    return hops(from, to);
  }

  void distances(std::span<const Vertex> from, std::span<const Vertex> to, std::span<std::uint32_t> out) const final {
    in_blocks(from, to, out, [this](const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* d) {
      net().router_distances(r, s, count, d);
    });
  }

  [[nodiscard]] std::uint32_t route_length(Vertex from, Vertex to) const final {
    require_node(from);
    require_node(to);
    return node_route_length(from, to);
  }

  void route_lengths(std::span<const Vertex> from, std::span<const Vertex> to,
                     std::span<std::uint32_t> out) const final {
    in_blocks(from, to, out, [this](const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* d) {
      net().router_route_lengths(r, s, count, d);
    });
  }

  LinkId* write_route(Vertex from, Vertex to, LinkId* out) const final {
    require_node(from);
    require_node(to);
    return write(from, to, out);
  }

  void routes(std::span<const Vertex> from, std::span<const Vertex> to, std::span<const std::uint64_t> offsets,
              LinkId* out) const final {
    for_pairs(from, to, [&](std::size_t i, Vertex a, Vertex b) { write(a, b, out + offsets[i]); });
  }

  [[nodiscard]] bool has_valiant() const final { return true; }
  /// Through a router drawn uniformly from those that `valiant_router` of the network allows.
  void valiant_route(Vertex from, Vertex to, Rng& rng, std::vector<LinkId>& out) const final {
    require_node(from);
    require_node(to);
    if (from == to) return;
    const Vertex r = router_of(from);
    const Vertex s = router_of(to);
    const Vertex via = net().valiant_router(r, s, rng);
    if (terminals_ > 0) out.push_back(from);
    for (const auto& [a, b] : {std::pair{r, via}, std::pair{via, s}}) {
      const std::size_t begin = out.size();
      out.resize(begin + net().router_route_length(a, b));
      net().write_router_route(a, b, static_cast<std::uint32_t>(rng.next() >> 32), out.data() + begin);
      for (std::size_t i = begin; i < out.size(); ++i) out[i] += terminals_;
    }
    if (terminals_ > 0) out.push_back(nodes_ + to);
  }

  [[nodiscard]] Estimate diameter() const override {
    const Estimate inner = net().router_diameter();
    if (terminals_ == 0) return inner;
    return {nodes_ > 1 ? inner.value + 2 : 0, inner.exact};
  }

  [[nodiscard]] Estimate average_distance() const override {
    if (nodes_ < 2) return {0, true};
    const Estimate mean = net().router_mean_distance();  // over all ordered pairs of routers, equal ones too
    const double n = nodes_;
    const double terminal = terminals_ > 0 ? 2 : 0;
    return {mean.value * n / (n - 1) + terminal, mean.exact};
  }

  /// Default of the networks: the best cut found between routers.
  [[nodiscard]] Bisection bisection() const override {
    if (links_ - terminals_ > searchable_links) return with_terminals(cut_by_number(), {});
    std::vector<double> weights;
    const Csr graph = router_graph(&weights);
    const Cut cut = bisect(graph, weights, hosts_, bisection_starts(weights.size()), 1);
    return with_terminals({cut.edges, cut.weight, false}, {});
  }

  /// Default of the networks: breadth-first search between routers.
  [[nodiscard]] Estimate router_diameter() const {
    if (links_ - terminals_ > listable_links) {
      throw Unsupported(message(kind_, ": the diameter has no formula, and ", links_, " links are too many to search"));
    }
    const DistanceSample sample = sample_distances(router_graph(), net().router_representatives(), hosts_);
    return {static_cast<double>(sample.largest), sample.exact};
  }
  [[nodiscard]] Estimate router_mean_distance() const {
    if (links_ - terminals_ > listable_links) return {mean_of_pairs(), false};
    const DistanceSample sample = sample_distances(router_graph(), net().router_representatives(), hosts_);
    return {sample.mean, sample.exact};
  }
  /// The first so many routers see what all see, by symmetry.
  [[nodiscard]] std::uint32_t router_representatives() const { return hosts_; }
  /// Distances of up to `block` pairs of routers.
  void router_distances(const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* out) const {
    for (std::size_t i = 0; i < count; ++i) out[i] = net().router_distance(r[i], s[i]);
  }
  void router_route_lengths(const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* out) const {
    net().router_distances(r, s, count, out);
  }
  [[nodiscard]] std::uint32_t router_route_length(Vertex r, Vertex s) const { return net().router_distance(r, s); }
  [[nodiscard]] Vertex valiant_router(Vertex /*r*/, Vertex /*s*/, Rng& rng) const { return rng.below(hosts_); }

 protected:
  using Topology::Topology;

  /// Pairs that batches handle at a time: a few kilobytes, which stay in the first-level cache.
  static constexpr std::size_t block = 512;

  /// Sets the counts and appends the class "terminal" and the dimension "slot" where there are terminal links; classes
  /// and dimensions of the routers must be in place. Nodes sit on the first `hosts` of `routers` routers that have
  /// `router_links` links among them.
  void set_routers(std::uint64_t routers, std::uint64_t hosts, std::uint64_t concentration,
                   std::uint64_t router_links) {
    const std::uint64_t nodes = concentration == 0 ? routers : hosts * concentration;
    require(hosts <= std::numeric_limits<Vertex>::max(), kind_, ": ", hosts, " routers do not fit 32-bit ids");
    set_counts(nodes, concentration == 0 ? 0 : routers, router_links + (concentration == 0 ? 0 : 2 * nodes));
    hosts_ = static_cast<Vertex>(hosts);
    terminals_ = concentration == 0 ? 0 : 2 * nodes_;
    first_router_ = concentration == 0 ? 0 : nodes_;
    concentration_ = Divider(concentration == 0 ? 1 : static_cast<Vertex>(concentration));
    if (concentration > 0) {
      classes_.push_back({"terminal"});
      dimensions_.push_back({"slot", static_cast<std::uint32_t>(concentration)});
    }
  }

  /// The bisection of the nodes from `inner`, a cut that leaves floor(hosts / 2) of the routers with nodes on one side.
  /// Nodes stay with their router but for half of those of an odd one; cutting off half of the nodes at their terminal
  /// links is the alternative. Exact where no cut with k routers on one side and the other nodes cut off is smaller:
  /// by `spread` their links are at least a concave function of k, so the least k and the largest one decide.
  [[nodiscard]] Bisection with_terminals(const Bisection& inner, const Spread& spread) const {
    const double n = hosts_;
    const double m = hosts_ / 2;
    const double p = terminals_ > 0 ? concentration() : 0;
    const double split = hosts_ % 2 == 1 ? std::floor(p / 2) : 0;
    const auto value = [&](double cut, double terminal) {
      return terminals_ > 0 ? std::min(cut + split * terminal, nodes_ / 2 * terminal) : cut;
    };
    const auto bound = [&](double cut, double per_pair, double terminal) {
      const double largest = inner.exact ? cut : per_pair * m * (n - m);
      const double before = per_pair * (m - 1) * (n - m + 1) + p * terminal;
      return value(inner.exact && terminals_ > 0 && m > 0 ? std::min(largest, before) : largest, terminal);
    };
    const double terminal = terminals_ > 0 ? classes_.back().bandwidth : 0;
    const double links = value(static_cast<double>(inner.links), 1);
    const double bandwidth = value(inner.bandwidth, terminal);
    constexpr double rounding = 1e-9;
    const double least = std::ceil(bound(static_cast<double>(inner.links), spread.links, 1) * (1 - rounding));
    return {static_cast<std::uint64_t>(links), bandwidth,
            links <= least && bandwidth * (1 - rounding) <= bound(inner.bandwidth, spread.bandwidth, terminal)};
  }

  /// The links between routers: with `weights`, their bandwidths; without, parallel ones once.
  [[nodiscard]] Csr router_graph(std::vector<double>* weights = nullptr) const {
    Csr graph;
    graph.offsets.push_back(0);
    std::vector<LinkId> links;
    for (Vertex r = 0; r < routers(); ++r) {
      links.clear();
      net().router_out_links(r, links);
      for (const LinkId id : links) {
        const Vertex to = net().router_link(id).to;
        const bool repeated = graph.targets.size() > graph.offsets.back() && graph.targets.back() == to;
        if (repeated && weights == nullptr) continue;
        graph.targets.push_back(to);
        if (weights != nullptr) weights->push_back(classes_[net().router_link_class(id)].bandwidth);
      }
      graph.offsets.push_back(graph.targets.size());
    }
    return graph;
  }
  [[nodiscard]] const Net& net() const { return static_cast<const Net&>(*this); }
  [[nodiscard]] Vertex routers() const { return terminals_ > 0 ? switches_ : nodes_; }
  [[nodiscard]] Vertex hosts() const { return hosts_; }
  [[nodiscard]] bool has_terminals() const { return terminals_ > 0; }
  [[nodiscard]] std::uint32_t concentration() const { return concentration_.divisor(); }
  [[nodiscard]] LinkId first_router_link() const { return terminals_; }
  [[nodiscard]] Vertex router_of(Vertex vertex) const {
    return vertex < first_router_ ? concentration_.quotient(vertex) : vertex - first_router_;
  }
  [[nodiscard]] std::uint32_t slot_of(Vertex node) const { return concentration_.remainder(node); }

  [[nodiscard]] std::uint32_t remaining(Vertex at, Vertex to) const final {
    if (at == to) return 0;
    return net().router_route_length(router_of(at), router_of(to)) + (at < first_router_) + (to < first_router_);
  }

 private:
  /// Limits of a search: refined cuts up to some seconds, breadth-first search up to some hundred megabytes.
  static constexpr LinkId searchable_links = 2'000'000;
  static constexpr LinkId listable_links = 50'000'000;

  /// The cut between the lower and the upper half of the router numbers: what a large network gets instead of a search.
  [[nodiscard]] Bisection cut_by_number() const {
    constexpr LinkId most = 200'000'000;
    if (links_ - terminals_ > most || hosts_ != routers()) {
      throw Unsupported(message(kind_, ": the bisection has no formula, and ", links_,
                                " links are too many to search; try a smaller network of this kind"));
    }
    const Vertex half = hosts_ / 2;
    std::uint64_t there = 0;
    std::uint64_t back = 0;
    double there_bandwidth = 0;
    double back_bandwidth = 0;
    for (LinkId id = 0; id < links_ - terminals_; ++id) {
      const Link l = net().router_link(id);
      if ((l.from < half) == (l.to < half)) continue;
      const double bandwidth = classes_[net().router_link_class(id)].bandwidth;
      (l.from < half ? there : back) += 1;
      (l.from < half ? there_bandwidth : back_bandwidth) += bandwidth;
    }
    return {std::min(there, back), std::min(there_bandwidth, back_bandwidth), false};
  }

  /// Mean distance of a million evenly spaced pairs of routers.
  [[nodiscard]] double mean_of_pairs() const {
    constexpr std::uint64_t side = 1000;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < side; ++i) {
      for (std::uint64_t j = 0; j < side; ++j) {
        // The second grid is shifted, so that no pair is of one router.
        sum += net().router_distance(static_cast<Vertex>(i * hosts_ / side),
                                     static_cast<Vertex>((2 * j + 1) * hosts_ / (2 * side)));
      }
    }
    return static_cast<double>(sum) / static_cast<double>(side * side);
  }

  void router_coordinates(Vertex router, std::span<std::uint32_t> out) const {
    const std::size_t n = dimensions_.size() - (terminals_ > 0 ? 1 : 0);
    for (std::size_t d = 0; d < n; ++d) {
      out[d] = router % dimensions_[d].extent;
      router /= dimensions_[d].extent;
    }
  }
  [[nodiscard]] std::uint32_t hops(Vertex from, Vertex to) const {
    if (from == to) return 0;
    return net().router_distance(router_of(from), router_of(to)) + (from < first_router_) + (to < first_router_);
  }
  [[nodiscard]] std::uint32_t node_route_length(Vertex a, Vertex b) const {
    if (terminals_ == 0) return net().router_route_length(a, b);
    return a == b ? 0 : 2 + net().router_route_length(concentration_.quotient(a), concentration_.quotient(b));
  }

  LinkId* write(Vertex a, Vertex b, LinkId* out) const {
    if (a == b) return out;
    // Callers make room for as many links as the length says.
    [[maybe_unused]] const LinkId* begin = out;
    if (terminals_ == 0) {
      LinkId* end = net().write_router_route(a, b, a + b, out);
      ISTHMUS_ASSERT_HEAVY(static_cast<std::uint32_t>(end - begin) == node_route_length(a, b));
      return end;
    }
    *out++ = a;
    LinkId* end = net().write_router_route(concentration_.quotient(a), concentration_.quotient(b), a + b, out);
    for (; out != end; ++out) *out += terminals_;
    *end++ = nodes_ + b;
    ISTHMUS_ASSERT_HEAVY(static_cast<std::uint32_t>(end - begin) == node_route_length(a, b));
    return end;
  }

  /// Calls `kernel` for the routers of blocks of pairs and adds the terminal links: in blocks, whose loops compilers
  /// can turn into vector instructions.
  template <class Kernel>
  void in_blocks(std::span<const Vertex> from, std::span<const Vertex> to, std::span<std::uint32_t> out,
                 Kernel kernel) const {
    require(from.size() == to.size(), "pairs: ", from.size(), " sources but ", to.size(), " destinations");
    require(out.size() == from.size(), "room for ", out.size(), " results of ", from.size(), " pairs");
    Vertex r[block];
    Vertex s[block];
    for (std::size_t first = 0; first < from.size(); first += block) {
      const std::size_t count = std::min(block, from.size() - first);
      const Vertex* a = from.data() + first;
      const Vertex* b = to.data() + first;
      std::uint32_t* d = out.data() + first;
      Vertex largest = 0;
      for (std::size_t i = 0; i < count; ++i) largest = std::max({largest, a[i], b[i]});
      require_node(largest);
      if (terminals_ == 0) {
        kernel(a, b, count, d);
        continue;
      }
      quotients(concentration_, a, count, r);
      quotients(concentration_, b, count, s);
      kernel(r, s, count, d);
      for (std::size_t i = 0; i < count; ++i) d[i] = a[i] == b[i] ? 0 : d[i] + 2;
    }
  }

  template <class Body>
  void for_pairs(std::span<const Vertex> from, std::span<const Vertex> to, Body body) const {
    require(from.size() == to.size(), "pairs: ", from.size(), " sources but ", to.size(), " destinations");
    const Vertex n = nodes_;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Vertex a = from[i];
      const Vertex b = to[i];
      if (a >= n || b >= n) [[unlikely]] {
        require_node(a);
        require_node(b);
      }
      body(i, a, b);
    }
  }

  Vertex hosts_ = 0;
  Vertex first_router_ = 0;
  LinkId terminals_ = 0;
  Divider concentration_;
};

}  // namespace isthmus::topology
