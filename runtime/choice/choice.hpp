// An algorithm with its options as tables and callers write it: `knomial,radix=4,segment=8192`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/registry.hpp"
#include "schedule/collective.hpp"

namespace isthmus::runtime {

/// What ranks wait for when they enter a collective, and when they leave it.
enum class Sync : std::uint8_t { none, my, all };

/// A mode of synchronisation: those of entry and exit.
struct Mode {
  Sync enter = Sync::my, leave = Sync::my;

  bool operator==(const Mode&) const = default;
};

/// The mode of words as tables and options write it: `none`, `all-my`. Throws InvalidInput.
Mode read_mode(std::string_view text);
/// One word where both are the same.
std::string words_of(Mode mode);

/// How blocks move where ranks share memory; any: as is usual.
enum class Access : std::uint8_t { any, message, put, get };

struct Choice {
  std::string name;  ///< empty: the default
  collectives::GivenOptions options;
  bool enter_all = false, leave_all = false;  ///< barriers around it, of `sync=all`, `sync=all-my` and the like
  Access access = Access::any;

  bool operator==(const Choice&) const = default;
};

/// What a table says where it leaves the decision to the library that asks.
inline constexpr std::string_view left_open = "library";

/// Reads the form above; extents are joined by `x`, times are seconds. `protocol` says how messages travel, which is
/// the transport's business here, and is left out; so is what `sync` has beside `all`: callers say how loose they are.
/// Throws InvalidInput.
Choice read_choice(std::string_view text);

/// The algorithm for elements of so many bytes: segments, which are given in bytes, count elements then. Throws
/// InvalidInput with the allowed names where there is no such algorithm or option.
schedule::Algorithm algorithm_of(schedule::CollectiveKind kind, const Choice& choice, std::uint64_t element_bytes);

/// Are operands combined in the order of ranks?
bool keeps_order(schedule::CollectiveKind kind, const Choice& choice);

}  // namespace isthmus::runtime
