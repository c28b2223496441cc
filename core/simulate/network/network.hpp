// A network in which messages share links: what the simulator asks of a model of it.
//
// The endpoints stay those of LogGOPS. A network says one thing of every message: how much later than without any other
// message its last byte arrives. So where no two messages meet, all models give what LogGOPS gives.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "simulate/model/options.hpp"
#include "simulate/model/state.hpp"
#include "simulate/model/traffic.hpp"

namespace isthmus::simulate {

inline constexpr Picoseconds never = std::numeric_limits<Picoseconds>::max();

/// A message as the network sees it.
struct Passage {
  std::uint32_t message;  ///< the caller's number for it while it is on its way
  std::uint64_t op;       ///< and for ever
  Vertex from, to;        ///< different nodes
  std::uint32_t nic_from, nic_to;
  std::uint64_t bytes;   ///< that take time: one less than the message has, as in LogGOPS; at least 1
  Picoseconds leaves;    ///< when the first byte leaves; not before the network's last advance()
  Picoseconds duration;  ///< of the bytes when nobody is in the way: bytes x G
};

/// The last byte of a message has left the network's links.
struct Passed {
  std::uint32_t message;
  Picoseconds at;    ///< with the latency not before now
  Picoseconds lost;  ///< to other messages, and to links that are slower than the interface
};

class Network {
 public:
  virtual ~Network() = default;
  /// Takes a message; advance() will tell when it has passed.
  virtual void send(const Passage& passage) = 0;
  /// When something happens next; never if nothing does.
  [[nodiscard]] virtual Picoseconds next() const = 0;
  /// Goes on to `now`, which is not beyond next(); appends the messages that have passed. Their order depends on
  /// nothing but the messages.
  virtual void advance(Picoseconds now, std::vector<Passed>& passed) = 0;
  [[nodiscard]] virtual Traffic take_traffic() = 0;
  [[nodiscard]] virtual const Traffic& traffic() const = 0;
  /// Work done so far, in steps that take about the same time each.
  [[nodiscard]] virtual std::uint64_t steps() const = 0;
  /// What is left of messages when nothing is on its way: what the next ones may have to wait for.
  virtual void write(Picoseconds now, StateWriter& state) const = 0;
};

/// Bytes: models that would need more are refused.
inline constexpr double most_memory = 8.0 * (1 << 30);

/// The network that the options ask for; nullptr for LogGOPS. Throws InvalidInput for links without bandwidth and for
/// models without a topology; Unsupported for routes that the topology does not have and where too much memory is
/// needed.
std::unique_ptr<Network> make_network(const SimulationOptions& options);

}  // namespace isthmus::simulate
