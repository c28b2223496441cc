// Messages as packets on their way through switches: virtual cut-through (Kermani and Kleinrock, "Virtual cut-through:
// a new computer communication switching technique", 1979) with finite buffers, credits and virtual channels.
//
// A node's interface cuts its messages into packets, in turns, at its own rate. A packet waits in the buffer at the
// input of a switch until the link that it wants is free and the buffer of its next virtual channel has room for all of
// it; those that may go share the link equally by the interfaces that they come from (FairTurns), whatever the number
// of links behind them. Its head is at the next switch a latency and a flit later; its tail takes bytes / bandwidth
// more, or as long as it takes to come in. When the tail has left, a credit goes back. Within a buffer nothing waits
// behind a packet that wants another output.
//
// Minimal, random and Valiant routes are chosen for a message (Router), with the virtual channels of the topology.
// Adaptive ones are chosen for every packet. On a dragonfly that is UGAL-L (Kim, Dally, Scott and Abts, ISCA 2008): at
// the first switch it takes the minimal or a Valiant route, whichever has the smaller product of links and load of its
// first output. The load is what waits for the output and what has passed it without a credit so far, but for as much
// as is under way on a link that is busy and free of trouble. Minimal and Valiant routes have channels of their own, so
// that one kind does not stop the other. Elsewhere a packet takes, at every switch, the minimal link with the smallest
// load, hops numbering the channels (a fat tree needs one). Where the topology promises no channels for that, the
// Router chooses for the message by whole paths.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulate/network/network.hpp"
#include "simulate/network/packet_fabric.hpp"
#include "simulate/network/router.hpp"
#include "simulate/network/time_queue.hpp"

namespace isthmus::simulate {

class PacketNetwork final : public Network {
 public:
  explicit PacketNetwork(const SimulationOptions& options);

  void send(const Passage& passage) override;
  [[nodiscard]] Picoseconds next() const override { return events_.next(); }
  /// What a message loses is the time of its last tail less what it is when nobody is in the way, on the route that it
  /// took, so nothing if it meets nobody. Where the route's latency is more than the machine's L and hops, the end of a
  /// message may be known too late for that; it is then told as early as can be.
  void advance(Picoseconds now, std::vector<Passed>& passed) override;
  [[nodiscard]] Traffic take_traffic() override { return std::move(traffic_); }
  [[nodiscard]] const Traffic& traffic() const override { return traffic_; }
  /// Events of packets at ports and in buffers.
  [[nodiscard]] std::uint64_t steps() const override { return steps_; }
  void write(Picoseconds now, StateWriter& state) const override;

  /// From the first byte's leaving to the last one's arrival along the links when nobody is in the way.
  [[nodiscard]] Picoseconds alone(Vertex from, Vertex to, std::uint64_t bytes, const std::vector<LinkId>& links);
  /// Times that packets passed a link or an interface.
  [[nodiscard]] std::uint64_t hops() const { return hops_; }
  [[nodiscard]] bool at_rest() const { return fabric_.at_rest(); }

  static constexpr std::size_t packet_memory = 96;
  static constexpr std::size_t queue_memory = 32;

 private:
  enum class Adaptive : std::uint8_t { no, source, hop };
  enum class Happening : std::uint32_t { message, head, free, credit };
  struct Event {
    Picoseconds time;
    std::uint32_t what;  // message, packet, port, channel
    std::uint32_t bits;  // bytes of a credit or channel that a packet wants, 0 if that is open; type
    [[nodiscard]] Happening type() const { return static_cast<Happening>(bits & 3); }
    [[nodiscard]] std::uint32_t rest() const { return bits >> 2; }
  };
  struct alignas(64) Packet {  // a cache line
    Picoseconds tail;          // when that is in the buffer
    Picoseconds latency;       // of the way so far
    std::uint32_t message;
    std::uint32_t bytes;
    std::uint32_t route;   // place in routes_; 0: not decided
    std::uint32_t buffer;  // channel whose buffer it is in
    std::uint32_t source;  // port by which it left its node
    std::uint32_t order;   // of its leaving that, among all
    std::uint16_t hop;     // links and interfaces that it has passed
    std::uint16_t kind;    // of the port that it came by
    bool first;            // of its message
  };
  static_assert(PacketOptions::most_bytes < (1U << 30));
  struct Waiting {
    std::uint64_t turn;
    std::uint32_t order;
    std::uint32_t packet;
    /// Among equal turns, the packet that left its node first goes first.
    [[nodiscard]] bool before(const Waiting& o) const {
      return turn != o.turn ? turn < o.turn : static_cast<std::int32_t>(order - o.order) < 0;
    }
  };
  /// Packets in front of an output by their turns, behind the channel's head: from `first` on.
  struct Queue {
    std::vector<Waiting> packets;
    std::size_t first = 0;
  };
  // A queue has up to twice the room that it needs.
  static_assert(sizeof(Packet) + 2 * sizeof(Waiting) <= packet_memory && sizeof(Queue) <= queue_memory);
  struct Message {
    Passage passage;
    Picoseconds end = 0;        // of the packet that is latest so far
    Picoseconds latency = 0;    // of that packet's way
    Picoseconds slowed = 0;     // loss to links that are slower than the interface; adaptive: not used
    Picoseconds alone = 0;      // its time when nobody is in the way; adaptive: not used
    std::uint64_t left = 0;     // bytes that have not been injected
    std::uint32_t packets = 0;  // that have not arrived
    std::uint32_t route = 0;
    std::uint32_t next = 0;  // behind it at the interface
  };

  void start(std::uint32_t message);
  void inject(std::uint32_t port);
  void arrive(std::uint32_t packet, std::uint32_t channel);
  void go(std::uint32_t packet, std::uint32_t channel);
  void enqueue(std::uint32_t packet, std::uint32_t channel);
  std::uint32_t dequeue(std::uint32_t channel);
  [[nodiscard]] static Waiting first_of(const Channel& c) { return {c.turn, c.order, c.head}; }
  static void put_first(Channel& c, const Waiting& w) {
    c.turn = w.turn;
    c.order = w.order;
    c.head = w.packet;
  }
  void arbitrate(std::uint32_t port);
  void finish(std::uint32_t packet, Picoseconds end);
  void report(std::uint32_t message);

  std::uint32_t choose_channel(std::uint32_t packet);
  std::uint32_t decide(const Packet& packet, const Message& message);
  std::uint32_t best_link(std::uint32_t packet, const Message& message);
  /// The route's channels come after `before` others.
  std::uint32_t make_route(const Passage& passage, const std::vector<LinkId>& links, Routing routing,
                           std::uint32_t before = 0);
  /// `slowest_byte`: picoseconds on the slowest link.
  [[nodiscard]] Picoseconds alone(std::uint64_t bytes, std::uint32_t route, double& slowest_byte) const;
  void drop_route(std::uint32_t route);
  void prefetch(const Event& event) const;
  void prefetch_further(const Event& event) const;
  void prefetch_last(const Event& event) const;
  void wake(std::uint32_t port);
  void push(Picoseconds time, Happening type, std::uint32_t what, std::uint32_t rest = 0) {
    events_.push({time, what, rest << 2 | static_cast<std::uint32_t>(type)});
  }

  const Topology* topology_;
  LevelCost cost_;
  PacketFabric fabric_;
  Router router_;
  Routing channels_;
  Adaptive adaptive_;
  bool one_channel_ = false;  // enough for minimal routes
  Rng rng_;
  Traffic traffic_;
  std::uint64_t steps_ = 0;
  bool log_routes_;
  TimeQueue<Event> events_;
  std::vector<Packet> packets_;
  std::vector<Queue> queues_;  // of every channel of links and ejection
  FairTurns turns_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> unused_packets_, unused_messages_;
  /// Number of channels of a route, then the channels, injection first and ejection last.
  std::vector<std::uint32_t> routes_;
  std::vector<std::vector<std::uint32_t>> unused_routes_;          // by length
  std::unordered_map<std::uint32_t, std::vector<LinkId>> trails_;  // of first packets, by message
  std::vector<LinkId> links_, detour_;
  std::vector<std::uint8_t> numbers_;
  std::vector<Passed>* passed_ = nullptr;
  Picoseconds now_ = 0;
  std::uint32_t order_ = 0;
  std::uint64_t hops_ = 0;
};

}  // namespace isthmus::simulate
