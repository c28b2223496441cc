// The ports of a network of switches and the buffers behind them: state of the packet model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/prefetch.hpp"
#include "simulate/model/options.hpp"
#include "simulate/network/fair_turns.hpp"
#include "topology/topology.hpp"

namespace isthmus::simulate {
using namespace topology;

/// Common data of ports of one kind: those of a class of links, injection, ejection.
struct PortClass {
  double per_byte = 0;         ///< picoseconds
  Picoseconds full = 0;        ///< that a whole packet takes
  Picoseconds head = 0;        ///< from the beginning of a packet to its head at the other end
  Picoseconds latency = 0;     ///< of the wire, which credits go back
  std::int64_t in_flight = 0;  ///< most bytes that are not yet credited when nothing waits
  std::int64_t room = 0;       ///< bytes of the buffer of a virtual channel behind it
};

/// A link with the output in front of it, or one direction of a node's interface.
struct alignas(64) Port {
  Picoseconds busy = 0;       ///< until then a packet occupies it
  std::int64_t load = 0;      ///< bytes that wait for it and bytes in the buffers behind it
  LinkId link;                ///< beyond those of the topology: an interface
  Vertex to;                  ///< where it leads
  std::uint32_t waiting = 0;  ///< packets in front of it; of injection: messages
  std::uint32_t first = 0;    ///< one of its channels
  FairTurns::Output turns;    ///< of the packets in front of it
  bool wakes = false;         ///< an event will come when it is free
};

/// A virtual channel of a port: the queue in front of it and the room behind it.
struct Channel {
  std::int64_t room;  ///< bytes
  std::uint32_t port;
  std::uint32_t head = 0;  ///< the packet that waits for it with the first turn; of injection: the first message
  std::uint32_t tail = 0;  ///< how many packets are behind it; of injection: the last message
  std::uint32_t next = 0;  ///< another channel of the port
  std::uint16_t number = 0;
  std::uint16_t kind = 0;   ///< of the port
  std::uint32_t order = 0;  ///< of the head, and its turn: where the head waits for a link
  std::uint64_t turn = 0;
};
static_assert(sizeof(Channel) == 40);

/// Ports and channels come into being when a route uses them first. 0 is none.
class PacketFabric {
 public:
  explicit PacketFabric(const SimulationOptions& options);

  [[nodiscard]] std::uint32_t link_channel(LinkId link, std::uint32_t number) {
    return channel_of(link, number, [&] { return topology_->link_class(link); });
  }
  [[nodiscard]] std::uint32_t injection_channel(Vertex node, std::uint32_t nic) {
    return channel_of(interface(node, nic), 0, [&] { return injection_; });
  }
  [[nodiscard]] std::uint32_t ejection_channel(Vertex node, std::uint32_t nic) {
    return channel_of(interface(node, nic) + interfaces_, 0, [&] { return injection_ + 1U; });
  }
  void prefetch_injection(Vertex node) const { prefetch_line(index_.data() + interface(node, 0)); }
  /// How long what waits for the link and what is behind it keeps it busy, in picoseconds, but for as much as is under
  /// way behind a link that is always busy and leads to one that never is.
  [[nodiscard]] double load(LinkId link) const {
    if (index_[link] == 0) return 0;
    const Channel& c = channels[index_[link]];
    const PortClass& k = kinds_[c.kind];
    return static_cast<double>(std::max<std::int64_t>(ports[c.port].load - k.in_flight, 0)) * k.per_byte;
  }

  [[nodiscard]] const PortClass& kind(std::uint16_t number) const { return kinds_[number]; }
  [[nodiscard]] const PortClass& kind(const Channel& channel) const { return kinds_[channel.kind]; }
  [[nodiscard]] bool injects(const Channel& channel) const { return channel.kind == injection_; }
  [[nodiscard]] bool ejects(const Channel& channel) const { return channel.kind > injection_; }
  [[nodiscard]] Picoseconds time_of(const PortClass& kind, std::uint32_t bytes) const {
    return bytes == packet_ ? kind.full : rounded(bytes, kind.per_byte);
  }
  [[nodiscard]] std::uint32_t packet() const { return packet_; }
  /// Have all packets gone and all credits come back?
  [[nodiscard]] bool at_rest() const;

  static constexpr std::uint32_t most_channels = 1 << 30;  // an event has so many bits for one
  std::vector<Port> ports;
  std::vector<Channel> channels;

 private:
  [[nodiscard]] static Picoseconds rounded(double bytes, double per_byte) {
    return static_cast<Picoseconds>(bytes * per_byte + 0.5);
  }
  [[nodiscard]] std::uint64_t interface(Vertex node, std::uint32_t nic) const {
    return topology_->links() + std::uint64_t{node} * nics_ + nic;
  }
  void require_memory(std::size_t packets) const;
  /// `kind()`: number of the class, where the channel is new.
  template <class Kind>
  std::uint32_t channel_of(std::uint64_t place, std::uint32_t number, Kind&& kind) {
    std::uint32_t c = index_[place];
    while (c != 0 && channels[c].number != number) c = channels[c].next;
    return c != 0 ? c : make_channel(place, number, kind());
  }
  std::uint32_t make_channel(std::uint64_t place, std::uint32_t number, std::uint32_t kind);

  const Topology* topology_;
  std::uint32_t packet_;
  std::uint32_t nics_;
  std::uint64_t interfaces_;
  std::uint16_t injection_;
  std::vector<PortClass> kinds_;
  std::vector<std::uint32_t> index_;  // a channel of every link, every injection, every ejection
};

}  // namespace isthmus::simulate
