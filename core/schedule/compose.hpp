// Schedules made of schedules.
#pragma once

#include <span>

#include "schedule/schedule.hpp"

namespace isthmus::schedule {

/// All of the parts on the same ranks, begun in their order: on every rank, part i starts when all operations of part
/// i - 1 that wait for nothing have started, and when part i - under_way is done (0: no such wait; 1: one after the
/// other). A part is done on a rank when its operations there are. Messages of different parts do not meet: tags are
/// moved up, in the order of parts. Where several parts have buffers, those of part i are called "name.i". Throws
/// InvalidInput for no parts, different numbers of ranks, receives of any tag (which could take messages of other
/// parts) and tags that do not fit.
Schedule together(std::span<const Schedule* const> parts, std::uint32_t under_way);

}  // namespace isthmus::schedule
