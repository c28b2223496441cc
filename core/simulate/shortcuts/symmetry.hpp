// Ranks that are indistinguishable: a schedule in which every rank does the same with its neighbours, as most
// collectives and stencils on tori are, takes the time of one rank of each kind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::simulate {
using namespace schedule;

/// A schedule with one rank of each kind.
struct Quotient {
  Schedule schedule;                 ///< rank c is the representative of kind c
  std::vector<std::uint32_t> kind;   ///< of every rank of the whole schedule
  std::vector<std::uint64_t> ranks;  ///< of every kind
};

/// The coarsest division of the ranks in which ranks of a kind have the same operations and dependencies, the same
/// operation of each has a partner of the same kind, and this partner's operation has the same number; nothing where
/// there would be more kinds than `most`, where receives have wildcards, for puts and gets, and where the n-th send to
/// a rank has no n-th receive.
///
/// By it, all ranks of a kind reach every state at the same time on a uniform machine as long as nothing depends on the
/// order of two simultaneous events of different ranks; the simulation of the quotient checks that (stop_at_ties).
std::optional<Quotient> quotient(const Schedule& schedule, std::uint32_t most);

}  // namespace isthmus::simulate
