// Operations of a rank that use the same bytes at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "proof/accesses.hpp"
#include "proof/defects.hpp"
#include "proof/local_order.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::proof {
using namespace schedule;

/// Looks for pairs of operations of one rank that use common bytes, of which one writes, and neither of which is done
/// before the other begins by the dependencies of the rank. That a message came back, so that an earlier one must have
/// left, is not counted: MPI does not either, a buffer is free when its own operation is done.
class Races {
 public:
  explicit Races(const Schedule& schedule) : schedule_(schedule), buffers_(schedule.buffers.names.size()) {}
  void check(Rank rank, LocalOrder& order, Defects& defects);

 private:
  const Schedule& schedule_;
  std::vector<Accesses> buffers_;
  std::vector<bool> written_;  // which of them the rank writes
};

}  // namespace isthmus::proof
