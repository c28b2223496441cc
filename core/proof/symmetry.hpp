// Whether all ranks of a schedule do the same, seen from their places on the circle of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proof/contract.hpp"
#include "proof/pairs.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// Rank 0 stands for all ranks: rank r does the same with every peer r ranks further, and with the bytes of
/// buffers that turn r blocks further, round the circle.
struct Symmetry {
  Rotation rotation;                    ///< one of the contract's
  std::vector<std::uint32_t> partners;  ///< of each operation of rank 0 the one that its peer meets it with
  Schedule first;                       ///< rank 0 alone
};

/// The rotation of the contract under which every rank does what rank 0 does, if there is one. Nothing is said where
/// no such rotation is found: ranks may be alike in other ways.
///
/// Operations of ranks are compared in classes. Copies that wait for the same operations and are waited for by the same
/// ones are one class, as a copy may be cut in two where the circle closes; every other operation is a class of its
/// own. Classes must stand in the same order, wait for the same classes and move the same blocks in the same order.
/// Then a rank has a race, or comes to a halt, or ends with wrong bytes only where rank 0 does. Takes time in
/// proportion to operations, dependencies and those blocks that are cut by others.
std::optional<Rotation> find_rotation(const Schedule& schedule, const Contract& contract);

/// The rest of the symmetry, if messages meet alike on all ranks; every message of `pairs` has its other side.
std::optional<Symmetry> find_symmetry(const Schedule& schedule, const Rotation& rotation, const Pairs& pairs);

}  // namespace isthmus::proof
