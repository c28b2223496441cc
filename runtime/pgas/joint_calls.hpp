// What the calls of collectives on a space have in common.
#pragma once

#include <isthmus/isthmus_pgas.h>

#include <cstdint>

#include "runtime/pgas/space.hpp"

namespace isthmus::runtime {

/// A manner as it is meant.
struct Manner {
  isthmus_team& team;
  Board* board;  ///< null: by messages
  isthmus_sync enter, leave;
  const char* algorithm;
  isthmus_event* event;

  /// A call of so many bytes, as a message of each size is.
  [[nodiscard]] isthmus_call call(isthmus_kind kind, std::uint64_t bytes = 0, std::uint32_t root = 0) const;
};

/// Throws InvalidInput.
Manner manner_of(isthmus_space& space, const char* name, const isthmus_manner* given);

/// So many blocks at an offset of this rank. Throws InvalidInput.
char* blocks_at(isthmus_space& space, const char* name, std::uint64_t offset, std::uint64_t blocks,
                std::uint64_t bytes);

/// Throws InvalidInput where the two have bytes in common.
void apart(const char* name, std::uint64_t to, std::uint64_t to_bytes, std::uint64_t from, std::uint64_t from_bytes);

}  // namespace isthmus::runtime
