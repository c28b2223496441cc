#include "topology/dragonfly.hpp"

#include <algorithm>

#include "base/vector.hpp"
#include "topology/explicit_graph.hpp"
#include "topology/spec_text.hpp"

namespace isthmus::topology {

Dragonfly::Dragonfly(const DragonflyParameters& p)
    : RouterTopology("dragonfly"), local_("dragonfly", p.routers, p.parallel, p.groups) {
  const std::uint32_t a = local_.block();
  group_size_ = Divider(a);
  global_ = GlobalLinks(kind_, p.arrangement, p.groups, a, p.global_ports, p.links_per_pair);
  static const std::vector<std::string> group_names = {"router"};
  static const std::vector<std::string> cabinet_names = {"slot_in_chassis", "chassis"};
  for (std::size_t d = 0; d < p.routers.size(); ++d) {
    const bool cabinet = p.routers.size() == 2;
    dimensions_.push_back({flat() ? group_names[0] : cabinet ? cabinet_names[d] : message("router", d), p.routers[d]});
    classes_.push_back({flat() ? "local" : message("local", d)});
  }
  dimensions_.push_back({"group", p.groups});
  classes_.push_back({"global"});
  const std::uint64_t routers = static_cast<std::uint64_t>(a) * p.groups;
  first_global_ = static_cast<LinkId>(local_.links());
  set_routers(routers, routers, p.nodes_per_router,
              local_.links() + static_cast<std::uint64_t>(p.groups) * global_.ports());
  spec_ = message("dragonfly:a=", joined(p.routers), ",p=", p.nodes_per_router, ",h=", p.global_ports, ",g=", p.groups,
                  p.arrangement == Arrangement::absolute ? "" : ",arrangement=relative",
                  p.links_per_pair ? message(",links=", p.links_per_pair) : "",
                  p.parallel.empty() ? "" : ",parallel=" + joined(p.parallel));
  if (p.groups > 1 && (!flat() || global_.copies() > 1)) nearest_ = NearestLinks(local_, global_);
  // Up to 256 MiB of tables, filled in seconds; larger groups than were ever built are searched instead.
  const std::uint64_t entries = static_cast<std::uint64_t>(p.groups) * a * a * ((global_.copies() + 63) / 64);
  if (!flat() && p.arrangement == Arrangement::relative && entries <= (std::uint64_t{1} << 27)) tabulate();
}

std::string Dragonfly::label(Vertex vertex) const {
  require_vertex(vertex);
  const Place at = place(router_of(vertex));
  const bool node = vertex < nodes_;
  std::string out = message(node ? "node " : "router ", node ? vertex : vertex - nodes_, " (group ", at.group);
  if (local_.dimensions() == 2) {
    const std::uint32_t row = local_.extent(0);
    out += message(", chassis ", at.local / row, ", slot ", at.local % row);
  } else {
    out += message(", router ", at.local);
  }
  if (node && has_terminals()) out += message(", node ", slot_of(vertex));
  return out + ")";
}

std::uint32_t Dragonfly::between_groups(Place r, Place s) const {
  if (!length_table_.empty()) {
    const std::uint32_t difference = s.group >= r.group ? s.group - r.group : s.group + global_.groups() - r.group;
    return length_table_[(static_cast<std::size_t>(difference) * local_.block() + r.local) * local_.block() + s.local];
  }
  const std::uint32_t out_slot = global_.slot(r.group, s.group);
  const std::uint32_t in_slot = global_.slot(s.group, r.group);
  if (flat()) {
    if (global_.copies() == 1) {
      return 1U + (global_.carrier(out_slot) != r.local) + (global_.carrier(in_slot) != s.local);
    }
    const auto from = global_.copies_on(r.local, out_slot);
    const auto to = global_.copies_on(s.local, in_slot);
    if (std::max(from.first, to.first) < std::min(from.last, to.last)) return 1;
    return from.first < from.last || to.first < to.last ? 2 : 3;
  }
  return nearest_.length({r.local, out_slot}, {s.local, in_slot});
}

namespace {

// Distances of many pairs in groups that are complete graphs with single links between them, in passes that compilers
// turn into vector instructions.

/// Groups and places in them.
ISTHMUS_VECTOR_CLONES
void split(const Divider& size, const Vertex* r, std::size_t count, std::uint32_t* group, std::uint32_t* place) {
  const Divider divider = size;
  const std::uint32_t a = divider.divisor();
  for (std::size_t k = 0; k < count; ++k) {
    group[k] = divider.lane_quotient(r[k]);
    place[k] = r[k] - group[k] * a;
  }
}

/// Does the message leave (or enter) its group at another router? 1 or 0.
ISTHMUS_VECTOR_CLONES
void away(const GlobalLinks& global, const std::uint32_t* group, const std::uint32_t* other, const std::uint32_t* place,
          std::size_t count, std::uint32_t* out) {
  const bool absolute = global.arrangement() == Arrangement::absolute;
  const std::uint32_t groups = absolute ? 0 : global.groups();
  const std::uint32_t behind = absolute ? 0 : 1;
  const Divider ports = global.port_divider();
  const std::uint32_t carriers = global.carriers();
  for (std::size_t k = 0; k < count; ++k) {
    // GlobalLinks::slot() without its branches; the slot to the own group is meaningless and not used.
    const std::uint32_t greater = other[k] > group[k] ? 1 : 0;
    const std::uint32_t relative = other[k] - group[k] - 1 + (1 - greater) * groups;
    const std::uint32_t slot = behind * relative + (1 - behind) * (other[k] - greater);
    out[k] = ports.lane_quotient(slot * carriers) != place[k] ? 1 : 0;
  }
}

/// Local-global-local distances; `near` marks the pairs for which two global links may be shorter.
ISTHMUS_VECTOR_CLONES
void combine(const GlobalLinks& global, std::uint32_t group_size, const std::uint32_t* g, const std::uint32_t* h,
             const std::uint32_t* i, const std::uint32_t* j, const std::uint32_t* leave, const std::uint32_t* enter,
             std::size_t count, std::uint32_t* __restrict out, std::uint32_t* __restrict near) {
  // r and s must each have a link to the same router x of a third group. Then x's slots to their groups are at most one
  // carrier's ports apart, and so are, by the arrangement, their own slots to that group. Few pairs pass.
  const bool absolute = global.arrangement() == Arrangement::absolute;
  const std::uint32_t ports = global.most_ports();
  const std::uint32_t slack = global.carriers_between() + (absolute ? 0 : 2);
  const std::uint32_t group_ring = absolute ? ~0U : global.groups();
  const std::uint32_t place_ring = absolute ? ~0U : group_size;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t apart = std::max(g[k], h[k]) - std::min(g[k], h[k]);
    const std::uint32_t shift = std::max(i[k], j[k]) - std::min(i[k], j[k]);
    const std::uint32_t close_groups = std::min(apart, group_ring - apart) <= ports ? 1 : 0;
    const std::uint32_t close_places = std::min(shift, place_ring - shift) <= slack ? 1 : 0;
    const std::uint32_t inside = shift != 0 ? 1 : 0;
    const std::uint32_t outside = 1 + leave[k] + enter[k];
    out[k] = apart == 0 ? inside : outside;
    near[k] = close_groups & close_places & leave[k] & enter[k] & (apart == 0 ? 0U : 1U);
  }
}

}  // namespace

void Dragonfly::router_distances(const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* out) const {
  const bool tabulated = !distance_table_.empty();
  if (!tabulated && (!flat() || global_.copies() != 1)) return RouterTopology::router_distances(r, s, count, out);
  std::uint32_t g[block], h[block], i[block], j[block], leave[block], enter[block], near[block];
  split(group_size_, r, count, g, i);
  split(group_size_, s, count, h, j);
  if (tabulated) {
    const std::uint8_t* table = distance_table_.data();
    const std::size_t a = local_.block();
    const std::uint32_t groups = global_.groups();
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t difference = h[k] - g[k] + (h[k] >= g[k] ? 0 : groups);
      out[k] = table[(difference * a + i[k]) * a + j[k]];
    }
    return;
  }
  away(global_, g, h, i, count, leave);
  away(global_, h, g, j, count, enter);
  combine(global_, local_.block(), g, h, i, j, leave, enter, count, out, near);
  for (std::size_t k = 0; k < count; ++k) {
    if (near[k] && two_global_hops({g[k], i[k]}, {h[k], j[k]})) out[k] = 2;
  }
}

bool Dragonfly::two_global_hops(Place r, Place s) const {
  const std::uint32_t end = global_.first_port(r.local + 1);
  for (std::uint32_t port = global_.first_port(r.local); port < end; ++port) {
    const std::uint32_t k = global_.target(r.group, global_.slot_of(port));
    if (k == s.group) continue;
    const std::uint32_t x = global_.carrier(global_.peer_port(r.group, port));
    const auto from = global_.copies_on(x, global_.slot(k, s.group));
    const auto to = global_.copies_on(s.local, global_.slot(s.group, k));
    if (std::max(from.first, to.first) < std::min(from.last, to.last)) return true;
  }
  return false;
}

std::uint32_t Dragonfly::router_route_length(Vertex r, Vertex s) const {
  const Place from = place(r);
  const Place to = place(s);
  return from.group == to.group ? local_.distance(from.local, to.local) : between_groups(from, to);
}

std::uint32_t Dragonfly::router_distance(Vertex r, Vertex s) const {
  const Place from = place(r);
  const Place to = place(s);
  if (from.group == to.group) return local_.distance(from.local, to.local);
  if (!distance_table_.empty()) {
    const std::uint32_t difference =
        to.group >= from.group ? to.group - from.group : to.group + global_.groups() - from.group;
    return distance_table_[(static_cast<std::size_t>(difference) * local_.block() + from.local) * local_.block() +
                           to.local];
  }
  const std::uint32_t length = between_groups(from, to);
  // Two links by way of a third group are all that can beat local-global-local in a flat group.
  if (flat()) return length == 3 && two_global_hops(from, to) ? 2 : length;
  return length > 2 ? searched_distance(r, s, length) : length;
}

std::uint32_t Dragonfly::searched_distance(Vertex r, Vertex s, std::uint32_t bound) const {
  // Breadth first to less than `bound`, which the minimal route reaches.
  std::vector<std::uint8_t> seen(routers(), 0);
  std::vector<Vertex> frontier{r};
  std::vector<Vertex> next;
  std::vector<LinkId> links;
  seen[r] = 1;
  for (std::uint32_t depth = 1; depth < bound; ++depth) {
    next.clear();
    for (const Vertex v : frontier) {
      links.clear();
      router_out_links(v, links);
      for (const LinkId id : links) {
        const Vertex w = router_link(id).to;
        if (w == s) return depth;
        if (seen[w]) continue;
        seen[w] = 1;
        next.push_back(w);
      }
    }
    frontier.swap(next);
  }
  return bound;
}

void Dragonfly::tabulate() {
  const std::uint32_t a = local_.block();
  const std::uint32_t groups = global_.groups();
  std::vector<std::uint8_t> lengths(static_cast<std::size_t>(groups) * a * a);
  for (std::uint32_t g = 1; g < groups; ++g) {
    for (std::uint32_t i = 0; i < a; ++i) {
      for (std::uint32_t j = 0; j < a; ++j) {
        lengths[(static_cast<std::size_t>(g) * a + i) * a + j] =
            static_cast<std::uint8_t>(between_groups({0, i}, {g, j}));
      }
    }
  }
  // Distances by search from the routers of group 0.
  const Csr graph = router_graph();
  distance_table_.resize(lengths.size());
  std::vector<std::uint32_t> hops(routers());
  std::vector<std::uint32_t> queue;
  for (std::uint32_t i = 0; i < a; ++i) {
    breadth_first(graph, i, hops, queue);
    for (Vertex s = 0; s < routers(); ++s) {
      const Place to = place(s);
      distance_table_[(static_cast<std::size_t>(to.group) * a + i) * a + to.local] = static_cast<std::uint8_t>(hops[s]);
    }
  }
  length_table_ = std::move(lengths);
}

LinkId* Dragonfly::write_router_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const {
  const Place from = place(r);
  const Place to = place(s);
  if (from.group == to.group) return local_.write_route(r, s, salt, out);
  const std::uint32_t out_slot = global_.slot(from.group, to.group);
  const std::uint32_t in_slot = global_.slot(to.group, from.group);
  // The salt picks among the nearest links.
  const std::uint32_t chosen = global_.copies() == 1 ? 0
                                                     : nearest_.choose({from.local, out_slot}, {to.local, in_slot},
                                                                       between_groups(from, to), salt);
  const std::uint32_t a = local_.block();
  const std::uint32_t port = global_.port(out_slot, chosen);
  const Vertex exit = from.group * a + global_.carrier(port);
  const Vertex entry = to.group * a + global_.carrier(global_.port(in_slot, chosen));
  out = local_.write_route(r, exit, salt, out);
  *out++ = first_global_ + from.group * global_.ports() + port;
  return local_.write_route(entry, s, salt, out);
}

Link Dragonfly::router_link(LinkId id) const {
  if (id < first_global_) return local_.link(id);
  const std::uint32_t index = id - first_global_;
  const std::uint32_t group = index / global_.ports();
  const std::uint32_t port = index % global_.ports();
  const std::uint32_t other = global_.target(group, global_.slot_of(port));
  const std::uint32_t a = local_.block();
  return {group * a + global_.carrier(port), other * a + global_.carrier(global_.peer_port(group, port))};
}

std::uint32_t Dragonfly::router_link_class(LinkId id) const {
  return id < first_global_ ? local_.dimension_of(id) : static_cast<std::uint32_t>(local_.dimensions());
}

void Dragonfly::router_out_links(Vertex r, std::vector<LinkId>& out) const {
  local_.out_links(r, out);
  if (global_.groups() == 1) return;
  const Place at = place(r);
  const std::uint32_t end = global_.first_port(at.local + 1);
  for (std::uint32_t port = global_.first_port(at.local); port < end; ++port) {
    out.push_back(first_global_ + at.group * global_.ports() + port);
  }
}

bool Dragonfly::permits(LinkId id, Vertex to) const {
  const LinkId first = first_router_link() + first_global_;
  if (id < first) return true;
  const std::uint32_t group = (id - first) / global_.ports();
  const std::uint32_t port = (id - first) % global_.ports();
  return global_.target(group, global_.slot_of(port)) == place(router_of(to)).group;
}

void Dragonfly::random_route(Vertex from, Vertex to, Rng& rng, std::vector<LinkId>& out) const {
  // With one link between two routers and one between two groups there is nothing to choose.
  if (flat() && local_.parallel(0) == 1 && global_.copies() == 1) route(from, to, out);
  else Topology::random_route(from, to, rng, out);
}

Vertex Dragonfly::valiant_router(Vertex r, Vertex s, Rng& rng) const {
  // A third group spreads the load over the global links, which is the point (Kim et al., section 4.1).
  const std::uint32_t groups = global_.groups();
  const std::uint32_t low = std::min(place(r).group, place(s).group);
  const std::uint32_t high = std::max(place(r).group, place(s).group);
  if (groups <= 2) return rng.below(routers());
  std::uint32_t group = rng.below(groups - (low == high ? 1 : 2));
  group += group >= low;
  if (low != high) group += group >= high;
  return group * local_.block() + rng.below(local_.block());
}

Bisection Dragonfly::bisection() const {
  const std::uint32_t groups = global_.groups();
  if (groups == 1) return with_terminals(local_.bisection(classes_), local_.spread(classes_));
  // Groups against groups; of an odd number the middle group is cut, its two halves owning half of its global links.
  const double half = groups / 2;
  const double crossing = global_.copies() * half * ((groups + 1) / 2);
  Bisection out{static_cast<std::uint64_t>(crossing), crossing * classes_[local_.dimensions()].bandwidth, false};
  if (groups % 2 == 1) {
    const Bisection inside = local_.bisection(classes_);
    out.links += inside.links;
    out.bandwidth += inside.bandwidth;
  }
  out = with_terminals(out, {});
  if (links_ <= 100'000) {
    const Bisection searched = RouterTopology::bisection();
    out.links = std::min(out.links, searched.links);
    out.bandwidth = std::min(out.bandwidth, searched.bandwidth);
  }
  return out;
}

std::uint32_t Dragonfly::virtual_channels(Routing routing) const {
  if (routing == Routing::minimal) return global_.groups() > 1 ? 2 : 1;
  const auto longest = static_cast<std::uint32_t>(2 * local_.dimensions() + 1);
  return routing == Routing::valiant ? 2 * longest + 2 : longest + 2;
}

void Dragonfly::channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const {
  if (routing != Routing::minimal) return Topology::channels(routing, route, out);
  // Local channel 0, global, local channel 1 (Kim et al., section 4.1): the order of channels rises along a route.
  std::uint8_t channel = 0;
  const LinkId first = first_router_link() + first_global_;
  for (std::size_t i = 0; i < route.size(); ++i) {
    out[i] = route[i] >= first ? 0 : channel;
    if (route[i] >= first) channel = 1;
  }
}

template class RouterTopology<Dragonfly>;

}  // namespace isthmus::topology
