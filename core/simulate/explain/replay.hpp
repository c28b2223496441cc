// Why a simulation took as long as it did: its log told again, in the same order, with the reasons of every moment or
// with other parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulate/model/options.hpp"
#include "simulate/model/result.hpp"

namespace isthmus::simulate {
using namespace schedule;

/// How time passes from the begin of an event to something that it makes possible.
enum class Via : std::uint8_t {
  nothing,     ///< at once: a dependency, a match
  work,        ///< the CPU stream of a calc, copy or reduce
  send,        ///< the CPU stream of a send, put or get: o, O
  handle,      ///< the CPU stream of a receiver: o and O; with Receive::loggopsim o, and O or G
  interface,   ///< g and G
  wire,        ///< o, then L
  way,         ///< L: of a get from the target's interface
  landing,     ///< G, and for a put L back; of a message, G without the O that the receiver's CPU spends meanwhile
  contention,  ///< o, L, G, and what a message loses to others in the network
};

/// One step of the critical path.
struct Step {
  Picoseconds begin;
  Picoseconds end;
  std::uint64_t op;  ///< the operation whose time passes, an index into Schedule::ops
  Rank rank;         ///< where: the receiver for Via::handle and for the interface of a receiver
  Via via;
  Picoseconds latency;  ///< of it: on the wire
  Picoseconds noise;    ///< of it: taken by the operating system
  Picoseconds lost;     ///< of it: to other messages
};

/// Steps from time 0 to the makespan, without holes; each ends where the next begins. `lost`: see Simulated. `times`:
/// of a log that is a part, Simulated::log_time; the steps then end with the last thing that it tells, and begin with
/// the first that follows from nothing in it.
std::vector<Step> critical_path(const Schedule& schedule, const SimulationOptions& options,
                                std::span<const LogEntry> log, std::span<const Picoseconds> noise,
                                std::span<const Picoseconds> lost = {}, std::span<const Picoseconds> times = {});

/// The parameter of a sensitivity.
enum class Parameter : std::uint8_t {
  L,
  o,  ///< both overheads, by the same amount
  g,
  G,
  O,
  compute,  ///< all calc, copy and reduce, by a factor: 1 doubles them
};
inline constexpr int parameters = 6;

/// Changes a parameter at all levels by x: picoseconds, picoseconds per byte, or a factor; nothing falls below 0.
void change(SimulationOptions& options, Parameter parameter, double x);

/// The makespan as a function of one parameter changed by x: linear from `lower` to `upper`, as long as operations and
/// messages are served in the recorded order.
struct Sensitivity {
  double slope;        ///< picoseconds per unit, for x > 0
  double slope_below;  ///< for x < 0; the same but where several paths are critical
  double lower;        ///< the smallest x for which slope_below holds; the parameter itself stays at 0 or above
  double upper;        ///< infinity where nothing ends it
};

/// Units: picoseconds for L, o and g; picoseconds per byte for G and O; a factor for compute.
Sensitivity sensitivity(const Schedule& schedule, const SimulationOptions& options, std::span<const LogEntry> log,
                        std::span<const Picoseconds> noise, Parameter parameter);

}  // namespace isthmus::simulate
