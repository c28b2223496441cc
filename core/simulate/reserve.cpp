#include "simulate/reserve.hpp"

#include <algorithm>
#include <cmath>

namespace isthmus {

ReserveNetwork::ReserveNetwork(const SimulationOptions& options)
    : topology_(options.places.topology),
      router_(*topology_, options.route, options.seed),
      per_byte_(options.cost[static_cast<int>(Level::network)].G),
      nics_(options.places.nics),
      log_routes_(options.detail == Detail::ops),
      traffic_(topology_->links(), options.slices),
      free_(topology_->links() + std::size_t{topology_->nodes()} * nics_ * 2) {
  for (const LinkClass& c : topology_->link_classes()) link_per_byte_.push_back(1e12 / c.bandwidth);
}

Picoseconds ReserveNetwork::take(std::size_t link, Picoseconds head, double per_byte, std::uint64_t bytes,
                                 Picoseconds& end) {
  const Picoseconds start = std::max(head, free_[link]);
  free_[link] = start + static_cast<Picoseconds>(static_cast<double>(bytes) * per_byte + 0.5);
  end = std::max(end, free_[link]);
  return start;
}

Picoseconds ReserveNetwork::send(const Passage& p) {
  const std::vector<LinkId>& route = router_.route(
      p.from, p.to, [&](LinkId l) { return static_cast<double>(std::max<Picoseconds>(free_[l] - p.leaves, 0)); });
  if (log_routes_) traffic_.log(p.op, route);
  const std::size_t interfaces = topology_->links();
  Picoseconds end = p.leaves + p.duration;
  const Picoseconds alone = end;
  Picoseconds head =
      take(interfaces + 2 * (std::size_t{p.from} * nics_ + p.nic_from), p.leaves, per_byte_, p.bytes, end);
  for (const LinkId l : route) {
    head = take(l, head, link_per_byte_[topology_->link_class(l)], p.bytes, end);
    traffic_.add(l, static_cast<double>(p.bytes), head, free_[l]);
  }
  take(interfaces + 2 * (std::size_t{p.to} * nics_ + p.nic_to) + 1, head, per_byte_, p.bytes, end);
  return end - alone;
}

}  // namespace isthmus
