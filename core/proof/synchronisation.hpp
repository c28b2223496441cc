// Whether memory is used only while its rank, or all ranks, are in the collective.
#pragma once

#include "proof/contract.hpp"
#include "proof/defects.hpp"
#include "proof/pairs.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// Does the contract ask for more than messages and dependencies of ranks give by themselves?
bool asks_for_synchronisation(const Schedule& schedule, const Contract& contract);

/// Ranks enter and leave at any times: a rank has entered before its first operation begins, and leaves after its last
/// one has ended. Adds a defect for every operation that may use memory earlier or later than the contract's `enter`
/// and `leave` allow. Scratch counts as memory of its rank. Every message of `pairs` has its other side, and the graph
/// of all ranks no circle.
///
/// Events are passed through once forwards and once backwards for every 64 ranks.
void check_synchronisation(const Schedule& schedule, const Contract& contract, const Pairs& pairs, Defects& defects);

}  // namespace isthmus::proof
