#include "topology/loads.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "topology/grid.hpp"

namespace isthmus::topology {
namespace {

void over_grid(const Grid& grid, std::span<const Vertex> from, std::span<const Vertex> to,
               std::span<const double> bytes, std::span<const std::int8_t> tier_of_class, RouteLoads& out) {
  const bool terminals = grid.switches() > 0;
  const LinkId first = terminals ? 2 * grid.nodes() : 0;
  const std::uint32_t each = terminals ? grid.nodes() / grid.switches() : 1;
  const Divider concentration(each);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    std::uint32_t axes = grid.add_runs(concentration.quotient(from[i]), concentration.quotient(to[i]), bytes[i],
                                       out.bytes.data() + first);
    if (terminals) {
      out.bytes[from[i]] += bytes[i];
      out.bytes[grid.nodes() + to[i]] += bytes[i];
      out.highest[i] = tier_of_class.back();
    }
    for (std::size_t k = 0; axes != 0; ++k, axes >>= 1) {
      if ((axes & 1) != 0) out.highest[i] = std::max(out.highest[i], tier_of_class[2 * k]);
    }
  }
  grid.sum_runs(out.bytes.data() + first);
}

void over_any(const Topology& topology, std::span<const Vertex> from, std::span<const Vertex> to,
              std::span<const double> bytes, std::span<const std::int8_t> tier_of_class, RouteLoads& out) {
  constexpr std::size_t block = 1024;  // pairs whose routes are held at a time
  constexpr std::int8_t unknown = -2;
  std::vector<std::int8_t> tier(topology.links(), unknown);
  std::vector<std::uint64_t> offsets(block + 1);
  std::vector<LinkId> links;
  for (std::size_t begin = 0; begin < from.size(); begin += block) {
    const std::size_t count = std::min(block, from.size() - begin);
    offsets[0] = 0;
    for (std::size_t i = 0; i < count; ++i) offsets[i + 1] = offsets[i] + out.length[begin + i];
    links.resize(offsets[count]);
    topology.routes(from.subspan(begin, count), to.subspan(begin, count), {offsets.data(), count + 1}, links.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::int8_t highest = -1;
      for (std::uint64_t j = offsets[i]; j < offsets[i + 1]; ++j) {
        out.bytes[links[j]] += bytes[begin + i];
        std::int8_t& here = tier[links[j]];
        if (here == unknown) here = tier_of_class[topology.link_class(links[j])];
        highest = std::max(highest, here);
      }
      out.highest[begin + i] = highest;
    }
  }
}

}  // namespace

RouteLoads route_loads(const Topology& topology, std::span<const Vertex> from, std::span<const Vertex> to,
                       std::span<const double> bytes, std::span<const std::int8_t> tier_of_class) {
  require(from.size() == to.size() && from.size() == bytes.size(), "loads of routes: ", from.size(), " sources, ",
          to.size(), " targets and ", bytes.size(), " numbers of bytes; must be as many of each");
  require(tier_of_class.size() == topology.link_classes().size(), "loads of routes: ", tier_of_class.size(),
          " tiers of ", topology.link_classes().size(), " classes of links");
  RouteLoads out;
  out.bytes.assign(topology.links(), 0);
  out.length.resize(from.size());
  out.highest.assign(from.size(), -1);
  topology.route_lengths(from, to, out.length);
  if (const auto* grid = dynamic_cast<const Grid*>(&topology)) {
    over_grid(*grid, from, to, bytes, tier_of_class, out);
  } else {
    over_any(topology, from, to, bytes, tier_of_class, out);
  }
  return out;
}

}  // namespace isthmus::topology
