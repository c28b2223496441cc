// Puts and gets as messages, in which the other rank takes part: what ranks without common memory do.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::schedule {

struct TwoSided {
  Schedule schedule;
  /// Of every operation that there was, by its number in the whole schedule: the operation that begins when it does,
  /// and the one that ends when it does.
  std::vector<std::uint64_t> begins, ends;
};

/// The schedule with messages in place of puts and gets.
///
/// A message of 0 bytes announces a put or asks for a get; the bytes follow, from the origin or the target; a message
/// of 0 bytes from the target says that it is over, which ends the put or get. What the target does for others waits
/// for these messages only, and for nothing of its own. A message to the target that depends on the put directly, if
/// only on its start, arrives behind its bytes (as check_remote_races() takes for granted): what waits for the receive
/// of that message waits for the bytes, too, and what waits for its send, for the end of the put.
///
/// Each rank has its own operations first, in their order; then those for others. The messages have communicators of
/// their own. Throws InvalidInput where there are no numbers left for these.
TwoSided two_sided(const Schedule& schedule);

}  // namespace isthmus::schedule
