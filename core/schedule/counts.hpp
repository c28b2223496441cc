// The counts of collectives whose ranks contribute differently.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedule/collective.hpp"

namespace isthmus::schedule {

/// Does the collective have a root?
inline bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::bcast || kind == CollectiveKind::reduce || kind == CollectiveKind::gather ||
         kind == CollectiveKind::scatter;
}

/// Checks counts, the last list only once: ranks often share one.
class Counts {
 public:
  /// Why call.bytes and call.counts are wrong, or nothing. `deciding`: the bytes by which an algorithm is chosen.
  /// Gives the call its offsets, which are good until the next call.
  std::string check(CollectiveCall& call, std::uint64_t& deciding);
  /// Forgets the last list: another one may be at the same address.
  void forget() { last_ = {}; }

 private:
  static std::string wrong(const CollectiveCall& call, std::uint64_t& deciding);

  CollectiveCall last_;
  std::uint64_t last_deciding_ = 0;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace isthmus::schedule
