// The contract of a schedule: contents of its buffers at the start, and those required at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proof/contributions.hpp"
#include "schedule/collective.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// Bytes of a buffer that hold, or must hold, the contributions of some ranks, combined, from byte `origin` of each
/// rank's contribution on.
struct Holding {
  std::uint32_t buffer = 0;  ///< of Contract::buffers
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t origin = 0;
  RankRange ranks;  ///< one at the start
};

/// Ranks renamed round the circle, rank r to r + 1, and with them the bytes of buffers and the places of contributions:
/// each turns by so many bytes, all of it being as many blocks as there are ranks. 0: it stays.
struct Rotation {
  std::vector<std::uint64_t> buffers;  ///< of Contract::buffers
  std::uint64_t origin = 0;
};

/// What the ranks of a collective wait for when they enter it and when they leave it, as they come and go at any times.
enum class Sync : std::uint8_t {
  none,  ///< nothing: memory is used before its rank has entered, and after it has left
  my,    ///< memory of a rank is used after it has entered and before it leaves
  all,   ///< no memory is used before all ranks have entered, or after one has left
};
/// Throws InvalidInput.
Sync sync_of(const std::string& name);

/// Functions add the holdings of one rank to a list that they are given.
struct Contract {
  using Holdings = std::function<void(Rank rank, std::vector<Holding>& out)>;
  std::string name;                   ///< for messages
  Rank ranks = 0;                     ///< of the schedules that it is about
  std::vector<std::string> buffers;   ///< the names that holdings number
  Holdings start;                     ///< everything else is unwritten
  Holdings end;                       ///< everything else may hold anything
  std::vector<std::string> constant;  ///< names of buffers that must not be written
  bool ordered = false;  ///< contributions are combined in the order of ranks: (0 + 1) + (2 + 3), not 0 + 2
  Sync enter = Sync::none, leave = Sync::none;
  bool synchronizes = false;        ///< no rank is done before every rank has begun
  std::vector<Rotation> rotations;  ///< those known under which it stays the same: what rank 0 holds says all
};

/// The contract of a collective, in the buffers "input" and "output" of collectives/buffers.hpp. `call.rank` is
/// ignored; `call.counts` are those of collective_schedule. `ordered`: for operators that do not commute. Throws
/// InvalidInput for counts that do not fit.
Contract contract_of(const CollectiveCall& call, bool ordered);

}  // namespace isthmus::proof
