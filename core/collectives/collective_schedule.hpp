// The schedule of one collective.
#pragma once

#include "schedule/collective.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::collectives {
using namespace schedule;

/// The operations of all ranks for one call of the collective; memory is that of the schedule. `call.rank` is ignored.
/// `call.counts`: as CollectiveKind says, but of alltoall the bytes from rank i to rank j at [i * ranks + j], and of
/// neighbor_alltoall one triple for every message: sender, receiver, bytes. `buffers`: operations name their buffers,
/// see buffers.hpp. Throws InvalidInput for no ranks, a root that is none of them, counts that do not fit, and more
/// operations than a schedule may have.
Schedule collective_schedule(const CollectiveCall& call, const Algorithm& algorithm, bool buffers = false);

}  // namespace isthmus::collectives
