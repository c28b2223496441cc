// The plain machine in windows of time.
//
// Nothing that a rank does reaches another one sooner than o + L later. So in a window of that length ranks are
// independent: each goes through all that happens to it in the window, its state in the cache, and messages are handed
// over at the end, block of ranks by block. One queue for all, as Engine has it, comes to another rank with every
// event, and waits for memory each time.
//
// The order of simultaneous events is the same. Sequence numbers follow from when and where an event was found out, and
// by which event; so they are compared without being given. Where two of different ranks were found out at the same
// time, by events that had been found out at the same time, the answer lies further back. With `all` ancestors it is
// found there, which takes 24 bytes an event; without them there is no result. Where times are whole nanoseconds, as
// those of recordings are, such cases are frequent.
#pragma once

#include <optional>

#include "simulate/engine/dependencies.hpp"
#include "simulate/model/options.hpp"
#include "simulate/model/result.hpp"

namespace isthmus::simulate {

/// Can a simulation on the plain machine go in windows?
bool fits_windows(const Schedule& schedule, const Shape& shape, const SimulationOptions& options);
/// Is that faster? Not where ranks go in step and never have two things to do at once: then a queue has one event of
/// each rank after the other, of the same time. Nor where a wave goes from rank to rank. Looks at a few ranks.
bool windows_pay(const Schedule& schedule);
/// How far back the order of events is remembered.
enum class Remembered : std::uint8_t { parents, all };
/// What is less work: all where many events will be simultaneous. Looks at a few ranks.
Remembered remembered(const Schedule& schedule);
/// The same as simulate_plain(), or nothing.
std::optional<Simulated> simulate_in_windows(const Schedule& schedule, const SimulationOptions& options,
                                             Dependencies&& dependencies, Remembered back);

}  // namespace isthmus::simulate
