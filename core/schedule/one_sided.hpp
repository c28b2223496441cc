// Messages replaced by accesses to the other rank's memory, as the runtimes of PGAS languages move data.
#pragma once

#include "schedule/schedule.hpp"

namespace isthmus::schedule {

enum class Access : std::uint8_t { put, get };

/// How the messages of a collective go: the first three as a Protocol, or by accesses; `put_asked` is one with `ask`.
enum class Flavour : std::uint8_t { by_size, eager, rendezvous, put, put_asked, get };
inline constexpr std::uint8_t flavours = 6;

/// The schedule with puts or gets in place of messages with bytes; both sides still know when data are there.
///
/// put: the sender puts, and tells the receiver by a message of 0 bytes behind it, which takes the place of the
/// receive. Where the receive waits for something, or `ask` is set, the sender waits for a message of 0 bytes that the
/// buffer is free; elsewhere it counts as free from the start (an earlier barrier has seen to that). get: the sender
/// says by a message of 0 bytes that the data are there, where its send waits for something or `ask` is set; elsewhere
/// they count as there from the start. The receiver gets them, and says by another one that the sender may change them,
/// which takes the place of the send's end.
///
/// Without `tell` nobody is told who does nothing with it in the schedule: a receiver from which nothing depends on the
/// data, a sender from which nothing depends on their having left. Whoever uses them afterwards has to know otherwise.
///
/// The k-th send of a pair of ranks, communicator and tag belongs to the k-th receive. Tags become 3 * tag, + 1, + 2
/// for the three kinds of messages. Throws InvalidInput for wildcards, messages that do not match or differ in size,
/// and tags that do not fit.
Schedule one_sided(const Schedule& schedule, Access access, bool ask, bool tell = true);

/// Replaces only messages whose mode on both sides is a Flavour of puts or gets, in a schedule that was lowered:
/// tags are changed in communicators of collectives, which are the odd ones.
Schedule one_sided(const Schedule& lowered);

}  // namespace isthmus::schedule
