// GOAL text:
//
//   num_ranks 2                       // comments like this, and /* like this */
//   rank 0 {
//   l1: calc 100 cpu 1
//   l2: send 8b to 1 tag 3 cpu 0 nic 0
//   l2 requires l1                    // l2 starts only after l1 is done; irequires: has started
//   }
//   rank 1 {
//   recv 8b from -1 tag -1            // from any rank, any tag
//   }
//
// Ranks stand in order, all of them; one operation or dependency a line; labels are optional, of [a-zA-Z][a-zA-Z0-9_]*,
// and may be used before the line that has them. tag, cpu and nic may be left out (0) and come in any order.
//
// Our extension, for schedules that say which bytes they move:
//
//   buffer output 100                            // of this rank; before it is named
//   l1: recv 8b from 1 into output+16            // the offset may be left out (0)
//   l2: copy 8b at input into output+8
//   l3: reduce 8b at scratch into output first   // output = scratch (+) output, otherwise output = output (+) scratch
//   l4: put 8b to 1 at output into output+8      // get 8b from 1 at ... into ...
//   l5: send 8b to 1 at output eager             // or rendezvous: whatever the size
#pragma once

#include <span>

#include "schedule/goal.hpp"

namespace isthmus::schedule {

/// The schedule of a text; `unit` is the picoseconds that its times count. Throws GoalError.
Schedule parse_goal_text(std::span<const char> text, std::uint64_t unit = nanosecond);

/// Writes `schedule` with labels l1, l2, … on each rank; what GOAL cannot say is refused, see GoalOperations. The nic
/// of a calc means nothing and is dropped. Where operations name buffers, and copy and reduce are not to be calcs, the
/// text is in our form.
void write_goal_text(const Schedule& schedule, const GoalWriting& writing, const GoalSink& sink);

}  // namespace isthmus::schedule
