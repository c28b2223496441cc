#include "simulate/network/network.hpp"

#include "base/error.hpp"
#include "simulate/network/flow.hpp"
#include "simulate/network/packet.hpp"
#include "simulate/network/reserve.hpp"

namespace isthmus::simulate {

namespace {
void require_routes(const SimulationOptions& options) {
  const Topology& topology = *options.places.topology;
  if (options.route == RoutingPolicy::minimal || options.route == RoutingPolicy::random || topology.has_valiant())
    return;
  const bool adapts = options.model == Model::packet && topology.virtual_channels(Routing::random) > 0;
  if (options.route == RoutingPolicy::adaptive && adapts) return;
  throw Unsupported(message("routing '", options.route == RoutingPolicy::valiant ? "valiant" : "adaptive", "': a ",
                            topology.kind(), " has no Valiant routes; use one of minimal, random",
                            adapts ? ", adaptive" : ""));
}

void require_slices(const SimulationOptions& options) {
  const double bytes = static_cast<double>(options.places.topology->links()) * options.slices * sizeof(float);
  if (bytes <= most_memory) return;
  constexpr double gib = 1 << 30;
  throw Unsupported(message(options.slices, " slices of time for ", options.places.topology->links(),
                            " links would need about ", static_cast<std::uint64_t>(bytes / gib + 0.5),
                            " GiB, but at most ", static_cast<std::uint64_t>(most_memory / gib),
                            " are allowed: use fewer slices"));
}
}  // namespace

std::unique_ptr<Network> make_network(const SimulationOptions& options) {
  if (options.model == Model::loggops) return nullptr;
  require(options.places.topology != nullptr, "messages can share links only on a machine with a topology");
  for (const LinkClass& c : options.places.topology->link_classes())
    require(c.bandwidth > 0, "links '", c.name, "' have a bandwidth of ", c.bandwidth,
            " bytes per second: must be above 0");
  require_routes(options);
  require_slices(options);
  switch (options.model) {
    case Model::flow: return std::make_unique<FlowNetwork>(options);
    case Model::reserve: return std::make_unique<ReserveNetwork>(options);
    case Model::packet: return std::make_unique<PacketNetwork>(options);
    default: return nullptr;
  }
}

}  // namespace isthmus::simulate
