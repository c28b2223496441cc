// Flows over given links in SimGrid's fluid model, nothing but the sharing: tests/proof/sharing.py compiles and runs
// it.
//
//     fluid INPUT --cfg=network/model:CM02 ...
//
// INPUT holds words separated by white space: the number of nodes, the number of links and their bandwidths (bytes/s),
// the number of pairs of nodes and for each "from to length link...", the number of flows and for each "start pair
// bytes", starts (seconds) ascending. Prints the time at which each flow ends, one a line.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

namespace s4u = simgrid::s4u;

namespace {
struct Flow {
  double start;
  std::size_t pair;
  std::uint64_t bytes;
};

template <class T>
T next(std::istream& in) {
  T value{};
  if (!(in >> value)) {
    std::fputs("the input ends too early or is malformed\n", stderr);
    std::exit(2);
  }
  return value;
}
}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  std::ifstream in(argv[1]);
  auto* zone = s4u::create_full_zone("network");

  std::vector<s4u::Host*> hosts(next<std::size_t>(in));
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i] = zone->create_host("n" + std::to_string(i), 1e9);
  std::vector<s4u::Link*> links(next<std::size_t>(in));
  for (std::size_t i = 0; i < links.size(); ++i)
    links[i] = zone->create_link("l" + std::to_string(i), next<double>(in))->set_latency(0.0)->seal();

  std::vector<std::pair<s4u::Host*, s4u::Host*>> pairs(next<std::size_t>(in));
  for (auto& [from, to] : pairs) {
    from = hosts.at(next<std::size_t>(in));
    to = hosts.at(next<std::size_t>(in));
    std::vector<s4u::LinkInRoute> route;
    for (auto left = next<std::size_t>(in); left > 0; --left) route.emplace_back(links.at(next<std::size_t>(in)));
    zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
  }
  zone->seal();

  std::vector<Flow> flows(next<std::size_t>(in));
  for (Flow& f : flows) f = {next<double>(in), next<std::size_t>(in), next<std::uint64_t>(in)};

  s4u::Actor::create("starter", hosts.at(0), [&] {
    std::vector<s4u::CommPtr> comms;
    for (const Flow& f : flows) {
      s4u::this_actor::sleep_until(f.start);
      const auto& [from, to] = pairs.at(f.pair);
      comms.push_back(s4u::Comm::sendto_async(from, to, f.bytes));
    }
    for (const auto& comm : comms) comm->wait();
    for (const auto& comm : comms) std::printf("%.15e\n", comm->get_finish_time());
  });
  engine.run();
  return 0;
}
