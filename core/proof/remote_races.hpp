// Operations of any ranks that use the same bytes at the same time, where ranks reach into each other's memory.
#pragma once

#include "proof/defects.hpp"
#include "proof/pairs.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// Does the schedule have puts or gets?
bool is_one_sided(const Schedule& schedule);

/// As Races, for schedules with puts and gets: what orders two operations are the dependencies of ranks and messages (a
/// receive is done only after its send has begun). A put or get is done when its bytes have landed and the rank that
/// asked for it knows. Channels keep their order: a message to the target that directly waits for a put, even for its
/// start only, leaves and arrives behind the bytes of the put. Every message of `pairs` has its other side, and the
/// merged graph no circle.
///
/// Questions that one pass does not answer are searched for in the graph of all ranks.
void check_remote_races(const Schedule& schedule, const Pairs& pairs, Defects& defects);

}  // namespace isthmus::proof
