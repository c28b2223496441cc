#include "topology/all_to_all.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace isthmus::topology {

AllToAll::AllToAll(const std::string& kind, const std::vector<std::uint32_t>& extents,
                   const std::vector<std::uint32_t>& parallel, std::uint64_t blocks) {
  require(!extents.empty() && extents.size() <= 8, kind, ": ", extents.size(),
          " all-to-all dimensions; must be 1 to 8");
  require(parallel.empty() || parallel.size() == extents.size(), kind, ": parallel has ", parallel.size(),
          " entries for ", extents.size(), " dimensions");
  constexpr std::uint64_t most = 0xffffffff;
  std::uint64_t size = 1;
  for (const std::uint32_t e : extents) {
    require(e >= 1, kind, ": an extent is 0; must be at least 1");
    size *= e;
    require(size <= most && size * blocks <= most, kind, ": more than 2^32 routers");
  }
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::uint32_t k = parallel.empty() ? 1 : parallel[d];
    require(k >= 1, kind, ": parallel = 0 in dimension ", d, "; must be at least 1");
    axes_.push_back({Divider(extents[d]), block_, k, static_cast<LinkId>(links_)});
    block_ *= extents[d];
    const std::uint64_t pairs = size * blocks * (extents[d] - 1);
    require(pairs <= most / k, kind, ": more than 2^32 links");
    links_ += pairs * k;
    require(links_ <= most, kind, ": more than 2^32 links");
  }
}

LinkId* AllToAll::write_route(Vertex r, Vertex s, std::uint32_t salt, LinkId* out) const {
  std::uint32_t i = r % block_;
  std::uint32_t j = s % block_;
  for (const Axis& a : axes_) {
    const std::uint32_t e = a.extent.divisor();
    const std::uint32_t qi = a.extent.quotient(i);
    const std::uint32_t qj = a.extent.quotient(j);
    const std::uint32_t c = i - qi * e;
    const std::uint32_t t = j - qj * e;
    i = qi;
    j = qj;
    if (c == t) continue;
    const std::uint32_t index = t < c ? t : t - 1;
    *out++ = a.first + (r * (e - 1) + index) * a.parallel + (a.parallel == 1 ? 0 : salt % a.parallel);
    r += t * a.stride - c * a.stride;
  }
  return out;
}

std::uint32_t AllToAll::dimension_of(LinkId id) const {
  std::uint32_t d = 0;
  while (d + 1 < axes_.size() && id >= axes_[d + 1].first) ++d;
  return d;
}

Link AllToAll::link(LinkId id) const {
  const Axis& a = axes_[dimension_of(id)];
  const std::uint32_t e = a.extent.divisor();
  const std::uint32_t pair = (id - a.first) / a.parallel;
  const Vertex r = pair / (e - 1);
  const std::uint32_t index = pair - r * (e - 1);
  const std::uint32_t c = r % block_ / a.stride % e;
  const std::uint32_t t = index < c ? index : index + 1;
  return {r, r + t * a.stride - c * a.stride};
}

void AllToAll::out_links(Vertex r, std::vector<LinkId>& out) const {
  for (const Axis& a : axes_) {
    const std::uint32_t degree = (a.extent.divisor() - 1) * a.parallel;
    for (std::uint32_t k = 0; k < degree; ++k) out.push_back(a.first + r * degree + k);
  }
}

Bisection AllToAll::bisection(const std::vector<LinkClass>& classes) const {
  std::vector<std::size_t> order(axes_.size());
  std::iota(order.begin(), order.end(), 0);
  double links = 1e300;
  double bandwidth = 1e300;
  do {
    // Split one dimension at the middle; where its extent is odd the middle slice is split in the next one. On every
    // line floor(e/2) * ceil(e/2) links cross.
    double slice = block_;
    double l = 0;
    double b = 0;
    for (const std::size_t d : order) {
      const std::uint32_t e = extent(d);
      slice /= e;
      const double crossing = slice * (e / 2) * ((e + 1) / 2) * axes_[d].parallel;
      l += crossing;
      b += crossing * classes[d].bandwidth;
      if (e % 2 == 0) break;
    }
    links = std::min(links, l);
    bandwidth = std::min(bandwidth, b);
  } while (std::next_permutation(order.begin(), order.end()));
  bool uniform = true;
  for (std::size_t d = 1; d < axes_.size(); ++d) {
    uniform = uniform && axes_[d].parallel == axes_[0].parallel && classes[d].bandwidth == classes[0].bandwidth;
  }
  return {static_cast<std::uint64_t>(links), bandwidth, uniform};
}

Spread AllToAll::spread(const std::vector<LinkClass>& classes) const {
  // A router sends block / extent routes of uniform traffic to each other coordinate of a dimension.
  Spread out{1e300, 1e300};
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    if (extent(d) == 1) continue;
    const double per_pair = static_cast<double>(extent(d)) * axes_[d].parallel / block_;
    out.links = std::min(out.links, per_pair);
    out.bandwidth = std::min(out.bandwidth, per_pair * classes[d].bandwidth);
  }
  return block_ == 1 ? Spread{} : out;
}

}  // namespace isthmus::topology
