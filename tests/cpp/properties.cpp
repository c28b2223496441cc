#include "properties.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "topology/explicit_graph.hpp"

namespace isthmus::testing {
using namespace topology;
namespace {

/// Minimal routing crosses at most one global link on a dragonfly; elsewhere the limit never binds.
std::uint32_t most_global(const Topology& t) { return t.kind() == "dragonfly" ? 1 : no_path; }

std::vector<Vertex> all_nodes(const Topology& t) {
  std::vector<Vertex> out(t.nodes());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

bool leads(const Topology& t, Vertex from, Vertex to, std::span<const LinkId> route) {
  for (const LinkId id : route) {
    const Link link = t.link(id);
    if (link.from != from) return false;
    from = link.to;
  }
  return from == to;
}

void check_links(const Topology& t, const Links& links) {
  std::vector<LinkId> row;
  std::size_t total = 0;
  const ExplicitGraph graph = explicit_graph(t);
  REQUIRE(graph.adjacency.vertices() == t.vertices());
  for (Vertex v = 0; v < t.vertices(); ++v) {
    row.clear();
    t.out_links(v, row);
    // links.out is in the order of ids and holds every link once: equality makes the rows a partition.
    REQUIRE(row.size() == links.out[v].size());
    const auto targets = graph.adjacency.row(v);
    REQUIRE(targets.size() == row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      REQUIRE(row[i] == links.out[v][i].first);
      REQUIRE(targets[i] == links.out[v][i].second);
      REQUIRE(graph.weights[graph.adjacency.offsets[v] + i] == t.bandwidth(row[i]));
      REQUIRE(targets[i] < t.vertices());
      REQUIRE(targets[i] != v);
    }
    total += row.size();
    REQUIRE_FALSE(t.label(v).empty());
  }
  CHECK(total == t.links());
  std::vector<bool> used(t.link_classes().size());
  for (LinkId id = 0; id < t.links(); ++id) {
    REQUIRE(t.link_class(id) < used.size());
    used[t.link_class(id)] = true;
  }
  CHECK_THROWS_AS((void)t.link(t.links()), InvalidInput);
  CHECK_THROWS_AS((void)t.label(t.vertices()), InvalidInput);
}

void check_coordinates(const Topology& t) {
  std::vector<std::uint32_t> c(t.dimensions().size());
  std::size_t places = 1;
  for (const Dimension& d : t.dimensions()) places *= d.extent;
  CHECK(places == t.nodes());
  for (Vertex node = 0; node < t.nodes(); ++node) {
    t.coordinates(node, c);
    for (std::size_t d = 0; d < c.size(); ++d) REQUIRE(c[d] < t.dimensions()[d].extent);
    REQUIRE(t.node_at(c) == node);
  }
  c.back() = t.dimensions().back().extent;
  CHECK_THROWS_AS((void)t.node_at(c), InvalidInput);
}

void check_distances(const Topology& t, const Links& links) {
  const std::vector<Vertex> nodes = all_nodes(t);
  std::vector<std::uint32_t> many(t.nodes());
  std::uint64_t sum = 0;
  std::uint32_t largest = 0;
  for (Vertex to = 0; to < t.nodes(); ++to) {
    const auto hops = hops_to(links, to);
    for (Vertex from = 0; from < t.vertices(); ++from) {
      INFO("from ", from, " to ", to);
      REQUIRE(t.distance(from, to) == hops[from]);
    }
    t.distances(nodes, std::vector<Vertex>(t.nodes(), to), many);
    REQUIRE(std::equal(many.begin(), many.end(), hops.begin()));
    sum = std::accumulate(many.begin(), many.end(), sum);
    largest = std::max(largest, *std::max_element(many.begin(), many.end()));
  }
  CHECK(t.diameter().exact);
  CHECK(t.diameter().value == largest);
  const double pairs = static_cast<double>(t.nodes()) * (t.nodes() - 1);
  CHECK(t.average_distance().exact);
  CHECK(t.average_distance().value == doctest::Approx(pairs > 0 ? static_cast<double>(sum) / pairs : 0).epsilon(1e-12));
  CHECK_THROWS_AS((void)t.distance(t.vertices(), 0), InvalidInput);
}

void check_routes(const Topology& t, const Links& links) {
  const std::vector<Vertex> nodes = all_nodes(t);
  std::vector<std::uint32_t> lengths(t.nodes());
  std::vector<LinkId> route;
  for (Vertex to = 0; to < t.nodes(); ++to) {
    const auto hops = hops_to(links, to, most_global(t));
    const std::vector<Vertex> same(t.nodes(), to);
    t.route_lengths(nodes, same, lengths);
    std::vector<std::uint64_t> offsets(t.nodes() + std::size_t{1}, 0);
    std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
    std::vector<LinkId> batch(offsets.back());
    t.routes(nodes, same, offsets, batch.data());
    for (Vertex from = 0; from < t.nodes(); ++from) {
      INFO("from ", from, " to ", to);
      route.clear();
      t.route(from, to, route);
      REQUIRE(leads(t, from, to, route));
      REQUIRE(route.size() == hops[from]);
      REQUIRE(t.route_length(from, to) == hops[from]);
      REQUIRE(lengths[from] == hops[from]);
      REQUIRE(std::equal(route.begin(), route.end(), batch.begin() + static_cast<std::ptrdiff_t>(offsets[from])));
      if (t.kind() == "dragonfly") {
        REQUIRE(std::count_if(route.begin(), route.end(), [&](LinkId id) { return links.global[id]; }) <= 1);
      }
    }
  }
  CHECK_THROWS_AS(t.route(0, t.nodes(), route), InvalidInput);
}

void check_minimal_links(const Topology& t, const Links& links) {
  std::vector<LinkId> offered;
  const bool limited = most_global(t) != no_path;
  for (Vertex to = 0; to < t.nodes(); to += 1 + t.nodes() / 24) {
    const auto hops = hops_to(links, to, most_global(t));
    const auto without_global = limited ? hops_to(links, to, 0) : hops;
    for (Vertex at = 0; at < t.vertices(); ++at) {
      std::vector<LinkId> expected;
      for (const auto& [id, next] : links.out[at]) {
        const auto rest = limited && links.global[id] ? without_global[next] : hops[next];
        const bool enters = next == to || links.forwards[next];
        if (at != to && enters && rest != no_path && rest + 1 == hops[at]) expected.push_back(id);
      }
      offered.clear();
      t.minimal_links(at, to, offered);
      INFO("at ", at, " to ", to);
      REQUIRE(offered == expected);
    }
  }
}

void check_random_routes(const Topology& t) {
  Rng rng(11);
  std::vector<LinkId> route;
  for (int i = 0; i < 300; ++i) {
    const Vertex from = rng.below(t.nodes());
    const Vertex to = rng.below(t.nodes());
    INFO("from ", from, " to ", to);
    route.clear();
    t.random_route(from, to, rng, route);
    REQUIRE(leads(t, from, to, route));
    REQUIRE(route.size() == t.route_length(from, to));
    route.clear();
    if (t.kind() == "rail" || t.kind() == "graph") {
      REQUIRE_THROWS_AS(t.valiant_route(from, to, rng, route), Unsupported);
    } else {
      t.valiant_route(from, to, rng, route);
      REQUIRE(leads(t, from, to, route));
      REQUIRE(route.empty() == (from == to));
    }
  }
}

void check_deadlock_freedom(const Topology& t, Routing routing) {
  const std::uint32_t count = t.virtual_channels(routing);
  REQUIRE(count >= 1);
  REQUIRE(count <= 256);
  std::set<std::pair<std::size_t, std::size_t>> edges;
  Rng rng(5);
  std::vector<LinkId> route;
  std::vector<std::uint8_t> channel;
  for (Vertex from = 0; from < t.nodes(); ++from) {
    for (Vertex to = 0; to < t.nodes(); ++to) {
      route.clear();
      if (routing == Routing::minimal) t.route(from, to, route);
      else if (routing == Routing::random) t.random_route(from, to, rng, route);
      else t.valiant_route(from, to, rng, route);
      channel.assign(route.size(), 0xff);
      t.channels(routing, route, channel);
      for (std::size_t i = 0; i < route.size(); ++i) {
        INFO("from ", from, " to ", to, " hop ", i);
        REQUIRE(channel[i] < count);
        if (i == 0) continue;
        edges.emplace(route[i - 1] * std::size_t{count} + channel[i - 1], route[i] * std::size_t{count} + channel[i]);
      }
    }
  }
  CHECK(acyclic(t.links() * std::size_t{count}, {edges.begin(), edges.end()}));
}

}  // namespace isthmus::testing
