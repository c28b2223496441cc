#include "simulate/network/packet.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/prefetch.hpp"
#include "simulate/model/costs.hpp"

namespace isthmus::simulate {

namespace {
template <class T>
std::uint32_t take(std::vector<std::uint32_t>& unused, std::vector<T>& all) {
  if (!unused.empty()) {
    const std::uint32_t id = unused.back();
    unused.pop_back();
    return id;
  }
  all.emplace_back();
  return static_cast<std::uint32_t>(all.size() - 1);
}

/// Both ends of an object of up to two cache lines.
template <class T>
void prefetch_object(const T& object) {
  prefetch_line(&object);
  prefetch_line(reinterpret_cast<const char*>(&object + 1) - 1);
}
}  // namespace

PacketNetwork::PacketNetwork(const SimulationOptions& options)
    : topology_(options.places.topology),
      cost_(options.cost[static_cast<int>(Level::network)]),
      fabric_(options),
      router_(*topology_, options.route, options.seed),
      channels_(Routing::minimal),
      adaptive_(Adaptive::no),
      rng_(options.seed),
      traffic_(topology_->links(), options.slices),
      log_routes_(options.detail == Detail::ops),
      packets_(1),
      messages_(1),
      routes_(1) {
  switch (options.route) {
    case RoutingPolicy::minimal: break;
    case RoutingPolicy::random: channels_ = Routing::random; break;
    case RoutingPolicy::valiant: channels_ = Routing::valiant; break;
    case RoutingPolicy::adaptive:
      channels_ = Routing::valiant;
      if (topology_->kind().starts_with("dragonfly")) {
        adaptive_ = Adaptive::source;
      } else if (const std::uint32_t needed = topology_->virtual_channels(Routing::random); needed > 0) {
        adaptive_ = Adaptive::hop;
        one_channel_ = needed == 1;
      }
  }
}

void PacketNetwork::send(const Passage& passage) {
  const std::uint64_t size = fabric_.packet();
  const std::uint64_t packets = (passage.bytes + size - 1) / size;
  require(packets <= 0xFFFFFFFF, "a message of ", passage.bytes, " bytes has more than 4294967295 packets of ", size,
          " bytes: use larger packets");
  const std::uint32_t id = take(unused_messages_, messages_);
  messages_[id] = Message{};
  messages_[id].passage = passage;
  messages_[id].left = passage.bytes;
  messages_[id].packets = static_cast<std::uint32_t>(packets);
  push(passage.leaves, Happening::message, id);
}

void PacketNetwork::advance(Picoseconds now, std::vector<Passed>& passed) {
  passed_ = &passed;
  while (events_.next() <= now) {
    const Event e = events_.pop([&](const Event& soon) { prefetch(soon); });
    if (const Event* ahead = events_.peek(4); ahead != nullptr) prefetch_further(*ahead);
    if (const Event* ahead = events_.peek(2); ahead != nullptr) prefetch_last(*ahead);
    now_ = e.time;
    ++steps_;
    switch (e.type()) {
      case Happening::message: start(e.what); break;
      case Happening::head: arrive(e.what, e.rest()); break;
      case Happening::free:
        fabric_.ports[e.what].wakes = false;
        arbitrate(e.what);
        break;
      case Happening::credit: {
        Channel& c = fabric_.channels[e.what];
        Port& p = fabric_.ports[c.port];
        c.room += e.rest();
        p.load -= e.rest();
        if (c.head != 0 && p.busy <= now_ && !p.wakes) arbitrate(c.port);
        break;
      }
    }
  }
  now_ = now;
  passed_ = nullptr;
}

/// Ports have numbers in the order of their first use.
void PacketNetwork::write(Picoseconds now, StateWriter& state) const {
  for (const Port& p : fabric_.ports) state.number(std::max<Picoseconds>(p.busy - now, 0));
}

// -- messages and the interfaces that they leave by -------------------------------------------------------------------

void PacketNetwork::start(std::uint32_t id) {
  Message& m = messages_[id];
  const Passage& p = m.passage;
  if (adaptive_ == Adaptive::no) {
    const std::vector<LinkId>& links = router_.route(p.from, p.to, [&](LinkId l) { return fabric_.load(l); });
    m.route = make_route(p, links, channels_);
    double slowest = 0;
    m.alone = alone(p.bytes, m.route, slowest);
    const auto needed = static_cast<Picoseconds>(std::llround(static_cast<double>(p.bytes) * slowest));
    m.slowed = needed - p.duration > 1 ? needed - p.duration : 0;
    if (log_routes_) traffic_.log(p.op, links);
  }
  const std::uint32_t channel = fabric_.injection_channel(p.from, p.nic_from);
  Channel& c = fabric_.channels[channel];
  (c.head == 0 ? c.head : messages_[c.tail].next) = id;
  c.tail = id;
  Port& port = fabric_.ports[c.port];
  ++port.waiting;
  if (port.waiting > 1 || port.wakes) return;
  if (port.busy > now_) wake(c.port);
  else inject(c.port);
}

void PacketNetwork::inject(std::uint32_t at) {
  Port& port = fabric_.ports[at];
  Channel& c = fabric_.channels[port.first];
  const std::uint32_t id = c.head;
  if (id == 0) return;
  Message& m = messages_[id];
  const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(fabric_.packet(), m.left));
  if (c.room < bytes) return;  // the credit comes
  const Picoseconds time = fabric_.time_of(fabric_.kind(c), bytes);
  const std::uint32_t packet = take(unused_packets_, packets_);
  packets_[packet] = {
      now_ + time, 0, id, bytes, m.route, port.first, at, order_++, 1, c.kind, m.left == m.passage.bytes};
  ++hops_;
  m.left -= bytes;
  c.room -= bytes;
  port.load += bytes;
  port.busy = now_ + time;
  // Messages take turns.
  if (m.left == 0 || m.next != 0) {
    c.head = m.next;
    m.next = 0;
    if (m.left > 0) {
      messages_[c.tail].next = id;
      c.tail = id;
    }
  }
  if (m.left == 0) --port.waiting;
  if (port.waiting > 0) wake(at);
  arrive(packet, m.route == 0 ? 0 : routes_[m.route + 2]);
}

// -- packets ----------------------------------------------------------------------------------------------------------

void PacketNetwork::arrive(std::uint32_t id, std::uint32_t channel) {
  if (channel == 0) channel = choose_channel(id);
  Packet& packet = packets_[id];
  Channel& c = fabric_.channels[channel];
  Port& port = fabric_.ports[c.port];
  port.load += packet.bytes;
  if (c.head == 0 && port.busy <= now_ && !port.wakes && c.room >= packet.bytes) return go(id, channel);
  enqueue(id, channel);
  ++port.waiting;
  if (port.busy > now_ && !port.wakes) wake(c.port);
}

void PacketNetwork::enqueue(std::uint32_t id, std::uint32_t channel) {
  Channel& c = fabric_.channels[channel];
  const Packet& packet = packets_[id];
  Waiting last{turns_.take(fabric_.ports[c.port].turns, packet.source, packet.bytes), packet.order, id};
  if (c.head == 0) return put_first(c, last);
  if (const Waiting head = first_of(c); last.before(head)) {
    put_first(c, last);
    last = head;
  }
  if (channel >= queues_.size()) queues_.resize(fabric_.channels.size());
  Queue& queue = queues_[channel];
  std::vector<Waiting>& packets = queue.packets;
  // The turns of those that come last are usually the last.
  std::size_t at = packets.size();
  packets.push_back(last);
  for (; at > queue.first && last.before(packets[at - 1]); --at) packets[at] = packets[at - 1];
  packets[at] = last;
  ++c.tail;
}

/// The packet whose turn it is.
std::uint32_t PacketNetwork::dequeue(std::uint32_t channel) {
  Channel& c = fabric_.channels[channel];
  const std::uint32_t id = c.head;
  if (c.tail == 0) {
    c.head = 0;
    return id;
  }
  --c.tail;
  Queue& queue = queues_[channel];
  put_first(c, queue.packets[queue.first++]);
  if (c.tail == 0) {
    queue.packets.clear();
    queue.first = 0;
  } else if (queue.first >= 16 && 2 * queue.first >= queue.packets.size()) {
    queue.packets.erase(queue.packets.begin(), queue.packets.begin() + static_cast<std::ptrdiff_t>(queue.first));
    queue.first = 0;
  }
  return id;
}

/// The port is free or has got a credit: it takes the packet whose turn is first of those that may go.
void PacketNetwork::arbitrate(std::uint32_t at) {
  Port& port = fabric_.ports[at];
  if (port.waiting == 0) return;
  if (fabric_.injects(fabric_.channels[port.first])) return inject(at);
  std::uint32_t best = 0;
  for (std::uint32_t c = port.first; c != 0; c = fabric_.channels[c].next) {
    const Channel& channel = fabric_.channels[c];
    if (channel.head == 0) continue;
    if (channel.room < fabric_.packet() && channel.room < packets_[channel.head].bytes) continue;
    if (best == 0 || first_of(channel).before(first_of(fabric_.channels[best]))) best = c;
  }
  if (best == 0) return;
  --port.waiting;
  FairTurns::go(port.turns, fabric_.channels[best].turn, fabric_.packet(), port.waiting == 0);
  const std::uint32_t id = dequeue(best);
  go(id, best);
}

void PacketNetwork::go(std::uint32_t id, std::uint32_t channel) {
  Packet& packet = packets_[id];
  Channel& c = fabric_.channels[channel];
  Port& port = fabric_.ports[c.port];
  const PortClass& kind = fabric_.kind(c);
  const Picoseconds end = std::max(now_ + fabric_.time_of(kind, packet.bytes), packet.tail);
  ++hops_;
  port.busy = end;
  if (port.waiting > 0) wake(c.port);
  push(end + fabric_.kind(packet.kind).latency, Happening::credit, packet.buffer, packet.bytes);
  if (fabric_.ejects(c)) {
    port.load -= packet.bytes;
    return finish(id, end);
  }
  traffic_.add(port.link, packet.bytes, now_, end);
  c.room -= packet.bytes;
  packet.buffer = channel;
  packet.kind = c.kind;
  packet.tail = end + kind.head;
  packet.latency += kind.head;
  ++packet.hop;
  push(now_ + kind.head, Happening::head, id, packet.route == 0 ? 0 : routes_[packet.route + 1 + packet.hop]);
}

/// Memory that an event will touch.
void PacketNetwork::prefetch(const Event& e) const {
  switch (e.type()) {
    case Happening::message: prefetch_object(messages_[e.what]); break;
    case Happening::head:
      prefetch_object(packets_[e.what]);
      prefetch_line(&fabric_.channels[e.rest()]);
      break;
    case Happening::free: prefetch_line(&fabric_.ports[e.what]); break;
    case Happening::credit: prefetch_line(&fabric_.channels[e.what]); break;
  }
}

/// The same for what is known when that memory is there.
void PacketNetwork::prefetch_further(const Event& e) const {
  switch (e.type()) {
    case Happening::message: fabric_.prefetch_injection(messages_[e.what].passage.from); break;
    case Happening::head:
      prefetch_line(&fabric_.ports[fabric_.channels[e.rest()].port]);
      prefetch_line(routes_.data() + packets_[e.what].route + packets_[e.what].hop);
      break;
    case Happening::free: {
      const std::uint32_t channel = fabric_.ports[e.what].first;
      prefetch_line(&fabric_.channels[channel]);
      prefetch_line(queues_.data() + channel);
      break;
    }
    case Happening::credit: prefetch_line(&fabric_.ports[fabric_.channels[e.what].port]); break;
  }
}

/// The same for the turn that a packet may have to take, and for the packet that goes next.
void PacketNetwork::prefetch_last(const Event& e) const {
  switch (e.type()) {
    case Happening::message: break;
    case Happening::head: {
      if (e.rest() == 0) break;
      const Port& port = fabric_.ports[fabric_.channels[e.rest()].port];
      if (port.busy > e.time) turns_.prefetch(port.turns, packets_[e.what].source);
      break;
    }
    case Happening::free: prefetch_line(&packets_[fabric_.channels[fabric_.ports[e.what].first].head]); break;
    case Happening::credit: prefetch_line(&packets_[fabric_.channels[e.what].head]); break;
  }
}

void PacketNetwork::wake(std::uint32_t at) {
  fabric_.ports[at].wakes = true;
  push(fabric_.ports[at].busy, Happening::free, at);
}

void PacketNetwork::finish(std::uint32_t id, Picoseconds end) {
  const Packet& packet = packets_[id];
  Message& m = messages_[packet.message];
  if (end > m.end) {
    m.end = end;
    m.latency = packet.latency;
  }
  if (adaptive_ == Adaptive::source) drop_route(packet.route);
  unused_packets_.push_back(id);
  if (--m.packets == 0) report(packet.message);
}

void PacketNetwork::report(std::uint32_t id) {
  const Message& m = messages_[id];
  const Passage& p = m.passage;
  Picoseconds lost;
  if (adaptive_ == Adaptive::no) {
    lost = m.end - p.leaves - m.alone;
    ISTHMUS_ASSERT(lost >= 0);
    lost += m.slowed;
    drop_route(m.route);
  } else {
    // Packets that take different ways may be faster than one way; each may be rounded by a picosecond.
    lost = m.end - p.leaves - m.latency - p.duration;
    if (lost <= static_cast<Picoseconds>(p.bytes / fabric_.packet() + 1)) lost = 0;
  }
  const std::uint32_t links = topology_->route_length(p.from, p.to);
  const Picoseconds wire = piece_of(cost_, p.bytes + 1).L + (links > 0 ? links - 1 : 0) * cost_.per_hop;
  passed_->push_back({p.message, std::max(p.leaves + p.duration + lost, now_ - wire), lost});
  unused_messages_.push_back(id);
}

// -- routes -----------------------------------------------------------------------------------------------------------

std::uint32_t PacketNetwork::make_route(const Passage& p, const std::vector<LinkId>& links, Routing routing,
                                        std::uint32_t before) {
  const auto length = static_cast<std::uint32_t>(links.size() + 2);
  require(length < 0xFFFF, "a route of ", links.size(), " links: the packet model allows 65532");
  numbers_.resize(links.size());
  topology_->channels(routing, links, numbers_);
  if (length >= unused_routes_.size()) unused_routes_.resize(length + 1);
  std::uint32_t route;
  if (unused_routes_[length].empty()) {
    require(routes_.size() + length < 0xFFFFFFFF, "too many packets are in flight at once");
    route = static_cast<std::uint32_t>(routes_.size());
    routes_.resize(routes_.size() + length + 1);
  } else {
    route = unused_routes_[length].back();
    unused_routes_[length].pop_back();
  }
  std::uint32_t at = route;
  routes_[at++] = length;
  routes_[at++] = fabric_.injection_channel(p.from, p.nic_from);
  for (std::size_t i = 0; i < links.size(); ++i) routes_[at++] = fabric_.link_channel(links[i], before + numbers_[i]);
  routes_[at] = fabric_.ejection_channel(p.to, p.nic_to);
  return route;
}

void PacketNetwork::drop_route(std::uint32_t route) { unused_routes_[routes_[route]].push_back(route); }

/// The channel that a packet without a route wants next.
std::uint32_t PacketNetwork::choose_channel(std::uint32_t id) {
  Packet& packet = packets_[id];
  const Message& m = messages_[packet.message];
  if (adaptive_ == Adaptive::hop) return best_link(id, m);
  if (packet.hop == 1 && topology_->switches() > 0) {  // a node of a dragonfly has one link, to its switch
    links_.clear();
    topology_->out_links(m.passage.from, links_);
    return fabric_.link_channel(links_.front(), 0);
  }
  packet.route = decide(packet, m);
  return routes_[packet.route + 1 + packet.hop];
}

/// UGAL-L.
std::uint32_t PacketNetwork::decide(const Packet& packet, const Message& m) {
  const Passage& p = m.passage;
  links_.clear();
  topology_->route(p.from, p.to, links_);
  const std::size_t here = packet.hop - 1;
  if (links_.size() > here + 1) {
    detour_.clear();
    topology_->valiant_route(p.from, p.to, rng_, detour_);
    const auto cost = [&](const std::vector<LinkId>& links) {
      return fabric_.load(links[here]) * static_cast<double>(links.size() - here);
    };
    if (cost(detour_) < cost(links_)) {
      if (packet.first && log_routes_) traffic_.log(p.op, detour_);
      return make_route(p, detour_, Routing::valiant, topology_->virtual_channels(Routing::minimal));
    }
  }
  if (packet.first && log_routes_) traffic_.log(p.op, links_);
  return make_route(p, links_, Routing::minimal);
}

/// The minimal link with the least in front of it and behind it.
std::uint32_t PacketNetwork::best_link(std::uint32_t id, const Message& m) {
  const Packet& packet = packets_[id];
  const Passage& p = m.passage;
  const Port& came = fabric_.ports[fabric_.channels[packet.buffer].port];
  const bool logs = packet.first && log_routes_;
  if (came.to == p.to) {
    if (logs) {
      traffic_.log(p.op, trails_[packet.message]);
      trails_.erase(packet.message);
    }
    return fabric_.ejection_channel(p.to, p.nic_to);
  }
  links_.clear();
  topology_->minimal_links(came.to, p.to, links_);
  LinkId best = links_.front();
  for (const LinkId l : links_)
    if (fabric_.load(l) < fabric_.load(best)) best = l;
  if (logs) trails_[packet.message].push_back(best);
  return fabric_.link_channel(best, one_channel_ ? 0 : packet.hop - 1U);
}

// -- when nobody is in the way ----------------------------------------------------------------------------------------

Picoseconds PacketNetwork::alone(std::uint64_t bytes, std::uint32_t route, double& slowest_byte) const {
  const std::uint64_t size = fabric_.packet();
  const auto before = static_cast<Picoseconds>((bytes - 1) / size);  // whole packets before the last
  const auto last = static_cast<std::uint32_t>(bytes - static_cast<std::uint64_t>(before) * size);
  Picoseconds first = 0;    // when the first packet leaves a port
  Picoseconds slowest = 0;  // time of a whole packet on the slowest link so far: whole packets follow so fast
  Picoseconds head = 0;     // of the last packet, at the port
  Picoseconds tail = 0;
  const std::uint32_t* channels = &routes_[route + 1];
  for (std::uint32_t i = 0; i < routes_[route]; ++i) {
    const PortClass& kind = fabric_.kind(fabric_.channels[channels[i]]);
    slowest = std::max(slowest, kind.full);
    slowest_byte = std::max(slowest_byte, kind.per_byte);
    const Picoseconds begin = std::max(head, before > 0 ? first + before * slowest : 0);
    const Picoseconds end = std::max(begin + fabric_.time_of(kind, last), tail);
    head = begin + kind.head;
    tail = end + kind.head;
    first += kind.head;
  }
  return tail;
}

Picoseconds PacketNetwork::alone(Vertex from, Vertex to, std::uint64_t bytes, const std::vector<LinkId>& links) {
  Passage p{};
  p.from = from;
  p.to = to;
  const std::uint32_t route = make_route(p, links, Routing::minimal);
  double slowest_byte = 0;
  const Picoseconds time = alone(bytes, route, slowest_byte);
  drop_route(route);
  return time;
}

}  // namespace isthmus::simulate
