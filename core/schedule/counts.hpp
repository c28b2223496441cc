// The counts of collectives whose ranks contribute differently.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "schedule/collective.hpp"

namespace isthmus {

/// Does the collective have a root?
inline bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::bcast || kind == CollectiveKind::reduce || kind == CollectiveKind::gather ||
         kind == CollectiveKind::scatter;
}

/// Checks counts, the last list only once: ranks often share one.
class Counts {
 public:
  /// Why call.bytes and call.counts are wrong, or nothing. `deciding`: the bytes by which an algorithm is chosen.
  std::string check(const CollectiveCall& call, std::uint64_t& deciding);

 private:
  static std::string wrong(const CollectiveCall& call, std::uint64_t& deciding);

  CollectiveCall last_;
  std::uint64_t last_deciding_ = 0;
};

}  // namespace isthmus
