#include "topology/rail.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace isthmus::topology {

Rail::Rail(const RailParameters& p) : Topology("rail"), domains_(p.domains), spines_(p.spines), parallel_(p.parallel) {
  require(p.gpus >= 1 && p.domains >= 1 && p.parallel >= 1, kind_, ": gpus = ", p.gpus, ", domains = ", p.domains,
          ", parallel = ", p.parallel, "; must be at least 1");
  gpus_ = Divider(p.gpus);
  const std::uint32_t unit = p.unit == 0 ? p.domains : p.unit;
  unit_ = Divider(unit);
  units_ = (p.domains - 1) / unit + 1;
  require(units_ == 1 || spines_ > 0, kind_, ": ", units_,
          " units need spines to reach each other (spines = 0): give at least one, or unit = ", p.domains);
  const std::uint64_t nodes = static_cast<std::uint64_t>(p.gpus) * p.domains;
  const std::uint64_t leaves = static_cast<std::uint64_t>(units_) * p.gpus;
  dimensions_ = {{"gpu", p.gpus}, {"domain", p.domains}};
  classes_ = {{"nvlink"}, {"rail"}, {"spine"}};
  constexpr std::uint64_t most = 0xffffffff;
  require(nodes <= most && leaves <= most && leaves * p.spines <= most / p.parallel, kind_,
          ": more than 2^32 GPUs, leaves or cables of spines");
  set_counts(nodes, p.domains + leaves + p.spines, 4 * nodes + 2 * leaves * p.spines * p.parallel);
  leaves_ = static_cast<std::uint32_t>(leaves);
  spec_ = message("rail:gpus=", p.gpus, ",domains=", p.domains, p.unit ? message(",unit=", p.unit) : "",
                  ",spines=", p.spines, p.parallel > 1 ? message(",parallel=", p.parallel) : "");
}

std::string Rail::label(Vertex vertex) const {
  require_vertex(vertex);
  if (vertex < nodes_) return message("gpu ", rail(vertex), " of domain ", domain(vertex));
  Vertex index = vertex - nodes_;
  if (index < domains_) return message("NVSwitch of domain ", index);
  index -= domains_;
  if (index < leaves_) return message("leaf of rail ", index % gpus_.divisor(), ", unit ", index / gpus_.divisor());
  return message("spine ", index - leaves_);
}

Link Rail::link(LinkId id) const {
  require_link(id);
  if (id < first_spine_link()) {
    const Vertex gpu = id % nodes_;
    const std::uint32_t which = id / nodes_;
    const Vertex other = which < 2 ? nodes_ + domain(gpu) : nodes_ + domains_ + leaf(gpu);
    return which % 2 == 0 ? Link{gpu, other} : Link{other, gpu};
  }
  const LinkId index = id - first_spine_link();
  const LinkId cables = leaves_ * spines_ * parallel_;
  const bool upwards = index < cables;
  const LinkId pair = (upwards ? index : index - cables) / parallel_;
  const Vertex leaf_vertex = nodes_ + domains_ + (upwards ? pair / spines_ : pair % leaves_);
  const Vertex spine_vertex = nodes_ + domains_ + leaves_ + (upwards ? pair % spines_ : pair / leaves_);
  return upwards ? Link{leaf_vertex, spine_vertex} : Link{spine_vertex, leaf_vertex};
}

std::uint32_t Rail::link_class(LinkId id) const {
  require_link(id);
  return id < 2 * nodes_ ? 0 : id < first_spine_link() ? 1 : 2;
}

void Rail::out_links(Vertex vertex, std::vector<LinkId>& out) const {
  require_vertex(vertex);
  const std::uint32_t g = gpus_.divisor();
  if (vertex < nodes_) {
    out.push_back(to_nvswitch(vertex));
    out.push_back(to_leaf(vertex));
    return;
  }
  Vertex index = vertex - nodes_;
  if (index < domains_) {
    for (std::uint32_t i = 0; i < g; ++i) out.push_back(from_nvswitch(index * g + i));
    return;
  }
  index -= domains_;
  const LinkId cables = leaves_ * spines_ * parallel_;
  if (index < leaves_) {
    const std::uint32_t first = index / g * unit_.divisor();
    const std::uint32_t last = std::min(first + unit_.divisor(), domains_);
    for (std::uint32_t d = first; d < last; ++d) out.push_back(from_leaf(d * g + index % g));
    for (std::uint32_t i = 0; i < spines_ * parallel_; ++i) {
      out.push_back(first_spine_link() + index * spines_ * parallel_ + i);
    }
    return;
  }
  index -= leaves_;
  for (std::uint32_t i = 0; i < leaves_ * parallel_; ++i) {
    out.push_back(first_spine_link() + cables + index * leaves_ * parallel_ + i);
  }
}

std::uint32_t Rail::distance(Vertex from, Vertex to) const {
  require_vertex(from);
  require_node(to);
  if (from == to) return 0;
  if (from < nodes_) {
    return domain(from) == domain(to) || leaf(from) == leaf(to) ? 2 : 4;
  }
  Vertex index = from - nodes_;
  if (index < domains_) {
    // An NVSwitch: down to the GPU on the destination's rail, then as from that GPU.
    if (index == domain(to)) return 1;
    const Vertex mate = index * gpus_.divisor() + rail(to);
    return 1 + distance(mate, to);
  }
  index -= domains_;
  if (index < leaves_) return index == leaf(to) ? 1 : 3;
  return 2;
}

Estimate Rail::diameter() const {
  if (nodes_ < 2) return {0, true};
  const bool one_hop = domains_ == 1 || (gpus_.divisor() == 1 && units_ == 1);
  return {one_hop ? 2.0 : 4.0, true};
}

Estimate Rail::average_distance() const {
  if (nodes_ < 2) return {0, true};
  // Pairs at distance 2: of one domain, or on one leaf; the last unit may be smaller.
  const double g = gpus_.divisor();
  double near = domains_ * g * (g - 1);
  for (std::uint32_t u = 0; u < units_; ++u) {
    const double size = std::min(unit_.divisor(), domains_ - u * unit_.divisor());
    near += g * size * (size - 1);
  }
  const double pairs = static_cast<double>(nodes_) * (nodes_ - 1);
  return {4 - 2 * near / pairs, true};
}

LinkId* Rail::write_route(Vertex from, Vertex to, LinkId* out) const {
  require_node(from);
  require_node(to);
  if (from == to) return out;
  if (domain(from) == domain(to)) {
    *out++ = to_nvswitch(from);
    *out++ = from_nvswitch(to);
    return out;
  }
  if (unit(from) == unit(to)) {
    const Vertex mate = domain(from) * gpus_.divisor() + rail(to);
    if (mate != from) {
      *out++ = to_nvswitch(from);
      *out++ = from_nvswitch(mate);
    }
    *out++ = to_leaf(mate);
    *out++ = from_leaf(to);
    return out;
  }
  const std::uint32_t spine = to % spines_;
  const std::uint32_t copy = (from + to) % parallel_;
  const LinkId cables = leaves_ * spines_ * parallel_;
  *out++ = to_leaf(from);
  *out++ = first_spine_link() + (leaf(from) * spines_ + spine) * parallel_ + copy;
  *out++ = first_spine_link() + cables + (spine * leaves_ + leaf(to)) * parallel_ + copy;
  *out++ = from_leaf(to);
  return out;
}

std::uint32_t Rail::virtual_channels(Routing routing) const {
  if (routing == Routing::valiant) return 0;  // there is none
  return routing == Routing::minimal ? 1 : Topology::virtual_channels(routing);
}

void Rail::channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const {
  if (routing != Routing::minimal) return Topology::channels(routing, route, out);
  // NVLink comes before the rail, the rail goes up, then down: links of a route rise in one fixed order.
  std::fill(out.begin(), out.end(), std::uint8_t{0});
}

}  // namespace isthmus::topology
