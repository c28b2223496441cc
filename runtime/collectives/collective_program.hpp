// One rank's part of a collective, made for that rank alone: what it costs does not grow with the number of ranks, but
// for algorithms whose own part does.
#pragma once

#include "runtime/executor/program.hpp"
#include "schedule/collective.hpp"

namespace isthmus::runtime {

/// What is carried out around a collective, in the same program.
struct Around {
  const schedule::Algorithm* before = nullptr;  ///< a barrier; null: there is none
  const schedule::Algorithm* after = nullptr;
  bool apart = false;  ///< of bcast: the vector of the root is its input, which is copied to its output
};

/// Buffers are those of collectives/buffers.hpp: input, output and scratch. Sizes of `call`, its counts, which are the
/// rank's own, and segments among the options are those of elements of so many bytes, which no message takes apart.
/// Messages are kept apart from those of other groups of ranks by `comm`. Throws InvalidInput as the algorithm does.
Program collective_program(const schedule::CollectiveCall& call, const schedule::Algorithm& algorithm,
                           std::uint64_t element_bytes, std::uint32_t comm = 0, const Around& around = {});

}  // namespace isthmus::runtime
