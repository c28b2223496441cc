#include "topology/dragonfly_plus.hpp"

#include <algorithm>
#include <cmath>

namespace isthmus::topology {

DragonflyPlus::DragonflyPlus(const DragonflyPlusParameters& p) : RouterTopology("dragonfly+") {
  require(p.leaves >= 1 && p.spines >= 1, kind_, ": leaves = ", p.leaves, ", spines = ", p.spines,
          "; each must be at least 1");
  require(p.nodes_per_leaf >= 1, kind_, ": p = 0; leaves carry at least one node");
  leaves_ = Divider(p.leaves);
  spines_ = Divider(p.spines);
  global_ = GlobalLinks(kind_, p.arrangement, p.groups, p.spines, p.global_ports, p.links_per_pair);
  const std::uint64_t leaves = static_cast<std::uint64_t>(p.groups) * p.leaves;
  const std::uint64_t cables = leaves * p.spines;
  require(2 * cables < (std::uint64_t{1} << 32), kind_, ": more than 2^32 links");
  first_down_ = static_cast<LinkId>(cables);
  first_global_ = static_cast<LinkId>(2 * cables);
  dimensions_ = {{"leaf", p.leaves}, {"group", p.groups}};
  classes_ = {{"local"}, {"global"}};
  set_routers(leaves + static_cast<std::uint64_t>(p.groups) * p.spines, leaves, p.nodes_per_leaf,
              2 * cables + static_cast<std::uint64_t>(p.groups) * global_.ports());
  spec_ = message("dragonfly+:leaves=", p.leaves, ",spines=", p.spines, ",p=", p.nodes_per_leaf, ",h=", p.global_ports,
                  ",g=", p.groups, p.arrangement == Arrangement::absolute ? "" : ",arrangement=relative",
                  p.links_per_pair ? message(",links=", p.links_per_pair) : "");
}

std::string DragonflyPlus::label(Vertex vertex) const {
  if (vertex < nodes_) return RouterTopology::label(vertex);
  require_vertex(vertex);
  const Vertex r = vertex - nodes_;
  const std::uint32_t index = is_leaf(r) ? leaves_.remainder(r) : spines_.remainder(r - hosts());
  return message(is_leaf(r) ? "leaf " : "spine ", index, " of group ", group_of(r));
}

bool DragonflyPlus::linked(Vertex spine_id, std::uint32_t group) const {
  const std::uint32_t own = group_of(spine_id);
  const auto copies = global_.copies_on(spines_.remainder(spine_id - hosts()), global_.slot(own, group));
  return copies.first < copies.last;
}

std::uint32_t DragonflyPlus::router_distance(Vertex r, Vertex leaf) const {
  const std::uint32_t to = group_of(leaf);
  if (r == leaf) return 0;
  if (is_leaf(r)) return group_of(r) == to ? 2 : 3;
  if (group_of(r) == to) return 1;
  if (linked(r, to)) return 2;
  // A spine without a link to the group: by way of a spine of a third group, or down to a leaf and up again.
  std::vector<LinkId> links;
  router_out_links(r, links);
  for (const LinkId id : links) {
    if (id >= first_global_ && linked(router_link(id).to, to)) return 3;
  }
  return 4;
}

LinkId* DragonflyPlus::write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const {
  if (r == s) return out;
  const std::uint32_t from = group_of(r);
  const std::uint32_t to = group_of(s);
  if (from == to) {
    const std::uint32_t via = salt % spines_.divisor();
    *out++ = up(r, via);
    *out++ = down(spine(from, via), leaves_.remainder(s));
    return out;
  }
  const std::uint32_t copy = salt % global_.copies();
  const std::uint32_t port = global_.port(global_.slot(from, to), copy);
  const std::uint32_t peer = global_.port(global_.slot(to, from), copy);
  *out++ = up(r, global_.carrier(port));
  *out++ = first_global_ + from * global_.ports() + port;
  *out++ = down(spine(to, global_.carrier(peer)), leaves_.remainder(s));
  return out;
}

Link DragonflyPlus::router_link(LinkId id) const {
  if (id < first_down_) {
    const Vertex leaf = spines_.quotient(id);
    return {leaf, spine(group_of(leaf), spines_.remainder(id))};
  }
  if (id < first_global_) {
    const Vertex from = hosts() + leaves_.quotient(id - first_down_);
    return {from, group_of(from) * leaves_.divisor() + leaves_.remainder(id - first_down_)};
  }
  const std::uint32_t group = (id - first_global_) / global_.ports();
  const std::uint32_t port = (id - first_global_) % global_.ports();
  const std::uint32_t other = global_.target(group, global_.slot_of(port));
  return {spine(group, global_.carrier(port)), spine(other, global_.carrier(global_.peer_port(group, port)))};
}

void DragonflyPlus::router_out_links(Vertex r, std::vector<LinkId>& out) const {
  if (is_leaf(r)) {
    for (std::uint32_t i = 0; i < spines_.divisor(); ++i) out.push_back(up(r, i));
    return;
  }
  for (std::uint32_t i = 0; i < leaves_.divisor(); ++i) out.push_back(down(r, i));
  if (global_.groups() == 1) return;
  const std::uint32_t carrier = spines_.remainder(r - hosts());
  const std::uint32_t end = global_.first_port(carrier + 1);
  for (std::uint32_t port = global_.first_port(carrier); port < end; ++port) {
    out.push_back(first_global_ + group_of(r) * global_.ports() + port);
  }
}

Vertex DragonflyPlus::valiant_router(Vertex r, Vertex s, Rng& rng) const {
  const std::uint32_t groups = global_.groups();
  const std::uint32_t low = std::min(group_of(r), group_of(s));
  const std::uint32_t high = std::max(group_of(r), group_of(s));
  if (groups <= 2) return rng.below(hosts());
  std::uint32_t group = rng.below(groups - (low == high ? 1 : 2));
  group += group >= low;
  if (low != high) group += group >= high;
  return group * leaves_.divisor() + rng.below(leaves_.divisor());
}

Estimate DragonflyPlus::router_diameter() const {
  return {global_.groups() > 1 ? 3.0 : leaves_.divisor() > 1 ? 2.0 : 0.0, true};
}

Estimate DragonflyPlus::router_mean_distance() const {
  const double leaves = hosts();
  const double same = leaves_.divisor();
  return {(2 * (same - 1) + 3 * (leaves - same)) / leaves, true};
}

Bisection DragonflyPlus::bisection() const {
  if (links_ <= 100'000) return RouterTopology::bisection();
  const double groups = global_.groups();
  const double across = global_.copies() * std::floor(groups / 2) * std::ceil(groups / 2);
  Bisection out{static_cast<std::uint64_t>(across), across * classes_[1].bandwidth, false};
  if (global_.groups() % 2 == 1) {
    // The middle group: half of its leaves are cut off all its spines.
    const double inside = std::floor(leaves_.divisor() / 2.0) * spines_.divisor();
    out.links += static_cast<std::uint64_t>(inside);
    out.bandwidth += inside * classes_[0].bandwidth;
  }
  return with_terminals(out, {});
}

std::uint32_t DragonflyPlus::virtual_channels(Routing routing) const {
  return routing == Routing::minimal ? 1 : Topology::virtual_channels(routing);
}

void DragonflyPlus::channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const {
  if (routing != Routing::minimal) return Topology::channels(routing, route, out);
  std::fill(out.begin(), out.end(), std::uint8_t{0});  // up, across, down: never back up
}

template class RouterTopology<DragonflyPlus>;

}  // namespace isthmus::topology
