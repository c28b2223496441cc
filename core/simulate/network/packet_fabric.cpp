#include "simulate/network/packet_fabric.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "simulate/model/costs.hpp"
#include "simulate/network/network.hpp"
#include "simulate/network/packet.hpp"

namespace isthmus::simulate {

namespace {
/// Packets of a buffer, if the length of its link does not ask for more: adaptive routes need some that show the load
/// before they are full.
constexpr std::int64_t buffered = 16;
/// That a packet may take, in picoseconds: time then never goes far beyond the last event.
constexpr double longest = 1e15;
}  // namespace

PacketFabric::PacketFabric(const SimulationOptions& options)
    : ports(1),
      channels(1),
      topology_(options.places.topology),
      packet_(options.packet.bytes),
      nics_(options.places.nics),
      interfaces_(std::uint64_t{topology_->nodes()} * nics_),
      injection_(static_cast<std::uint16_t>(topology_->link_classes().size())) {
  const PacketOptions& o = options.packet;
  require(o.bytes >= 1 && o.bytes <= PacketOptions::most_bytes, "packets of ", o.bytes, " bytes: must be 1 to ",
          PacketOptions::most_bytes);
  require(o.flit >= 1 && o.flit <= o.bytes, "flits of ", o.flit, " bytes: must be 1 to the bytes of a packet, ",
          o.bytes);
  require(o.buffer == 0 || o.buffer >= o.bytes, "buffers of ", o.buffer, " bytes: a packet of ", o.bytes,
          " bytes must fit");
  const std::int64_t packet = o.bytes;
  std::int64_t most = buffered;
  for (const LinkClass& c : topology_->link_classes()) {
    PortClass p;
    p.per_byte = 1e12 / c.bandwidth;
    require(o.bytes * p.per_byte + c.latency * 1e12 <= longest, "links '", c.name, "', of ", c.bandwidth,
            " bytes per second and ", c.latency, " s: a packet of ", o.bytes, " bytes may take up to ", longest / 1e12,
            " s");
    p.full = rounded(o.bytes, p.per_byte);
    p.latency = rounded(c.latency, 1e12);
    p.head = p.latency + rounded(o.flit, p.per_byte);
    // As many packets as leave until the first one's credit is back, and one more: a message that is alone never waits
    // for credits.
    p.in_flight = ((p.head + p.latency) / std::max<Picoseconds>(p.full, 1) + 2) * packet;
    p.room = o.buffer > 0 ? static_cast<std::int64_t>(o.buffer) : std::max(p.in_flight + packet, buffered * packet);
    most = std::max(most, p.room / packet);
    kinds_.push_back(p);
  }
  PortClass interface;
  interface.per_byte = least_of(options.cost[static_cast<int>(Level::network)]).G;
  require(o.bytes * interface.per_byte <= longest, "interfaces, of ", interface.per_byte / 1e12,
          " s per byte: a packet of ", o.bytes, " bytes may take up to ", longest / 1e12, " s");
  interface.full = rounded(o.bytes, interface.per_byte);
  interface.room = o.buffer > 0 ? static_cast<std::int64_t>(o.buffer) : buffered * packet;
  kinds_.push_back(interface);
  interface.room = std::numeric_limits<std::int64_t>::max() / 2;  // the node takes all
  kinds_.push_back(interface);
  require_memory(static_cast<std::size_t>(most));
  index_.resize(topology_->links() + 2 * interfaces_);
}

void PacketFabric::require_memory(std::size_t packets) const {
  // Every port in use with some channels, and the packets of one full buffer.
  constexpr double channels_in_use = 4;
  const double places = static_cast<double>(topology_->links()) + 2 * static_cast<double>(interfaces_);
  const double each = sizeof(std::uint32_t) + sizeof(Port) +
                      channels_in_use * (sizeof(Channel) + PacketNetwork::queue_memory) +
                      static_cast<double>(packets * PacketNetwork::packet_memory + FairTurns::output_memory);
  const double bytes = places * each;
  constexpr double gib = 1 << 30;
  if (bytes <= most_memory && places < std::numeric_limits<std::uint32_t>::max()) return;
  throw Unsupported(message("the packet model of ", topology_->kind(), " with ", topology_->links(),
                            " links would need about ", static_cast<std::uint64_t>(bytes / gib + 0.5),
                            " GiB under load, but at most ", static_cast<std::uint64_t>(most_memory / gib),
                            " are allowed: use the model 'flow'"));
}

std::uint32_t PacketFabric::make_channel(std::uint64_t place, std::uint32_t number, std::uint32_t kind) {
  const std::uint32_t first = index_[place];
  const auto id = static_cast<std::uint32_t>(channels.size());
  require(id < most_channels, "more than ", most_channels - 1, " virtual channels are in use");
  std::uint32_t port = first == 0 ? 0 : channels[first].port;
  if (port == 0) {
    port = static_cast<std::uint32_t>(ports.size());
    Port& p = ports.emplace_back();
    p.link = static_cast<LinkId>(place);
    if (place < topology_->links()) p.to = topology_->link(p.link).to;
    else p.to = static_cast<Vertex>((place - topology_->links()) % interfaces_ / nics_);
  }
  Channel c;
  c.room = kinds_[kind].room;
  c.port = port;
  c.next = first;
  c.number = static_cast<std::uint16_t>(number);
  c.kind = static_cast<std::uint16_t>(kind);
  channels.push_back(c);
  index_[place] = ports[port].first = id;
  return id;
}

bool PacketFabric::at_rest() const {
  const auto whole = [&](const Channel& c) { return c.head == 0 && c.room == kind(c).room; };
  const auto idle = [](const Port& p) { return p.waiting == 0 && p.load == 0; };
  return std::all_of(channels.begin() + 1, channels.end(), whole) && std::all_of(ports.begin() + 1, ports.end(), idle);
}

}  // namespace isthmus::simulate
