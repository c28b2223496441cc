// What the simulator knows about a machine: LogGOPS parameters per level and where the ranks sit. Times are whole
// picoseconds, so that sums are exact and ties are ties on every platform.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulate/model/repetition.hpp"
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

/// LogGOPS parameters of one level (Hoefler, Schneider and Lumsdaine, "LogGOPSim", 2010).
struct LevelCost {
  Picoseconds L = 0;
  Picoseconds o_send = 0;
  Picoseconds o_recv = 0;
  Picoseconds g = 0;
  double G = 0;             ///< picoseconds per byte, NIC
  double O = 0;             ///< picoseconds per byte, CPU
  std::uint64_t S = 65535;  ///< largest message that is sent eagerly
  Picoseconds per_hop = 0;  ///< per link of the route beyond the first
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

/// Which way a message takes between nodes.
enum class Route : std::uint8_t {
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

/// Of the packet model.
struct PacketOptions {
  static constexpr std::uint32_t most_bytes = 1 << 28;
  std::uint32_t bytes = 2048;  ///< of a packet
  std::uint32_t flit = 32;     ///< bytes of its head that a switch must have to send it on
  /// Bytes of the buffer of a virtual channel at the input of a switch; 0: 16 packets, and at least one more than can
  /// pass the link until the first one's credit is back, so that only other messages stop a message.
  std::uint64_t buffer = 0;
};

struct SimulationOptions {
  LevelCost cost[levels];
  Places places;
  Model model = Model::loggops;
  Receive receive = Receive::loggp;
  Route route = Route::minimal;
  double resolution = 0.01;  ///< of a flow's time: flows that end so close together do so at once
  PacketOptions packet;
  std::uint32_t slices = 0;  ///< of time, in which the traffic of every link is counted
  NoiseSpec noise;
  std::uint64_t seed = 0;
  double copy_rate = 0;       ///< picoseconds per byte
  double reduce_rate = 0;     ///< picoseconds per byte
  double compute_factor = 1;  ///< of the time of calc, copy and reduce
  Detail detail = Detail::ranks;
  bool symmetry = false;         ///< simulate one of several ranks that are indistinguishable, where that is exact
  bool stop_at_ties = false;     ///< stop where the order of simultaneous events of different ranks may matter
  bool skip = false;             ///< do not simulate iterations that repeat exactly
  const Loops* loops = nullptr;  ///< of the schedule, with the iterations that it has: look whether they repeat
  /// Detail::ops: the log has so many entries or one more, from when so many operations are done; 0: all.
  std::uint64_t log_most = 0;
  std::uint64_t log_from = 0;
  /// Stop at the first event after it that shows that the makespan is above it (Simulated::stopped).
  Picoseconds until = latest;
  /// Called now and then with the number of operations that are done; false stops the simulation.
  std::function<bool(std::uint64_t)> progress;
};

/// Where the time of a rank goes; its CPU streams together.
enum class Share : std::uint8_t {
  compute,        ///< calc, copy, reduce
  send_overhead,  ///< o and O of sends
  recv_overhead,  ///< o and O of messages that arrive; with Receive::loggopsim o, and O or G, whichever takes longer
  gap,            ///< waiting for the own interface, and for bytes to pass it
  latency,        ///< waiting for a message that is on its way, or for a put or get
  late_sender,    ///< waiting for a message that has not been sent yet
  late_receiver,  ///< waiting for the receiver of a message by rendezvous: to post its receive, or to handle it
  noise,
  contention,  ///< waiting for a message that shares links with others
  idle,        ///< the rest: nothing to do until the last rank has finished, or until another stream has
};
inline constexpr int shares = 10;

/// An operation that has not been done when nothing can happen any more.
struct Stuck {
  Rank rank;
  std::uint32_t op;
  bool started;  ///< a posted receive, a send that waits for one; otherwise it waits for other operations of its rank
};

/// A message that was never received.
struct Orphan {
  Rank rank;            ///< receiver
  Rank source;          ///< sender
  std::uint32_t op;     ///< the send
  Picoseconds handled;  ///< when the receiver had handled it; -1: by rendezvous, it was never sent
};

/// One thing that happened, in order: what it takes to tell the story again with other parameters.
class LogEntry {
 public:
  enum class Kind : std::uint8_t {
    start,   ///< an operation occupies its CPU stream (send, calc, put, get, ...)
    post,    ///< a receive is posted
    handle,  ///< the CPU of the receiver handles the message of a send
    meet,    ///< a receive takes its message; the next entry is the send
    sender,  ///< belongs to the meet before it: the send
    leave,   ///< the bytes of a get leave the target's interface
    land,    ///< the bytes of a send, put or get pass the interface where they are needed
    done,    ///< a put or get is done
    aside,   ///< a send by rendezvous stands aside until its receive is posted; what waits for its start goes on
  };
  static constexpr int kind_bits = 4;
  LogEntry(Kind kind, std::uint64_t op) : bits_(op << kind_bits | static_cast<std::uint8_t>(kind)) {}
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(bits_ & ((1U << kind_bits) - 1)); }
  [[nodiscard]] std::uint64_t op() const { return bits_ >> kind_bits; }  ///< index into Schedule::ops

 private:
  std::uint64_t bits_;
};

struct Simulated {
  Picoseconds makespan = 0;            ///< stopped: at least
  std::vector<Picoseconds> finish;     ///< of every rank
  std::vector<Picoseconds> breakdown;  ///< ranks x shares, from Detail::ranks on
  std::uint64_t executed = 0;          ///< operations done
  std::uint64_t events = 0;
  std::uint64_t steps = 0;          ///< events that were dealt with: fewer where iterations were left out
  std::uint64_t network_steps = 0;  ///< and what the network did: rates of flows, packets or messages at links
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  double lost_in_all = 0;  ///< picoseconds, by all messages to others in the network
  bool stopped = false;    ///< at SimulationOptions::until, with what is known by then; by progress, with nothing
  bool tie = false;        ///< stopped by stop_at_ties
  std::vector<Stuck> stuck;
  std::vector<Orphan> orphans;
  // Detail::ops: of every operation; -1 where it never happened.
  std::vector<Picoseconds> start;
  std::vector<Picoseconds> end;
  std::vector<std::int64_t> partner;  ///< of a send its receive and vice versa, as index into Schedule::ops
  std::vector<Picoseconds> busy;      ///< time it takes of its CPU stream; of a receive, to handle its message
  std::vector<Picoseconds> handled;   ///< of a send: when the receiver's CPU begins to handle its message
  std::vector<Picoseconds> lost;      ///< of a send, put or get: to other messages in the network; or empty
  std::vector<LogEntry> log;
  std::vector<Picoseconds> log_noise;  ///< of every entry, or empty
  std::vector<Picoseconds> log_time;   ///< of a log that is a part: when each entry was written, or empty
  Traffic traffic;                     ///< of the network's links
  std::uint32_t simulated_ranks = 0;   ///< fewer than there are where ranks are indistinguishable
  std::uint32_t skipped = 0;           ///< iterations that were not simulated
  bool left = false;                   ///< stopped: it came to the end of the loop before iterations were alike
  Repetition repetition;               ///< of SimulationOptions::loops
};

}  // namespace isthmus::simulate
