#include "simulate/engine/resources.hpp"

#include <numeric>

#include "base/error.hpp"

namespace isthmus::simulate {

Resources::Resources(Rank ranks, std::uint32_t cpus, std::uint32_t nics, const Places& places)
    : cpus_(cpus), stride_(cpus + 2 * nics), shared_(places.topology != nullptr), places_(&places) {
  std::uint64_t nodes = 0;
  if (shared_) {
    require(places.node.size() == ranks && places.socket.size() == ranks && places.nic.size() == ranks,
            "the placement has ", places.node.size(), " ranks, the schedule ", ranks);
    require(places.nics >= 1, "a node needs at least one network interface");
    for (const Vertex node : places.node)
      require(node < places.topology->nodes(), "the placement uses node ", node, ", but the machine has ",
              places.topology->nodes());
    // Nodes numbered in the order of their ids, without a table of the whole machine.
    std::vector<std::uint32_t> order(ranks);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return places.node[a] < places.node[b]; });
    node_slot_.resize(ranks);
    for (std::uint32_t i = 0; i < ranks; ++i) {
      if (i == 0 || places.node[order[i]] != places.node[order[i - 1]]) ++nodes;
      node_slot_[order[i]] = static_cast<std::uint32_t>(nodes - 1);
    }
  }
  own_ = std::uint64_t{ranks} * stride_;
  const std::uint64_t all = own_ + nodes * 2 * places.nics;
  require(all <= 0xFFFFFFFF, ranks, " ranks with ", cpus, " CPU streams and ", nics,
          " interfaces each are more than the simulator can number");
  node_first_ = static_cast<std::uint32_t>(own_);
  resources_.resize(all);
}

}  // namespace isthmus::simulate
