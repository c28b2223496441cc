// Whether a schedule does what it has to do, in every execution.
#pragma once

#include <cstdint>
#include <vector>

#include "proof/contract.hpp"
#include "proof/defects.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// The result of a proof.
struct Proof {
  std::vector<Defect> defects;  ///< the first ones
  std::uint64_t count = 0;      ///< all
  std::uint64_t operations = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes_checked = 0;  ///< of what must be there in the end
  bool by_symmetry = false;         ///< rank 0 was proved, and stands for all
  bool needs_eager = false;         ///< it ends only where sends do not wait for their receives
};

/// Proves that every execution of the schedule keeps the contract, or finds defects:
///   - messages meet in one way only, send and receive being of one size, and none is left;
///   - nothing waits for itself, even if every send waits for its receive;
///   - no two operations that may run at the same time use common bytes of which one writes;
///   - nothing is read that was not written, and what is combined are contributions of different ranks to the same
///     bytes of the vector, next to each other in the order of ranks where the contract asks for order;
///   - memory is used while its rank, or all ranks, are in the collective, as the contract asks (Sync);
///   - in the end everything holds what it must.
/// Memory and time grow with operations and with the parts that buffers fall into.
///
/// Where every rank does the same as rank 0, each at its place on the circle (find_rotation), and `symmetry` is set,
/// rank 0 is looked at alone. If that shows any defect, all ranks are.
///
/// Throws InvalidInput for a schedule that is none (check_arrays, check_acyclic), that does not name buffers, or whose
/// buffers are too small; Unsupported for receives from any rank whose message depends on time.
Proof prove(const Schedule& schedule, const Contract& contract, std::size_t most_defects = 10, bool symmetry = true);

}  // namespace isthmus::proof
