#include "topology/topology.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/vector.hpp"
#include "graph/bisect.hpp"
#include "graph/traversal.hpp"
#include "topology/explicit_graph.hpp"
#include "topology/router_topology.hpp"

namespace isthmus::topology {

namespace {
/// "x" selects "x", "x+", "x-" and "x0"; "local" selects "local1"; nothing selects a longer word.
bool selects(const std::string& name, const std::string& class_name) {
  if (class_name.compare(0, name.size(), name) != 0) return false;
  const std::string_view rest = std::string_view(class_name).substr(name.size());
  return rest.empty() || rest == "+" || rest == "-" || rest.find_first_not_of("0123456789") == std::string_view::npos;
}
}  // namespace

ISTHMUS_VECTOR_CLONES
void quotients(const Divider& divider, const std::uint32_t* numbers, std::size_t count, std::uint32_t* out) {
  const Divider d = divider;
  for (std::size_t i = 0; i < count; ++i) out[i] = d.lane_quotient(numbers[i]);
}

Routing routing_from(std::string_view name) {
  if (name == "minimal") return Routing::minimal;
  if (name == "random") return Routing::random;
  if (name == "valiant") return Routing::valiant;
  throw InvalidInput(message("unknown routing '", std::string(name), "': must be minimal, random or valiant"));
}

void Topology::set_counts(std::uint64_t nodes, std::uint64_t switches, std::uint64_t links) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() - 1;
  require(nodes >= 1, kind_, ": a topology needs at least one node");
  require(nodes + switches <= most && links <= most, kind_, ": ", nodes, " nodes, ", switches, " switches and ", links,
          " links do not fit the 32-bit ids (at most ", most, " vertices and links)");
  nodes_ = static_cast<Vertex>(nodes);
  switches_ = static_cast<Vertex>(switches);
  links_ = static_cast<LinkId>(links);
}

void Topology::require_node(Vertex node) const {
  require(node < nodes_, "node ", node, " of ", kind_, ": nodes are 0 to ", nodes_ - 1);
}

void Topology::require_vertex(Vertex vertex) const {
  require(vertex < vertices(), "vertex ", vertex, " of ", kind_, ": nodes are 0 to ", nodes_ - 1, ", switches up to ",
          vertices() - 1);
}

void Topology::require_link(LinkId link) const {
  require(link < links_, "link ", link, " of ", kind_, ": links are 0 to ", links_ - 1);
}

void Topology::coordinates(Vertex node, std::span<std::uint32_t> out) const {
  require_node(node);
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    out[d] = node % dimensions_[d].extent;
    node /= dimensions_[d].extent;
  }
}

void Topology::require_coordinates(std::span<const std::uint32_t> coordinates) const {
  require(coordinates.size() == dimensions_.size(), kind_, " has ", dimensions_.size(), " coordinates, got ",
          coordinates.size());
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    require(coordinates[d] < dimensions_[d].extent, "coordinate ", dimensions_[d].name, " = ", coordinates[d],
            ": must be 0 to ", dimensions_[d].extent - 1);
  }
}

Vertex Topology::node_at(std::span<const std::uint32_t> coordinates) const {
  require_coordinates(coordinates);
  Vertex node = 0;
  for (std::size_t d = dimensions_.size(); d-- > 0;) node = node * dimensions_[d].extent + coordinates[d];
  return node;
}

std::string Topology::tuple_text(std::span<const std::uint32_t> numbers) {
  if (numbers.size() < 2) return "";
  std::string out = " (";
  for (std::size_t d = 0; d < numbers.size(); ++d) out += message(d ? "," : "", numbers[d]);
  return out + ")";
}

std::string Topology::label(Vertex vertex) const {
  require_vertex(vertex);
  if (vertex >= nodes_) return message("switch ", vertex - nodes_);
  std::vector<std::uint32_t> c(dimensions_.size());
  coordinates(vertex, c);
  return message("node ", vertex, tuple_text(c));
}

void Topology::distances(std::span<const Vertex> from, std::span<const Vertex> to, std::span<std::uint32_t> out) const {
  require(from.size() == to.size(), "pairs: ", from.size(), " sources but ", to.size(), " destinations");
  for (std::size_t i = 0; i < from.size(); ++i) {
    require_node(from[i]);
    require_node(to[i]);
    out[i] = distance(from[i], to[i]);
  }
}

void Topology::route(Vertex from, Vertex to, std::vector<LinkId>& out) const {
  const std::size_t begin = out.size();
  out.resize(begin + route_length(from, to));
  write_route(from, to, out.data() + begin);
}

void Topology::route_lengths(std::span<const Vertex> from, std::span<const Vertex> to,
                             std::span<std::uint32_t> out) const {
  require(from.size() == to.size(), "pairs: ", from.size(), " sources but ", to.size(), " destinations");
  for (std::size_t i = 0; i < from.size(); ++i) {
    require_node(from[i]);
    require_node(to[i]);
    out[i] = route_length(from[i], to[i]);
  }
}

void Topology::routes(std::span<const Vertex> from, std::span<const Vertex> to, std::span<const std::uint64_t> offsets,
                      LinkId* out) const {
  for (std::size_t i = 0; i < from.size(); ++i) write_route(from[i], to[i], out + offsets[i]);
}

bool Topology::permits(LinkId /*link*/, Vertex /*to*/) const { return true; }

void Topology::minimal_links(Vertex at, Vertex to, std::vector<LinkId>& out) const {
  require_vertex(at);
  require_node(to);
  if (at == to) return;
  const std::uint32_t here = remaining(at, to);
  std::vector<LinkId> all;
  out_links(at, all);
  for (const LinkId id : all) {
    if (remaining(link(id).to, to) + 1 == here && permits(id, to)) out.push_back(id);
  }
}

void Topology::random_route(Vertex from, Vertex to, Rng& rng, std::vector<LinkId>& out) const {
  require_node(from);
  require_node(to);
  std::vector<LinkId> choices;
  for (Vertex at = from; at != to;) {
    choices.clear();
    minimal_links(at, to, choices);
    out.push_back(choices[rng.below(static_cast<std::uint32_t>(choices.size()))]);
    at = link(out.back()).to;
  }
}

void Topology::valiant_route(Vertex /*from*/, Vertex /*to*/, Rng& /*rng*/, std::vector<LinkId>& /*out*/) const {
  throw Unsupported(message(kind_, ": has no Valiant routing; use random minimal routes"));
}

void Topology::minimal_routes(Vertex from, Vertex to, std::size_t limit, std::vector<std::uint64_t>& offsets,
                              std::vector<LinkId>& out) const {
  require_node(from);
  require_node(to);
  // Depth first with an explicit stack of the choices left at each hop.
  std::vector<std::vector<LinkId>> choices;
  std::vector<LinkId> path;
  std::size_t found = 0;
  const auto emit = [&] {
    out.insert(out.end(), path.begin(), path.end());
    offsets.push_back(out.size());
    ++found;
  };
  const auto open = [&](Vertex at) {
    choices.emplace_back();
    minimal_links(at, to, choices.back());
    std::reverse(choices.back().begin(), choices.back().end());
  };
  if (from == to) {
    emit();
    return;
  }
  open(from);
  while (!choices.empty() && found < limit) {
    if (choices.back().empty()) {
      choices.pop_back();
      if (!path.empty()) path.pop_back();
      continue;
    }
    path.push_back(choices.back().back());
    choices.back().pop_back();
    const Vertex at = link(path.back()).to;
    if (at == to) {
      emit();
      path.pop_back();
    } else {
      open(at);
    }
  }
}

std::uint32_t Topology::virtual_channels(Routing routing) const {
  const Estimate longest = diameter();
  const double hops = std::max(1.0, routing == Routing::valiant ? 2 * longest.value : longest.value);
  // channels() numbers hops in a byte, and a sampled diameter bounds nothing.
  return longest.exact && hops <= 256 ? static_cast<std::uint32_t>(hops) : 0;
}

void Topology::channels(Routing /*routing*/, std::span<const LinkId> /*route*/, std::span<std::uint8_t> out) const {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(std::min<std::size_t>(i, 255));
}

Estimate Topology::diameter() const {
  const auto sample = sample_distances(explicit_graph(*this).adjacency, nodes_, nodes_);
  return {static_cast<double>(sample.largest), sample.exact};
}

Estimate Topology::average_distance() const {
  if (nodes_ < 2) return {0, true};
  const auto sample = sample_distances(explicit_graph(*this).adjacency, nodes_, nodes_);
  return {sample.mean * nodes_ / (nodes_ - 1.0), sample.exact};
}

int Topology::bisection_starts(std::size_t links) {
  return static_cast<int>(std::clamp<std::size_t>(100'000 / std::max<std::size_t>(links, 1), 1, 24));
}

Bisection Topology::bisection() const {
  const ExplicitGraph graph = explicit_graph(*this);
  const Cut cut = bisect(graph.adjacency, graph.weights, nodes_, bisection_starts(links_), 1);
  return {cut.edges, cut.weight, false};
}

void Topology::set_links(const std::string& name, double bandwidth, double latency) {
  bool found = false;
  for (LinkClass& c : classes_) {
    if (name != "default" && !selects(name, c.name)) continue;
    found = true;
    if (bandwidth >= 0) c.bandwidth = bandwidth;
    if (latency >= 0) c.latency = latency;
  }
  if (found) return;
  std::string allowed = "default";
  for (const LinkClass& c : classes_) allowed += ", " + c.name;
  throw InvalidInput(message("link class '", name, "' of ", kind_, ": must be one of ", allowed));
}

}  // namespace isthmus::topology
