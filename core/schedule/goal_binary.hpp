// GOAL binary, as LogGOPSim's txt2bin writes it: little-endian, packed.
//
//   u64 4223 | u32 ranks | u8 largest cpu | u8 largest nic | ranks x {u64 begin, u64 end}, counted from byte 8
//   per rank: u32 nodes | u32 roots | roots x u32 | nodes x 39 bytes | appendix of u32: dependants of the nodes, in
//   order node: u32 needs | u8 kind | u32 peer | u64 amount | u32 tag | u8 cpu | u8 nic |
//         u32 dependants | u32 first of them in the appendix | u32 dependants on its start | u32 first of them
//
// Roots are the nodes that need nothing.
#pragma once

#include <span>

#include "schedule/goal.hpp"

namespace isthmus::schedule {

/// The schedule of a binary file; `unit` is the picoseconds that its times count. Throws GoalError for whatever
/// contradicts itself. The header's largest cpu and nic are not looked at.
Schedule parse_goal_binary(std::span<const char> file, std::uint64_t unit = nanosecond);

/// Writes `schedule`; what GOAL cannot say is refused, see GoalOperations. Dependants on the start of an operation go
/// behind the others.
void write_goal_binary(const Schedule& schedule, const GoalWriting& writing, const GoalSink& sink);

}  // namespace isthmus::schedule
