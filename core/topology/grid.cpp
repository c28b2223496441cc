#include "topology/grid.hpp"

#include <algorithm>
#include <cmath>

#include "base/vector.hpp"

namespace isthmus::topology {

Grid::Grid(const GridParameters& p) : RouterTopology(p.kind), balanced_(p.ties == "balanced") {
  static const std::string default_names = "xyzwvutsrqponm";
  const std::size_t n = p.dims.size();
  require(n >= 1, kind_, ": needs at least one dimension");
  require(balanced_ || p.ties == "positive", kind_, ": ties = '", p.ties, "': must be balanced or positive");
  require(n <= default_names.size(), kind_, ": ", n, " dimensions, at most ", default_names.size(), " are supported");
  require(p.wrap.empty() || p.wrap.size() == n, kind_, ": wrap has ", p.wrap.size(), " entries for ", n, " dimensions");
  const std::string names = p.names.empty() ? default_names.substr(0, n) : p.names;
  require(names.size() == n, kind_, ": names = '", names, "' must have one letter per dimension, ", n);
  std::uint64_t routers = 1;
  std::uint64_t links = 0;
  const bool wraps = kind_ == "torus" || kind_ == "ring";
  for (std::size_t d = 0; d < n; ++d) {
    const std::uint32_t e = p.dims[d];
    require(e >= 1, kind_, ": dimension ", names[d], " has extent 0; must be at least 1");
    require((names[d] >= 'a' && names[d] <= 'z') || (names[d] >= 'A' && names[d] <= 'Z'), kind_, ": dimension name '",
            names[d], "' is not a letter");
    require(names.find(names[d]) == d, kind_, ": dimension name '", names[d], "' is given twice");
    routers *= e;
    require(routers < (std::uint64_t{1} << 32), kind_, ": more than 2^32 routers");
    dimensions_.push_back({std::string(1, names[d]), e});
  }
  std::uint32_t stride = 1;
  std::string shape;
  for (std::size_t d = 0; d < n; ++d) {
    const std::uint32_t e = p.dims[d];
    const bool wrap = p.wrap.empty() ? wraps : p.wrap[d];
    Axis axis{Divider(e), stride, wrap, {0, 0}, 0, 0};
    axis.step = stride * line(axis);
    const std::uint64_t count = routers / e * line(axis);
    require(links + 2 * count < (std::uint64_t{1} << 32), kind_, ": more than 2^32 links");
    axis.count = static_cast<LinkId>(count);
    axis.first[0] = static_cast<LinkId>(links);
    axis.first[1] = static_cast<LinkId>(links + count);
    links += 2 * count;
    axes_.push_back(axis);
    stride *= e;
    classes_.push_back({dimensions_[d].name + "+"});
    classes_.push_back({dimensions_[d].name + "-"});
    shape += message(d ? "x" : "", e, wrap == wraps ? "" : (wrap ? "t" : "m"));
  }
  set_routers(routers, routers, p.nodes_per_router, links);
  spec_ = message(kind_, ":", shape, p.names.empty() ? "" : ",names=" + p.names,
                  has_terminals() ? message(",p=", p.nodes_per_router) : "", balanced_ ? "" : ",ties=positive");
}

namespace {

/// Adds the distance along one axis and leaves the quotients: what the other axes go by.
ISTHMUS_VECTOR_CLONES
void add_axis(const Divider& extent, bool wrap, std::uint32_t* r, std::uint32_t* s, std::size_t count,
              std::uint32_t* out) {
  const Divider divider = extent;
  const std::uint32_t e = divider.divisor();
  // Around a line that does not wrap is never shorter.
  const std::uint32_t around = wrap ? e : 2 * e;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t qr = divider.lane_quotient(r[i]);
    const std::uint32_t qs = divider.lane_quotient(s[i]);
    const std::uint32_t cr = r[i] - qr * e;
    const std::uint32_t cs = s[i] - qs * e;
    const std::uint32_t direct = std::max(cr, cs) - std::min(cr, cs);
    out[i] += std::min(direct, around - direct);
    r[i] = qr;
    s[i] = qs;
  }
}

/// `count` ids from `first` in steps of `step`: a loop that compilers turn into vector stores.
LinkId* progression(LinkId first, std::uint32_t step, std::uint32_t count, LinkId* out) {
  for (std::uint32_t i = 0; i < count; ++i) out[i] = first + i * step;
  return out + count;
}
}  // namespace

void Grid::router_distances(const Vertex* r, const Vertex* s, std::size_t count, std::uint32_t* out) const {
  Vertex left_r[block];
  Vertex left_s[block];
  std::copy(r, r + count, left_r);
  std::copy(s, s + count, left_s);
  std::fill(out, out + count, 0U);
  for (const Axis& a : axes_) add_axis(a.extent, a.wrap, left_r, left_s, count, out);
}

bool Grid::odd_ahead(Vertex r, Vertex s) const {
  std::uint32_t sum = 0;
  for (const Axis& a : axes_) {
    const std::uint32_t e = a.extent.divisor();
    const Vertex high_r = a.extent.quotient(r), high_s = a.extent.quotient(s);
    const std::uint32_t c = r - high_r * e, t = s - high_s * e;
    sum += t - c + (a.wrap && t < c ? e : 0);
    r = high_r;
    s = high_s;
  }
  return (sum & 1) != 0;
}

template <class Body>
void Grid::for_runs(Vertex r, Vertex s, Body body) const {
  // Ids along a line of an axis form an arithmetic progression: id = first + low + coordinate * stride + high * step,
  // where low and high number the line by the dimensions below and above.
  Vertex rest_r = r;
  Vertex rest_s = s;
  Vertex low = 0;  // already at the destination in the dimensions below
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    const Axis& a = axes_[k];
    const std::uint32_t e = a.extent.divisor();
    const std::uint32_t high = a.extent.quotient(rest_r);
    const std::uint32_t high_s = a.extent.quotient(rest_s);
    const std::uint32_t c = rest_r - high * e;
    const std::uint32_t t = rest_s - high_s * e;
    rest_r = high;
    rest_s = high_s;
    if (c != t) {
      const LinkId line = low + high * a.step;
      if (!a.wrap) {
        // Both directions of a cable have the index of its lower end.
        if (t > c) body(k, 0, a.first[0] + line, c, t - c);
        else body(k, 1, a.first[1] + line, c - 1, c - t);
      } else {
        const std::uint32_t forward = t > c ? t - c : t + e - c;
        const std::uint32_t backward = e - forward;
        const bool positive =
            forward != backward ? forward < backward : !balanced_ || odd_ahead(r, s) == (((forward + c) & 1) != 0);
        if (positive) {
          const std::uint32_t before = std::min(forward, e - c);
          body(k, 0, a.first[0] + line, c, before);
          if (forward > before) body(k, 0, a.first[0] + line, 0U, forward - before);
        } else {
          const std::uint32_t before = std::min(backward, c + 1);
          body(k, 1, a.first[1] + line, c, before);
          if (backward > before) body(k, 1, a.first[1] + line, e - 1, backward - before);
        }
      }
    }
    low += t * a.stride;
  }
}

LinkId* Grid::write_router_route(Vertex r, Vertex s, std::uint32_t /*salt*/, LinkId* out) const {
  for_runs(r, s, [&](std::size_t k, int direction, LinkId line, std::uint32_t from, std::uint32_t count) {
    const std::uint32_t stride = axes_[k].stride;
    out = progression(line + from * stride, direction == 0 ? stride : 0U - stride, count, out);
  });
  return out;
}

std::uint32_t Grid::add_runs(Vertex r, Vertex s, double bytes, double* change) const {
  std::uint32_t axes = 0;
  for_runs(r, s, [&](std::size_t k, int direction, LinkId begin, std::uint32_t from, std::uint32_t count) {
    const Axis& a = axes_[k];
    axes |= 1U << k;
    const std::uint32_t lowest = direction == 0 ? from : from + 1 - count;
    change[begin + lowest * a.stride] += bytes;
    if (lowest + count < line(a)) change[begin + (lowest + count) * a.stride] -= bytes;
  });
  return axes;
}

void Grid::sum_runs(double* change) const {
  for (const Axis& a : axes_) {
    if (a.count == 0) continue;
    for (const LinkId first : a.first) {
      for (LinkId begin = first; begin < first + a.count; begin += a.step) {
        for (LinkId l = begin + a.stride; l < begin + a.step; ++l) change[l] += change[l - a.stride];
      }
    }
  }
}

Grid::Hop Grid::decode(LinkId id) const {
  std::size_t d = 0;
  while (id >= axes_[d].first[0] + 2 * axes_[d].count) ++d;
  const Axis& a = axes_[d];
  const int direction = id >= a.first[1] ? 1 : 0;
  const LinkId index = id - a.first[direction];
  const std::uint32_t high = index / a.step;
  const std::uint32_t within = index - high * a.step;
  const std::uint32_t coordinate = within / a.stride;
  const std::uint32_t low = within - coordinate * a.stride;
  return {d, direction, low + (coordinate + high * a.extent.divisor()) * a.stride, coordinate};
}

Link Grid::router_link(LinkId id) const {
  const Hop hop = decode(id);
  const Axis& a = axes_[hop.axis];
  const std::uint32_t e = a.extent.divisor();
  const Vertex at = hop.lower;
  if (!a.wrap) {
    return hop.direction == 0 ? Link{at, at + a.stride} : Link{at + a.stride, at};
  }
  if (hop.direction == 0) return {at, hop.coordinate + 1 == e ? at - hop.coordinate * a.stride : at + a.stride};
  return {at, hop.coordinate == 0 ? at + (e - 1) * a.stride : at - a.stride};
}

std::uint32_t Grid::router_link_class(LinkId id) const {
  const Hop hop = decode(id);
  return static_cast<std::uint32_t>(2 * hop.axis) + static_cast<std::uint32_t>(hop.direction);
}

void Grid::router_out_links(Vertex r, std::vector<LinkId>& out) const {
  Vertex rest = r;
  Vertex low = 0;
  for (const Axis& a : axes_) {
    const std::uint32_t e = a.extent.divisor();
    const std::uint32_t high = a.extent.quotient(rest);
    const std::uint32_t c = rest - high * e;
    const LinkId here = low + high * a.step + c * a.stride;
    if (e > 1) {
      if (a.wrap || c + 1 < e) out.push_back(a.first[0] + here);
      if (a.wrap) out.push_back(a.first[1] + here);
      else if (c > 0) out.push_back(a.first[1] + here - a.stride);
    }
    low += c * a.stride;
    rest = high;
  }
}

Estimate Grid::router_diameter() const {
  double sum = 0;
  for (const Axis& a : axes_) sum += a.wrap ? a.extent.divisor() / 2 : a.extent.divisor() - 1;
  return {sum, true};
}

Estimate Grid::router_mean_distance() const {
  double sum = 0;
  for (const Axis& a : axes_) {
    const double e = a.extent.divisor();
    // Mean of |i - j| over i, j in [0, e), and of the same around a ring.
    sum += a.wrap ? std::floor(e * e / 4) / e : (e * e - 1) / (3 * e);
  }
  return {sum, true};
}

Bisection Grid::bisection() const {
  // A staircase: cut the first dimension at the middle; where its extent is odd, the middle slice is cut in the next
  // dimension, and so on. Longest first this is optimal for meshes (Efe and Feng, "A proof for bisection width of
  // grids", 2007) and, doubled, for tori (Aroca and Fernandez Anta, "Bisection (band)width of product networks", 2014).
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    if (axes_[d].extent.divisor() > 1) order.push_back(d);
  }
  if (order.empty()) return with_terminals({0, 0, true}, {});
  const auto extent = [&](std::size_t d) { return axes_[d].extent.divisor(); };
  std::sort(order.begin(), order.end());
  double links = 1e300;
  double bandwidth = 1e300;
  // All orders while they are few; then longest first only.
  const bool all = order.size() <= 7;
  if (!all) std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return extent(a) > extent(b); });
  do {
    double slice = 1;
    for (const std::size_t d : order) slice *= extent(d);
    double l = 0;
    double b = 0;
    for (const std::size_t d : order) {
      slice /= extent(d);
      const double plus = classes_[2 * d].bandwidth;
      const double minus = classes_[2 * d + 1].bandwidth;
      l += slice * (axes_[d].wrap ? 2 : 1);
      b += slice * (axes_[d].wrap ? plus + minus : std::min(plus, minus));
      if (extent(d) % 2 == 0) break;
    }
    links = std::min(links, l);
    bandwidth = std::min(bandwidth, b);
  } while (all && std::next_permutation(order.begin(), order.end()));
  const double usual = classes_[2 * order[0]].bandwidth;
  const bool same = std::all_of(order.begin(), order.end(), [&](auto d) {
    return axes_[d].wrap == axes_[order[0]].wrap && classes_[2 * d].bandwidth == usual &&
           classes_[2 * d + 1].bandwidth == usual;
  });
  // Uniform traffic, both ways round at half of a ring: routes over a link of the middle of a line, or any of a ring.
  Spread spread{1e300, 1e300};
  const double n = routers();
  for (const std::size_t d : order) {
    const double e = extent(d);
    const double load = std::floor(e * e / 4) * n / e / (axes_[d].wrap ? 2 : 1);
    const double plus = classes_[2 * d].bandwidth;
    const double minus = classes_[2 * d + 1].bandwidth;
    spread.links = std::min(spread.links, 1 / load);
    // A cut of a ring has as many links of either direction.
    spread.bandwidth = std::min(spread.bandwidth, (axes_[d].wrap ? (plus + minus) / 2 : std::min(plus, minus)) / load);
  }
  return with_terminals({static_cast<std::uint64_t>(links), bandwidth, same && all}, spread);
}

std::uint32_t Grid::virtual_channels(Routing routing) const {
  if (routing != Routing::minimal) return Topology::virtual_channels(routing);
  // Dateline (Dally and Seitz 1987): a ring of extent 4 or more is crossed on channel 1 after its wrap link.
  return std::any_of(axes_.begin(), axes_.end(), [](const Axis& a) { return a.wrap && a.extent.divisor() > 3; }) ? 2
                                                                                                                 : 1;
}

void Grid::channels(Routing routing, std::span<const LinkId> route, std::span<std::uint8_t> out) const {
  if (routing != Routing::minimal) return Topology::channels(routing, route, out);
  std::size_t axis = axes_.size();
  bool crossed = false;
  for (std::size_t i = 0; i < route.size(); ++i) {
    out[i] = 0;
    if (route[i] < first_router_link()) continue;
    const Hop hop = decode(route[i] - first_router_link());
    if (hop.axis != axis) crossed = false;
    axis = hop.axis;
    const Axis& a = axes_[axis];
    const std::uint32_t e = a.extent.divisor();
    out[i] = crossed ? 1 : 0;
    if (a.wrap && e > 3 && hop.coordinate == (hop.direction == 0 ? e - 1 : 0)) crossed = true;
  }
}

template class RouterTopology<Grid>;

}  // namespace isthmus::topology
