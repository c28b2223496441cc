#include "simulate/network.hpp"

#include "base/error.hpp"
#include "simulate/flow.hpp"
#include "simulate/packet.hpp"
#include "simulate/reserve.hpp"

namespace isthmus {

std::unique_ptr<Network> make_network(const SimulationOptions& options) {
  if (options.model == Model::loggops) return nullptr;
  require(options.places.topology != nullptr, "only on a machine with a topology can messages meet");
  for (const LinkClass& c : options.places.topology->link_classes())
    require(c.bandwidth > 0, "links '", c.name, "' have a bandwidth of ", c.bandwidth,
            " bytes per second: a network needs more than 0");
  switch (options.model) {
    case Model::flow: return std::make_unique<FlowNetwork>(options);
    case Model::reserve: return std::make_unique<ReserveNetwork>(options);
    case Model::packet: return std::make_unique<PacketNetwork>(options);
    default: return nullptr;
  }
}

}  // namespace isthmus
