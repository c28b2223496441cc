// Dragonflies over many parameters: the shortcut by way of a third group, the arithmetic of global ports.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "oracles.hpp"
#include "topology/dragonfly.hpp"
#include "topology/global_links.hpp"
#include "topology/nearest_links.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::testing;

namespace {

constexpr Arrangement arrangements[] = {Arrangement::absolute, Arrangement::relative};

/// Distances and route lengths between the nodes (one a router) against search. Groups of the absolute arrangement look
/// different from each other, so all destinations are tried.
void check(const DragonflyParameters& p) {
  const Dragonfly t(p);
  INFO(t.spec());
  const Links links(t);
  std::vector<Vertex> nodes(t.nodes());
  std::iota(nodes.begin(), nodes.end(), 0);
  std::vector<std::uint32_t> many(t.nodes());
  for (Vertex to = 0; to < t.nodes(); ++to) {
    const auto hops = hops_to(links, to);
    const auto one_global = hops_to(links, to, 1);
    // One pair and many pairs are different code.
    t.distances(nodes, std::vector<Vertex>(t.nodes(), to), many);
    for (Vertex from = 0; from < t.nodes(); ++from) {
      if (t.distance(from, to) != hops[from] || many[from] != hops[from] ||
          t.route_length(from, to) != one_global[from]) {
        INFO("from ", from, " to ", to);
        CHECK(t.distance(from, to) == hops[from]);
        CHECK(many[from] == hops[from]);
        CHECK(t.route_length(from, to) == one_global[from]);
        return;
      }
    }
  }
}

}  // namespace

TEST_CASE("distances by way of a third group: flat groups of all small sizes") {
  for (const Arrangement arrangement : arrangements) {
    for (std::uint32_t a = 1; a <= 7; ++a) {
      for (std::uint32_t h = 1; h <= 3; ++h) {
        for (std::uint32_t g = 2; g <= std::min(a * h + 1, 14U); ++g) {
          const std::uint32_t most = a * h / (g - 1);
          // Fewest and most copies and one between; links = 1 leaves ports unused and routers without any.
          for (const std::uint32_t copies : std::set<std::uint32_t>{1, (most + 1) / 2, most}) {
            check({{a}, 0, h, g, arrangement, copies});
          }
        }
      }
    }
  }
}

TEST_CASE("distances by way of a third group: fewer ports than routers, and full dragonflies") {
  for (const Arrangement arrangement : arrangements) {
    for (const std::uint32_t a : {11U, 16U, 23U}) {
      for (const std::uint32_t g : {2U, 3U, 4U, 5U, 7U}) check({{a}, 0, 1, g, arrangement, 1});
    }
    check({{8}, 0, 3, 25, arrangement});
    check({{5}, 0, 5, 26, arrangement});
    check({{2}, 0, 9, 19, arrangement});
  }
}

TEST_CASE("distances in two-dimensional groups") {
  for (const Arrangement arrangement : arrangements) {
    for (const std::vector<std::uint32_t>& a : {std::vector<std::uint32_t>{3, 2}, {2, 4}, {4, 3}, {1, 5}}) {
      for (const std::uint32_t h : {1U, 2U}) {
        for (const std::uint32_t g : {2U, 3U, 6U}) {
          if (a[0] * a[1] * h < g - 1) continue;
          check({a, 0, h, g, arrangement, 0});
          check({a, 0, h, g, arrangement, 1});
        }
      }
    }
  }
}

TEST_CASE("ports of global links: both ends agree, carriers share them evenly") {
  for (const Arrangement arrangement : arrangements) {
    for (std::uint32_t groups = 2; groups <= 9; ++groups) {
      for (std::uint32_t carriers = 1; carriers <= 9; ++carriers) {
        for (std::uint32_t copies = 1; copies * (groups - 1) <= carriers * 4 && copies <= 5; ++copies) {
          const GlobalLinks l("test", arrangement, groups, carriers, 4, copies);
          REQUIRE(l.ports() == copies * (groups - 1));
          for (std::uint32_t g = 0; g < groups; ++g) {
            std::set<std::pair<std::uint32_t, std::uint32_t>> reached;
            for (std::uint32_t port = 0; port < l.ports(); ++port) {
              const std::uint32_t other = l.target(g, l.slot_of(port));
              REQUIRE(other < groups);
              REQUIRE(other != g);
              REQUIRE(l.slot(g, other) == l.slot_of(port));
              REQUIRE(l.port(l.slot_of(port), l.copy_of(port)) == port);
              const std::uint32_t peer = l.peer_port(g, port);
              REQUIRE(peer < l.ports());
              REQUIRE(l.target(other, l.slot_of(peer)) == g);
              REQUIRE(l.copy_of(peer) == l.copy_of(port));
              REQUIRE(l.peer_port(other, peer) == port);
              reached.emplace(other, l.copy_of(port));
            }
            REQUIRE(reached.size() == l.ports());
          }
          std::uint32_t most = 0;
          for (std::uint32_t carrier = 0; carrier < carriers; ++carrier) {
            std::vector<std::uint32_t> own;
            for (std::uint32_t port = 0; port < l.ports(); ++port) {
              if (l.carrier(port) == carrier) own.push_back(port);
            }
            REQUIRE(own.size() == l.first_port(carrier + 1) - l.first_port(carrier));
            if (!own.empty()) REQUIRE(own.front() == l.first_port(carrier));
            most = std::max(most, static_cast<std::uint32_t>(own.size()));
            for (std::uint32_t slot = 0; slot + 1 < groups; ++slot) {
              const auto range = l.copies_on(carrier, slot);
              for (std::uint32_t copy = 0; copy < copies; ++copy) {
                REQUIRE((range.first <= copy && copy < range.last) == (l.carrier(l.port(slot, copy)) == carrier));
              }
            }
          }
          REQUIRE(most == l.most_ports());
          REQUIRE(most <= 4);  // no more than a carrier has
        }
      }
    }
  }
}

TEST_CASE("an intermediate group of Valiant routing is a third one, and every one of them is drawn") {
  const Dragonfly t({{4}, 2, 2, 9, Arrangement::absolute});
  const Vertex per_group = 8;
  Rng rng(9);
  for (const Vertex to : {Vertex{3}, Vertex{40}}) {  // in the source's group, in another
    std::set<Vertex> through;
    for (int i = 0; i < 600; ++i) {
      std::vector<LinkId> route;
      t.valiant_route(0, to, rng, route);
      std::set<Vertex> groups;
      for (const LinkId id : route) {
        const Vertex v = t.link(id).to;
        const Vertex router = v < t.nodes() ? v / 2 : v - t.nodes();
        groups.insert(router / 4);
      }
      groups.erase(0);
      groups.erase(to / per_group);
      REQUIRE(groups.size() == 1);
      through.insert(*groups.begin());
    }
    CHECK(through.size() == (to / per_group == 0 ? 8 : 7));
  }
}

namespace {

/// The links between two groups that routes from r to s may take, all compared: those with the fewest links in all.
std::vector<LinkId> nearest(const Dragonfly& t, Vertex r, Vertex s, std::uint32_t group_size) {
  std::vector<LinkId> best;
  std::uint32_t least = ~0U;
  for (LinkId id = 0; id < t.links(); ++id) {
    const Link link = t.link(id);
    if (link.from / group_size != r / group_size || link.to / group_size != s / group_size) continue;
    const std::uint32_t length = t.router_route_length(r, link.from) + 1 + t.router_route_length(link.to, s);
    if (length > least) continue;
    if (length < least) best.clear();
    least = length;
    best.push_back(id);
  }
  CHECK(t.router_route_length(r, s) == least);
  return best;
}

}  // namespace

TEST_CASE("routes take the link between groups that a comparison of all picks") {
  for (const Arrangement arrangement : arrangements) {
    // More than 64 links between two groups, exactly 64, few, and one; groups of one to three dimensions.
    for (const DragonflyParameters& p : std::vector<DragonflyParameters>{{{4, 3}, 0, 12, 2},
                                                                         {{4, 4}, 0, 8, 3},
                                                                         {{2, 3, 2}, 0, 11, 3},
                                                                         {{5}, 0, 26, 3},
                                                                         {{3, 2}, 0, 2, 5},
                                                                         {{6}, 0, 1, 4}}) {
      DragonflyParameters q = p;
      q.arrangement = arrangement;
      const Dragonfly t(q);
      INFO(t.spec());
      const auto a = t.nodes() / p.groups;
      std::vector<LinkId> route;
      for (Vertex r = 0; r < a; ++r)
        for (Vertex s = a; s < t.nodes(); ++s) {
          const std::vector<LinkId> links = nearest(t, r, s, a);
          for (const std::uint32_t salt : {0U, 1U, 7U, 1000U, ~0U}) {
            route.resize(t.router_route_length(r, s));
            CHECK(t.write_router_route(r, s, salt, route.data()) == route.data() + route.size());
            CHECK(std::count(route.begin(), route.end(), links[salt % links.size()]) == 1);
          }
        }
    }
  }
}

TEST_CASE("links between groups are chosen alike with and without a table") {
  const AllToAll local("dragonfly", {4, 3}, {}, 3);
  const GlobalLinks global("dragonfly", Arrangement::relative, 3, 12, 25, 0);
  CHECK(global.copies() == 150);
  const NearestLinks table(local, global), none(local, global, 0);
  for (std::uint32_t i = 0; i < 12; ++i)
    for (std::uint32_t j = 0; j < 12; ++j) {
      const NearestLinks::End from{i, 0}, to{j, 1};
      const std::uint32_t length = table.length(from, to);
      CHECK(none.length(from, to) == length);
      for (std::uint32_t salt = 0; salt < 160; ++salt)
        CHECK(table.choose(from, to, length, salt) == none.choose(from, to, length, salt));
    }
}
