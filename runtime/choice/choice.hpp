// An algorithm with its options as tables and callers write it: `knomial,radix=4,segment=8192`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/registry.hpp"
#include "schedule/collective.hpp"

namespace isthmus::runtime {

struct Choice {
  std::string name;  ///< empty: the default
  collectives::GivenOptions options;
  bool enter_all = false, leave_all = false;  ///< barriers around it, of `sync=all`, `sync=all-my` and the like

  bool operator==(const Choice&) const = default;
};

/// What a table says where it leaves the decision to the library that asks.
inline constexpr std::string_view left_open = "library";

/// Reads the form above; extents are joined by `x`, times are seconds. `access` and `protocol` say how messages travel,
/// which is the transport's business here, and are left out; so is what `sync` has beside `all`, as messages are taken
/// by who has entered. Throws InvalidInput.
Choice read_choice(std::string_view text);

/// The algorithm for elements of so many bytes: segments, which are given in bytes, count elements then. Throws
/// InvalidInput with the allowed names where there is no such algorithm or option.
schedule::Algorithm algorithm_of(schedule::CollectiveKind kind, const Choice& choice, std::uint64_t element_bytes);

/// Are operands combined in the order of ranks?
bool keeps_order(schedule::CollectiveKind kind, const Choice& choice);

}  // namespace isthmus::runtime
