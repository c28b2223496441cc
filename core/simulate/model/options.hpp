// The machine as the simulator sees it: LogGOPS parameters per level and where the ranks sit. Times are whole
// picoseconds, so that sums are exact and ties are ties on every platform.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulate/model/traffic.hpp"
#include "topology/topology.hpp"

namespace isthmus::simulate {
using namespace topology;
using namespace schedule;

struct Loops;

/// End of simulated time, 53 days: later than it, sums of few times still fit 64 bits.
inline constexpr Picoseconds latest = (Picoseconds{1} << 62) - 1;
/// Longest latency, overhead or gap of a message, 13 days.
inline constexpr Picoseconds longest_parameter = Picoseconds{1} << 60;

/// LogGOPS parameters of one level (Hoefler, Schneider and Lumsdaine, "LogGOPSim", 2010), or of one of its pieces, the
/// messages of more than so many bytes.
struct LevelCost {
  Picoseconds L = 0;
  Picoseconds o_send = 0;
  Picoseconds o_recv = 0;
  Picoseconds g = 0;
  double G = 0;                                 ///< picoseconds per byte, NIC
  double O = 0;                                 ///< picoseconds per byte, CPU
  std::uint64_t S = 65535;                      ///< largest message that is sent eagerly
  Picoseconds per_hop = 0;                      ///< per link of the route beyond the first
  std::optional<double> O_recv = std::nullopt;  ///< O of the receiver; nothing: the same
  std::uint64_t after = 1;                      ///< bytes cost G and O after so many
  std::uint64_t above = 0;                      ///< of a piece: for larger messages
  /// Ascending. Of each, S, per_hop and pieces mean nothing: those of the level hold.
  std::vector<LevelCost> pieces = {};
};

enum class Level : std::uint8_t { socket, node, network };
inline constexpr int levels = 3;

/// Where the ranks sit. Without a topology all ranks are equally far from each other, at the network level, and have
/// interfaces of their own: the machine of LogGOPSim.
struct Places {
  const Topology* topology = nullptr;
  std::vector<Vertex> node;           ///< of every rank
  std::vector<std::uint32_t> socket;  ///< of every rank, within its node
  std::vector<std::uint32_t> nic;     ///< first interface of every rank, within its node
  std::uint32_t nics = 1;             ///< interfaces of a node, which its ranks share between nodes
};

/// Interruptions of every CPU stream.
struct NoiseSpec {
  enum class Kind : std::uint8_t { none, periodic, exponential, trace } kind = Kind::none;
  Picoseconds period = 0;           ///< from one interruption's begin to the next one's, or its mean
  Picoseconds duration = 0;         ///< or its mean
  std::vector<Picoseconds> starts;  ///< of a trace, ascending, not overlapping
  std::vector<Picoseconds> durations;
  Picoseconds length = 0;  ///< of the trace, which repeats
};

/// How messages between nodes meet.
enum class Model : std::uint8_t {
  loggops,  ///< never
  flow,     ///< links are shared max-min fairly
  reserve,  ///< every link carries one message after the other
  packet,   ///< packets wait in the buffers of switches
};

/// For how long a message keeps the CPU of its receiver.
enum class Receive : std::uint8_t {
  loggp,      ///< for o and O of its bytes, the last of which it waits for: meanwhile the CPU does other things
  loggopsim,  ///< from the arrival of its head for o and for O or G of its bytes, whichever takes longer
};

/// How a message gets its way between nodes: from one of the sets of topology::Routing, or by load.
enum class RoutingPolicy : std::uint8_t {
  minimal,   ///< the machine's deterministic minimal route
  random,    ///< a random minimal route
  valiant,   ///< through a random intermediate
  adaptive,  ///< minimal or Valiant, whichever is less loaded when the message leaves
};

/// How much a simulation writes down.
enum class Detail : std::uint8_t {
  finish,  ///< finish times only
  ranks,   ///< where the time of every rank went
  ops,     ///< begin and end of every operation, matches, and what critical_path() needs
};

/// Options of the packet model.
struct PacketOptions {
  static constexpr std::uint32_t most_bytes = 1 << 28;
  std::uint32_t bytes = 2048;  ///< of a packet
  std::uint32_t flit = 32;     ///< bytes of its head that a switch must have to send it on
  /// Bytes of the buffer of a virtual channel at the input of a switch; 0: 16 packets, and at least one more than can
  /// pass the link until the first one's credit is back, so that only other messages stop a message.
  std::uint64_t buffer = 0;
};

/// The time of a copy or a reduction of so many bytes.
struct WorkTime {
  std::uint64_t bytes = 0;
  double time = 0;  ///< picoseconds
};

struct SimulationOptions {
  LevelCost cost[levels];
  Places places;
  Model model = Model::loggops;
  Receive receive = Receive::loggp;
  RoutingPolicy route = RoutingPolicy::minimal;
  double resolution = 0.01;  ///< of a flow's time: flows that end so close together do so at once
  PacketOptions packet;
  std::uint32_t slices = 0;  ///< of time, in which the traffic of every link is counted
  NoiseSpec noise;
  std::uint64_t seed = 0;
  double copy_rate = 0;    ///< picoseconds per byte
  double reduce_rate = 0;  ///< picoseconds per byte
  /// In place of a rate, where there are any: ascending in bytes, from 1 on; times between them lie on lines.
  std::vector<WorkTime> copy_times, reduce_times;
  Picoseconds start = 0;      ///< from when on CPUs are free, without `free`
  double compute_factor = 1;  ///< of the time of calc, copy and reduce
  Detail detail = Detail::ranks;
  bool symmetry = false;         ///< simulate one of several ranks that are indistinguishable, where that is exact
  bool windows = true;           ///< go in windows of time where that is faster (see engine/windows.hpp)
  bool stop_at_ties = false;     ///< stop where the order of simultaneous events of different ranks may matter
  bool skip = false;             ///< do not simulate iterations that repeat exactly
  const Loops* loops = nullptr;  ///< of the schedule, with the iterations that it has: look whether they repeat
  /// Detail::ops: the log has so many entries or one more, from when so many operations are done; 0: all.
  std::uint64_t log_most = 0;
  std::uint64_t log_from = 0;
  /// From when on each resource (CPU streams and interfaces, see Resources) is free, as Simulated::free of what came
  /// before; empty: all from the beginning. A rank begins when its first stream is free.
  std::vector<Picoseconds> free;
  /// Stop at the first event after it that shows that the makespan is above it (Simulated::stopped).
  Picoseconds until = latest;
  /// Called now and then with the number of operations that are done; false stops the simulation.
  std::function<bool(std::uint64_t)> progress;
};

}  // namespace isthmus::simulate
