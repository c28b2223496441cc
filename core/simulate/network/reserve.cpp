#include "simulate/network/reserve.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/prefetch.hpp"
#include "simulate/model/costs.hpp"

namespace isthmus::simulate {

ReserveNetwork::ReserveNetwork(const SimulationOptions& options)
    : topology_(options.places.topology),
      router_(*topology_, options.route, options.seed),
      interface_per_byte_(least_of(options.cost[static_cast<int>(Level::network)]).G),
      nics_(options.places.nics),
      log_routes_(options.detail == Detail::ops),
      traffic_(topology_->links(), options.slices),
      places_(topology_->links() + std::size_t{topology_->nodes()} * nics_ * 2) {
  for (const LinkClass& c : topology_->link_classes()) link_per_byte_.push_back(1e12 / c.bandwidth);
}

void ReserveNetwork::send(const Passage& p) {
  std::uint32_t id;
  if (unused_.empty()) {
    id = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Message& m = messages_[id];
  m.passage = p;
  m.end = p.leaves + p.duration;
  const std::vector<LinkId>& route = router_.route(p.from, p.to, [&](LinkId l) {
    return static_cast<double>(std::max<Picoseconds>(places_[l].free - p.leaves, 0));
  });
  if (log_routes_) traffic_.log(p.op, route);
  const std::uint32_t interfaces = topology_->links();
  m.path.clear();
  m.path.push_back(interfaces + 2 * (p.from * nics_ + p.nic_from));
  m.path.insert(m.path.end(), route.begin(), route.end());
  m.path.push_back(interfaces + 2 * (p.to * nics_ + p.nic_to) + 1);
  heads_.push({p.leaves, id, 0});
}

void ReserveNetwork::advance(Picoseconds now, std::vector<Passed>& passed) {
  const auto soon = [this](const Head& head) { prefetch_line(&messages_[head.message]); };
  while (heads_.next() <= now) {
    const Picoseconds time = heads_.next();
    now_.clear();
    while (heads_.next() == time) now_.push_back(heads_.pop(soon));
    // A head that finds its link free is at the next one at once, behind those that are there already.
    for (std::size_t i = 0; i < now_.size(); ++i) pass(now_[i], passed);
  }
}

void ReserveNetwork::pass(Head head, std::vector<Passed>& passed) {
  Message& m = messages_[head.message];
  ++steps_;
  const std::uint32_t at = m.path[head.hop];
  Place& place = places_[at];
  if (place.per_byte < 0) place.per_byte = per_byte(at);
  const Picoseconds start = std::max(head.time, place.free);
  const double takes = static_cast<double>(m.passage.bytes) * place.per_byte;
  require(takes < static_cast<double>(latest - start), "a link is taken for more than ", latest / 1'000'000'000'000,
          " s, the longest time that can be simulated");
  place.free = start + static_cast<Picoseconds>(takes + 0.5);
  m.end = std::max(m.end, place.free);
  if (at < topology_->links()) traffic_.add(at, static_cast<double>(m.passage.bytes), start, place.free);
  if (++head.hop < m.path.size()) {
    if (start > head.time) heads_.push({start, head.message, head.hop});
    else now_.push_back(head);
    return;
  }
  passed.push_back({m.passage.message, m.end, m.end - m.passage.leaves - m.passage.duration});
  unused_.push_back(head.message);
}

}  // namespace isthmus::simulate
