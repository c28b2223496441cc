#include "proof/prove.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "proof/execution.hpp"
#include "proof/local_order.hpp"
#include "proof/pairs.hpp"
#include "proof/races.hpp"
#include "proof/remote_races.hpp"
#include "proof/symmetry.hpp"
#include "proof/synchronisation.hpp"
#include "schedule/validate.hpp"

namespace isthmus::proof {
namespace {

/// The contract's bytes lie in the schedule's buffers.
void check_buffers(const Schedule& s, const Contract& contract, Rank ranks) {
  require(contract.ranks == s.ranks, "the schedule has ", s.ranks, " ranks, ", contract.name, " of ", contract.ranks,
          " is to be proved");
  const bool moves = std::any_of(s.ops.begin(), s.ops.end(),
                                 [](const Operation& op) { return op.kind != OpKind::calc && op.amount != 0; });
  require(!moves || !s.slices.empty(), "the operations of the schedule do not say which buffers they use");
  std::vector<Holding> holdings;
  for (Rank r = 0; r < ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    holdings.clear();
    contract.start(r, holdings);
    contract.end(r, holdings);
    for (const Holding& h : holdings) {
      if (h.bytes == 0) continue;
      const std::string& name = contract.buffers[h.buffer];
      const auto found = std::find(s.buffers.names.begin(), s.buffers.names.end(), name);
      require(found != s.buffers.names.end(), contract.name, " needs a buffer '", name, "' on rank ", r,
              ", which the schedule does not have");
      const auto number = static_cast<std::size_t>(found - s.buffers.names.begin());
      const std::uint64_t size = s.buffers.bytes[r * s.buffers.names.size() + number];
      require(h.offset <= size && h.bytes <= size - h.offset, contract.name, " needs bytes [", h.offset, ", ",
              h.offset + h.bytes, ") of buffer '", name, "' on rank ", r, ", which has ", size, " B");
    }
  }
}

/// Looks at rank 0 where it stands for all ranks: proved, or nothing is said.
std::optional<Proof> prove_by_symmetry(const Schedule& schedule, const Contract& contract) {
  const auto rotation = find_rotation(schedule, contract);
  if (!rotation) return std::nullopt;
  check_buffers(schedule, contract, 1);
  Defects defects(0);
  Pairs pairs(schedule);
  LocalOrder order;
  for (Rank r = 0; r < schedule.ranks; ++r) {
    if ((r & 0xFF) == 0) interruption_point();
    order.load(schedule, r);
    pairs.add(r, order, defects);
    if (r == 0 && !schedule.slices.empty()) Races(schedule).check(r, order, defects);
    if (defects.size() != 0) return std::nullopt;
  }
  pairs.match(defects);
  if (defects.size() != 0) return std::nullopt;
  const auto symmetry = find_symmetry(schedule, *rotation, pairs);
  if (!symmetry) return std::nullopt;
  Execution execution(*symmetry, contract, pairs, defects);
  if (!execution.run() || defects.size() != 0) return std::nullopt;
  Proof out;
  out.operations = schedule.ops.size();
  out.messages = pairs.messages();
  out.bytes_checked = execution.bytes_checked() * schedule.ranks;
  out.by_symmetry = true;
  return out;
}

}  // namespace

Proof prove(const Schedule& schedule, const Contract& contract, std::size_t most_defects, bool symmetry) {
  check_arrays(schedule);
  check_acyclic(schedule);
  const bool synchronised = asks_for_synchronisation(schedule, contract);
  if (symmetry && !synchronised) {
    if (auto proof = prove_by_symmetry(schedule, contract)) return *std::move(proof);
  }
  check_buffers(schedule, contract, schedule.ranks);
  Defects defects(most_defects);
  Proof out;
  out.operations = schedule.ops.size();
  {
    Pairs pairs(schedule);
    LocalOrder order;
    Races races(schedule);
    const bool remote = is_one_sided(schedule);
    for (Rank r = 0; r < schedule.ranks; ++r) {
      if ((r & 0xFF) == 0) interruption_point();
      order.load(schedule, r);
      pairs.add(r, order, defects);
      if (!schedule.slices.empty() && !remote) races.check(r, order, defects);
    }
    const std::uint64_t before = defects.size();
    pairs.match(defects);
    out.messages = pairs.messages();
    // With messages astray, what buffers hold tells nothing.
    if (defects.size() == before) {
      Execution execution(schedule, contract, pairs, defects);
      const bool ends = execution.run();
      if (remote && ends && !schedule.slices.empty()) check_remote_races(schedule, pairs, defects);
      if (synchronised && ends) check_synchronisation(schedule, contract, pairs, defects);
      out.bytes_checked = execution.bytes_checked();
      out.needs_eager = execution.needs_eager();
    }
  }
  out.count = defects.size();
  out.defects = defects.take();
  return out;
}

}  // namespace isthmus::proof
