// The packet model against closed forms, textbook throughputs, and the flow model.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "sample.hpp"
#include "schedule/builder.hpp"
#include "simulate/network/flow.hpp"
#include "simulate/network/packet.hpp"
#include "simulate/simulate.hpp"
#include "small_topologies.hpp"
#include "topology/dragonfly.hpp"
#include "topology/fat_tree.hpp"
#include "topology/grid.hpp"

using namespace isthmus;
using namespace isthmus::topology;
using namespace isthmus::schedule;
using namespace isthmus::simulate;

namespace {

constexpr double per_byte = 1000;  // picoseconds: links and interfaces of 1 GB/s
constexpr Picoseconds latency = 100'000;
constexpr Picoseconds head = latency + 32'000;  // of a hop, with its flit
constexpr RoutingPolicy routes[] = {RoutingPolicy::minimal, RoutingPolicy::random, RoutingPolicy::valiant,
                                    RoutingPolicy::adaptive};

SimulationOptions options_for(Topology& topology, RoutingPolicy route = RoutingPolicy::minimal, double G = per_byte) {
  topology.set_links("default", 1e9, 100e-9);
  SimulationOptions o;
  o.model = Model::packet;
  o.places.topology = &topology;
  o.cost[static_cast<int>(Level::network)].L = 10'000'000;
  o.cost[static_cast<int>(Level::network)].G = G;
  o.route = route;
  return o;
}

struct Sent {
  Vertex from, to;
  std::uint64_t bytes;
  Picoseconds leaves;
};

/// Sends the messages and lets the network go on to its end; what became of each.
std::vector<Passed> run(Network& network, const std::vector<Sent>& messages, double G = per_byte) {
  std::uint32_t id = 0;
  for (const Sent& m : messages) {
    const auto duration = static_cast<Picoseconds>(static_cast<double>(m.bytes) * G + 0.5);
    network.send({id, id, m.from, m.to, 0, 0, m.bytes, m.leaves, duration});
    ++id;
  }
  std::vector<Passed> out(messages.size(), {0, -1, -1}), now;
  std::size_t passed = 0;
  while (network.next() != never) {
    now.clear();
    network.advance(network.next(), now);
    for (const Passed& p : now) {
      CHECK(out[p.message].at == -1);
      out[p.message] = p;
      ++passed;
    }
  }
  CHECK(passed == messages.size());
  return out;
}

/// Messages between random different nodes.
std::vector<Sent> random_traffic(Vertex nodes, std::size_t count, std::uint32_t most_bytes, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Sent> out;
  for (std::size_t i = 0; i < count; ++i) {
    const Vertex from = rng.below(nodes);
    const Vertex to = (from + 1 + rng.below(nodes - 1)) % nodes;
    out.push_back({from, to, 1 + rng.below(most_bytes), rng.below(1'000'000)});
  }
  return out;
}

/// Bytes that arrive per node and time of a link, when every node offers `load` of an interface in packets to
/// `target(node)`: in the second half of the time.
template <class Target>
double throughput(SimulationOptions options, double load, int packets, Target target) {
  const Topology& t = *options.places.topology;
  PacketNetwork network(options);
  const std::uint32_t size = options.packet.bytes;
  const double gap = size * per_byte / load;
  Rng rng(5);
  std::uint32_t id = 0;
  for (int k = 0; k < packets; ++k)
    for (Vertex v = 0; v < t.nodes(); ++v) {
      const auto at = static_cast<Picoseconds>((k + rng.below(1000) / 1000.0) * gap);
      network.send({id++, 0, v, target(v, rng), 0, 0, size, at, static_cast<Picoseconds>(size * per_byte)});
    }
  const auto end = static_cast<Picoseconds>(packets * gap);
  std::vector<Passed> passed;
  std::uint64_t arrived = 0;
  while (network.next() < end) {
    const Picoseconds now = network.next();
    passed.clear();
    network.advance(now, passed);
    if (now > end / 2) arrived += passed.size();
  }
  return static_cast<double>(arrived) * size * per_byte / (static_cast<double>(end) / 2) / t.nodes();
}

Vertex anywhere_else(Vertex v, Vertex nodes, Rng& rng) { return (v + 1 + rng.below(nodes - 1)) % nodes; }

}  // namespace

TEST_CASE("packet: a message that is alone takes hops x (flit / bandwidth + latency) + bytes / bandwidth") {
  std::vector<std::unique_ptr<Topology>> networks;
  networks.push_back(std::make_unique<Grid>(GridParameters{"ring", {9}, {}, "", 0}));
  networks.push_back(std::make_unique<Grid>(GridParameters{"torus", {4, 3, 5}, {}, "", 1}));
  networks.push_back(std::make_unique<FatTree>(FatTreeParameters{"xgft", "", {4, 4}, {1, 2}, {}}));
  networks.push_back(std::make_unique<Dragonfly>(DragonflyParameters{{4}, 2, 2, 9, Arrangement::absolute}));
  for (const auto& t : networks) {
    for (const RoutingPolicy route : routes) {
      if (route == RoutingPolicy::valiant && t->kind() == "xgft") continue;
      for (const double G : {1000.0, 2500.0}) {
        const SimulationOptions o = options_for(*t, route, G);
        for (const std::uint64_t bytes : {1U, 31U, 2048U, 2049U, 100'000U}) {
          for (Vertex to = 1; to < t->nodes(); to += 3) {
            INFO(t->spec(), " ", static_cast<int>(route), " G ", G, " bytes ", bytes, " to ", to);
            PacketNetwork network(o);
            std::vector<LinkId> links;
            t->route(0, to, links);
            const auto duration = static_cast<Picoseconds>(static_cast<double>(bytes) * G);
            CHECK(network.alone(0, to, bytes, links) == static_cast<Picoseconds>(links.size()) * head + duration);
            const Passed passed = run(network, {{0, to, bytes, 77}}, G)[0];
            CHECK(passed.lost == 0);
            CHECK(passed.at == 77 + duration);
            CHECK(network.at_rest());
          }
        }
      }
    }
  }
}

TEST_CASE("packet: alone, wormhole latency (L_f / B) D + L / B for any size of packets, flits and messages") {
  // D links without a latency of their own: the head flit is sent on by D switches, the L bytes follow it.
  Grid line({"linear", {12}, {}, "", 0});
  line.set_links("default", 1e9, 0);
  SimulationOptions o;
  o.places.topology = &line;
  o.cost[static_cast<int>(Level::network)].L = 10'000'000;
  o.cost[static_cast<int>(Level::network)].G = per_byte;
  for (const std::uint32_t packet : {32U, 256U, 2048U, 65'536U}) {
    for (const std::uint32_t flit : {1U, 8U, 32U}) {
      o.packet.bytes = packet;
      o.packet.flit = flit;
      for (const std::uint64_t bytes : {1U, 255U, 2048U, 4097U, 65'537U, 300'000U}) {
        for (const Vertex hops : {1U, 2U, 5U, 11U}) {
          INFO("packets ", packet, " flits ", flit, " bytes ", bytes, " hops ", hops);
          PacketNetwork network(o);
          std::vector<LinkId> links;
          line.route(0, hops, links);
          CHECK(network.alone(0, hops, bytes, links) == static_cast<Picoseconds>((flit * hops + bytes) * 1000));
          CHECK(run(network, {{0, hops, bytes, 5}})[0].lost == 0);
        }
      }
    }
  }
}

TEST_CASE("packet: links that are slower than the interface cost the difference, as in the flow model") {
  Grid ring({"ring", {9}, {}, "", 0});
  SimulationOptions o = options_for(ring, RoutingPolicy::minimal, 400);
  for (const std::uint64_t bytes : {1U, 2048U, 5000U, 65'536U}) {
    PacketNetwork packets(o);
    FlowNetwork flows(o);
    const std::vector<Sent> one = {{0, 3, bytes, 0}};
    const Passed passed = run(packets, one, 400)[0];
    CHECK(passed.lost == static_cast<Picoseconds>(bytes * 600));
    CHECK(passed.lost == run(flows, one, 400)[0].lost);
  }
}

TEST_CASE("packet: small buffers slow even a lone message down, never more than a round trip a packet") {
  Grid line({"linear", {5}, {}, "", 0});
  SimulationOptions o = options_for(line);
  o.packet.buffer = o.packet.bytes;
  PacketNetwork network(o);
  const int packets = 20;
  const Picoseconds lost = run(network, {{0, 4, packets * 2048U, 0}})[0].lost;
  // One packet at a time on every link: its time, the head's way, and the credit's way back.
  const Picoseconds turn = head + 2048 * 1000 + latency;
  CHECK(lost == (packets - 1) * (turn - 2048 * 1000));
}

TEST_CASE("packet: two messages over one link take the sum of their times, and share it evenly") {
  Grid line({"linear", {4}, {}, "", 0});
  for (const std::uint64_t packets : {1U, 2U, 7U, 40U}) {
    const std::uint64_t bytes = packets * 2048;
    const auto time = static_cast<Picoseconds>(bytes * 1000), one = Picoseconds{2'048'000};
    PacketNetwork network(options_for(line));
    // The link from 1 to 2 is busy from the beginning; messages to different nodes, so that nothing else is shared.
    const std::vector<Passed> p = run(network, {{0, 3, bytes, 0}, {1, 2, bytes, 0}});
    const Picoseconds end0 = p[0].lost + 3 * head + time, end1 = p[1].lost + head + time;
    CHECK(std::max(end0 - 2 * head, end1 - head) == 2 * time);
    CHECK(std::abs(end0 - 2 * head - end1 + head) <= 8 * one);  // half a buffer
  }
}

TEST_CASE("packet: an output serves inputs that are always ready evenly") {
  // Three neighbours of a switch send to a fourth; all links are alike.
  FatTree star(FatTreeParameters{"xgft", "", {4}, {1}, {}});
  PacketNetwork network(options_for(star));
  const std::vector<Passed> p = run(network, {{0, 3, 64 * 2048, 0}, {1, 3, 64 * 2048, 0}, {2, 3, 64 * 2048, 0}});
  const auto [least, most] = std::minmax({p[0].lost, p[1].lost, p[2].lost});
  CHECK(most == Picoseconds{2} * 64 * 2'048'000);
  CHECK(most - least <= Picoseconds{2} * 2'048'000);
}

TEST_CASE("packet: heavy traffic drains on every network and routing, with the smallest buffers") {
  const auto networks = testing::small_topologies();
  std::vector<std::pair<const Topology*, RoutingPolicy>> cases;
  for (const auto& network : networks) {
    if (network->nodes() < 2) continue;
    const std::string kind = network->kind();
    for (const RoutingPolicy route : routes) {
      if (route == RoutingPolicy::valiant && (kind == "rail" || kind == "graph" || kind == "xgft")) continue;
      cases.emplace_back(network.get(), route);
    }
  }
  for (const std::size_t i : testing::Sample("packet drains", cases.size(), cases.size() / 3).cases) {
    const auto [t, route] = cases[i];
    INFO(t->spec(), " route ", static_cast<int>(route));
    SimulationOptions o;
    o.places.topology = t;
    o.cost[static_cast<int>(Level::network)].L = 10'000'000;
    o.route = route;
    o.packet.bytes = 256;
    o.packet.buffer = 256;
    PacketNetwork network(o);
    const std::vector<Sent> messages = random_traffic(t->nodes(), 5 * std::min(t->nodes(), 100U), 2000, i + 1);
    for (const Passed& p : run(network, messages, 0)) REQUIRE(p.lost >= 0);
    CHECK(network.at_rest());
  }
}

TEST_CASE("packet: every byte passes every link of its route") {
  Grid torus({"torus", {4, 4}, {}, "", 2});
  SimulationOptions o = options_for(torus);
  o.detail = Detail::ops;
  const std::vector<Sent> messages = random_traffic(torus.nodes(), 200, 10'000, 3);
  for (const RoutingPolicy route : {RoutingPolicy::minimal, RoutingPolicy::random, RoutingPolicy::adaptive}) {
    o.route = route;
    PacketNetwork network(o);
    run(network, messages);
    const Traffic traffic = network.take_traffic();
    double expected = 0;
    for (const Sent& m : messages) expected += static_cast<double>(m.bytes) * torus.route_length(m.from, m.to);
    CHECK(std::accumulate(traffic.bytes().begin(), traffic.bytes().end(), 0.0) == doctest::Approx(expected));
    REQUIRE(traffic.messages().size() == messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const Sent& m = messages[traffic.messages()[i]];
      const std::uint64_t begin = i == 0 ? 0 : traffic.ends()[i - 1];
      Vertex at = m.from;
      for (std::uint64_t k = begin; k < traffic.ends()[i]; ++k) {
        REQUIRE(torus.link(traffic.links()[k]).from == at);
        at = torus.link(traffic.links()[k]).to;
      }
      REQUIRE(at == m.to);
    }
  }
}

TEST_CASE("packet: the same run twice gives the same times; another seed other random routes") {
  Dragonfly t({{4}, 2, 2, 9, Arrangement::absolute});
  const std::vector<Sent> messages = random_traffic(t.nodes(), 500, 20'000, 11);
  const auto lost = [&](RoutingPolicy route, std::uint64_t seed) {
    SimulationOptions o = options_for(t, route);
    o.seed = seed;
    PacketNetwork network(o);
    std::vector<Picoseconds> out;
    for (const Passed& p : run(network, messages)) out.push_back(p.lost);
    return out;
  };
  for (const RoutingPolicy route : routes) CHECK(lost(route, 1) == lost(route, 1));
  CHECK(lost(RoutingPolicy::valiant, 1) != lost(RoutingPolicy::valiant, 2));
}

TEST_CASE("packet: a dragonfly under adversarial traffic: minimal 1 / (a p), Valiant and UGAL towards one half") {
  // All of a group send to the next: its a p nodes share one global link, Valiant's detours 7 of 8 links twice.
  Dragonfly t({{4}, 2, 2, 9, Arrangement::absolute});
  const auto next_group = [](Vertex v, Rng& rng) { return ((v / 8 + 1) % 9) * 8 + rng.below(8); };
  const double minimal = throughput(options_for(t, RoutingPolicy::minimal), 0.6, 600, next_group);
  const double valiant = throughput(options_for(t, RoutingPolicy::valiant), 0.6, 600, next_group);
  const double adaptive = throughput(options_for(t, RoutingPolicy::adaptive), 0.6, 600, next_group);
  MESSAGE("adversarial minimal ", minimal, " valiant ", valiant, " adaptive ", adaptive);
  CHECK(minimal == doctest::Approx(1.0 / 8).epsilon(0.02));
  CHECK(valiant <= 7.0 / 16 * 1.01);
  CHECK(valiant >= 0.38);
  CHECK(adaptive >= 0.38);
  // One link in eight carries minimal routes, of which a packet takes one link instead of two.
  CHECK(adaptive <= 9.0 / 16 * 1.01);
  // Under uniform traffic minimal and adaptive routes do better than Valiant's.
  const auto uniform = [&](Vertex v, Rng& rng) { return anywhere_else(v, t.nodes(), rng); };
  const double uniform_minimal = throughput(options_for(t, RoutingPolicy::minimal), 0.9, 400, uniform);
  const double uniform_adaptive = throughput(options_for(t, RoutingPolicy::adaptive), 0.9, 400, uniform);
  const double uniform_valiant = throughput(options_for(t, RoutingPolicy::valiant), 0.9, 400, uniform);
  MESSAGE("uniform minimal ", uniform_minimal, " valiant ", uniform_valiant, " adaptive ", uniform_adaptive);
  CHECK(uniform_minimal > 0.7);
  CHECK(uniform_adaptive > 0.7);
  CHECK(uniform_valiant <= 0.51);
}

TEST_CASE("packet: uniform traffic saturates tori below the bisection bound, 8 / k links a node") {
  struct Case {
    std::vector<std::uint32_t> dims;
    double bound;
  };
  for (const Case& c : {Case{{16}, 0.5}, Case{{8, 8}, 1.0}, Case{{16, 4}, 0.5}}) {
    Grid t({"torus", c.dims, {}, "", 0});
    const auto uniform = [&](Vertex v, Rng& rng) { return anywhere_else(v, t.nodes(), rng); };
    // Half of the traffic of a node crosses; of n nodes none sends to itself.
    const double bound = c.bound * (t.nodes() - 1) / t.nodes();
    for (const RoutingPolicy route : {RoutingPolicy::minimal, RoutingPolicy::random, RoutingPolicy::adaptive}) {
      const double measured = throughput(options_for(t, route, 0), bound * 1.3, 400, uniform);
      MESSAGE(t.spec(), " route ", static_cast<int>(route), ": ", measured / bound, " of the bound");
      CHECK(measured <= bound * 1.02);  // near destinations get a little more than their part
      CHECK(measured >= bound * 0.6);
    }
    // What is offered below saturation arrives.
    CHECK(throughput(options_for(t, RoutingPolicy::minimal, 0), bound * 0.4, 400, uniform) ==
          doctest::Approx(bound * 0.4).epsilon(0.02));
  }
}

TEST_CASE("packet: random permutations of large messages take as long as in the flow model") {
  std::vector<std::unique_ptr<Topology>> networks;
  networks.push_back(std::make_unique<Grid>(GridParameters{"torus", {4, 4, 4}, {}, "", 0}));
  networks.push_back(std::make_unique<FatTree>(FatTreeParameters{"xgft", "", {8, 8}, {1, 8}, {}}));
  networks.push_back(std::make_unique<Dragonfly>(DragonflyParameters{{4}, 2, 2, 9, Arrangement::absolute}));
  for (const auto& t : networks) {
    double worst_mean = 0, worst_last = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Rng rng(seed);
      std::vector<Vertex> to(t->nodes());
      std::iota(to.begin(), to.end(), 0);
      for (Vertex i = t->nodes() - 1; i > 0; --i) std::swap(to[i], to[rng.below(i + 1)]);
      std::vector<Sent> messages;
      for (Vertex v = 0; v < t->nodes(); ++v)
        if (to[v] != v) messages.push_back({v, to[v], 1 << 18, 0});
      PacketNetwork packets(options_for(*t));
      FlowNetwork flows(options_for(*t));
      double sums[2] = {}, last[2] = {};
      int which = 0;
      for (Network* network : {static_cast<Network*>(&packets), static_cast<Network*>(&flows)}) {
        for (const Passed& p : run(*network, messages)) {
          sums[which] += static_cast<double>(p.at);
          last[which] = std::max(last[which], static_cast<double>(p.at));
        }
        ++which;
      }
      worst_mean = std::max(worst_mean, std::abs(sums[0] / sums[1] - 1));
      worst_last = std::max(worst_last, std::abs(last[0] / last[1] - 1));
    }
    MESSAGE(t->spec(), ": mean ", worst_mean, " last ", worst_last);
    CHECK(worst_mean < 0.15);
    CHECK(worst_last < 0.15);
  }
}

TEST_CASE("packet: a simulation is that of LogGOPS where messages do not meet, and takes longer where they do") {
  constexpr Rank ranks = 12;
  Grid ring({"ring", {ranks}, {}, "", 0});
  for (const Rank distance : {1U, 3U}) {
    // Every rank sends to the one so far behind it and gets from the one as far before, three times.
    ScheduleBuilder builder;
    RankBuilder rank;
    for (Rank r = 0; r < ranks; ++r) {
      for (std::uint32_t i = 0; i < 6; i += 2) {
        rank.add({30'000, (r + distance) % ranks, i, 0, 0, 0, OpKind::send, 0, 0, 0});
        rank.add({30'000, (r + ranks - distance) % ranks, i, 0, 0, 0, OpKind::recv, 0, 0, 0});
        if (i == 0) continue;
        for (const std::uint32_t on : {i - 2, i - 1})
          for (const std::uint32_t op : {i, i + 1}) rank.require(op, on);
      }
      builder.append(rank);
    }
    const Schedule schedule = builder.build();
    for (const RoutingPolicy route : routes) {
      if (route == RoutingPolicy::valiant) continue;  // which makes messages meet
      SimulationOptions o = options_for(ring, route);
      for (Rank r = 0; r < ranks; ++r) o.places.node.push_back(r);
      o.places.socket.resize(ranks);
      o.places.nic.resize(ranks);
      LevelCost& cost = o.cost[static_cast<int>(Level::network)];
      cost.o_send = cost.o_recv = 500'000;
      cost.S = 100'000;
      cost.per_hop = 100'000;
      const Simulated packets = simulate::simulate(schedule, o);
      o.model = Model::flow;
      const Simulated flows = simulate::simulate(schedule, o);
      o.model = Model::loggops;
      const Simulated free = simulate::simulate(schedule, o);
      CHECK(packets.stuck.empty());
      if (distance == 1) CHECK(packets.finish == free.finish);
      else CHECK(packets.makespan > 2 * free.makespan);  // three messages on every link
      CHECK(static_cast<double>(packets.makespan) == doctest::Approx(flows.makespan).epsilon(0.1));
    }
  }
}

TEST_CASE("packet: where the links take longer than the machine's latency a message ends as early as can be told") {
  Grid ring({"ring", {9}, {}, "", 0});
  SimulationOptions o = options_for(ring);
  LevelCost& cost = o.cost[static_cast<int>(Level::network)];
  for (const Picoseconds L : {Picoseconds{0}, Picoseconds{300'000}, Picoseconds{10'000'000}}) {
    cost.L = L;
    PacketNetwork network(o);
    network.send({0, 0, 0, 4, 0, 0, 10, 0, 10'000});
    std::vector<Passed> passed;
    Picoseconds now = 0;
    while (passed.empty()) network.advance(now = network.next(), passed);
    CHECK(passed[0].lost == 0);
    CHECK(now == 4 * head);
    CHECK(passed[0].at == std::max(Picoseconds{10'000}, now - L));
  }
}

TEST_CASE("packet: bad sizes and networks that are too large") {
  Grid ring({"ring", {9}, {}, "", 0});
  SimulationOptions o = options_for(ring);
  o.packet.bytes = 0;
  CHECK_THROWS_AS(PacketNetwork{o}, InvalidInput);
  o.packet.bytes = 16;
  CHECK_THROWS_AS(PacketNetwork{o}, InvalidInput);  // less than a flit
  o.packet.bytes = 2048;
  o.packet.buffer = 2047;
  CHECK_THROWS_AS(PacketNetwork{o}, InvalidInput);
  Grid large({"torus", {300, 300, 300}, {}, "", 0});
  CHECK_THROWS_AS(PacketNetwork{options_for(large)}, Unsupported);
}

TEST_CASE("packet: events come in the order of time, then of their coming") {
  struct Event {
    std::int64_t time;
    std::uint32_t number;
  };
  Rng rng(4);
  for (const std::uint32_t spread : {1U, 5U, 300U, 100'000U, 0x7FFFFFFFU}) {
    TimeQueue<Event> queue;
    std::vector<Event> waiting;  // in the order of their coming
    std::uint32_t number = 0;
    std::int64_t now = 0;
    for (int step = 0; step < 4000; ++step) {
      for (std::uint32_t n = rng.below(step < 2000 ? 4 : 2); n > 0; --n) {
        const std::int64_t far = rng.below(20) == 0 ? std::int64_t{spread} * rng.below(1000) : 0;
        const Event e{now + rng.below(spread) + far, number++};
        queue.push(e);
        waiting.push_back(e);
      }
      if (waiting.empty()) {
        REQUIRE(queue.next() == queue.nothing);
        continue;
      }
      const auto first = std::min_element(waiting.begin(), waiting.end(),
                                          [](const Event& a, const Event& b) { return a.time < b.time; });
      REQUIRE(queue.next() == first->time);
      const Event e = queue.pop([](const Event&) {});
      REQUIRE(e.number == first->number);
      now = e.time;
      waiting.erase(first);
    }
  }
}
