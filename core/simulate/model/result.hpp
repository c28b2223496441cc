// The result of a simulation: finish times, where the time went, what happened in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulate/model/repetition.hpp"
#include "simulate/model/traffic.hpp"

namespace isthmus::simulate {
using namespace schedule;

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
  std::vector<Picoseconds> free;       ///< of every resource, what comes next may go on from it
  std::vector<Picoseconds> breakdown;  ///< ranks x shares, from Detail::ranks on
  std::uint64_t executed = 0;          ///< operations done
  std::uint64_t events = 0;            ///< that happened, each counted once however long it waits
  std::uint64_t steps = 0;             ///< of the queue of events: fewer where iterations were left out
  std::uint64_t network_steps = 0;     ///< and what the network did: rates of flows, packets or messages at links
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
  std::vector<Picoseconds> parked;    ///< of a send: for how long it stood aside, until its receive; or empty
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
