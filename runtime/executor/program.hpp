// One rank's part of a schedule in the form in which it is carried out: flat, with buffers by number and offset, so
// that it is made once and bound to buffers whenever it starts.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::runtime {

/// One operation: a line of cache.
struct alignas(64) Step {
  std::uint64_t amount = 0;  ///< bytes; calc: picoseconds
  std::uint64_t from = 0;    ///< offset in its buffer
  std::uint64_t to = 0;
  std::uint64_t block = 0;       ///< of a copy in blocks; 0: in one piece. Of a reduction: offset of its other operand
  std::int32_t from_stride = 0;  ///< in blocks
  std::int32_t to_stride = 0;
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;
  std::uint32_t comm = 0;
  std::uint32_t first_edge = 0;
  std::uint8_t from_buffer = 0;
  std::uint8_t to_buffer = 0;
  schedule::OpKind kind = schedule::OpKind::calc;
  schedule::ReduceOrder order = schedule::ReduceOrder::after;
  /// A number plus 1, or 0 where there is none. Of a receive: the reduction that may take its bytes as they arrive. Of
  /// a reduction: the buffer of the operand that is combined with `from`, if that is not `to` itself.
  std::uint32_t pair = 0;
};
static_assert(sizeof(Step) == 64);

/// Immutable; any number of executions may go on with it at once.
struct Program {
  /// Of a step that has no bytes on one side.
  static constexpr std::uint8_t no_buffer = 0xFF;

  std::vector<Step> steps;
  std::vector<schedule::Edge> edges;   ///< dependants of step i: from first_edge of i to that of i + 1
  std::vector<std::uint32_t> needs;    ///< how many operations each step waits for
  std::vector<std::uint32_t> first;    ///< steps that wait for nothing, in their order
  std::vector<std::uint64_t> buffers;  ///< bytes that each buffer needs

  [[nodiscard]] std::uint32_t end_of_edges(std::size_t step) const {
    return step + 1 < steps.size() ? steps[step + 1].first_edge : static_cast<std::uint32_t>(edges.size());
  }
};

/// Throws InvalidInput for operations without buffers that move bytes, more than 254 buffers, receives with wildcards,
/// and, unless they are allowed, puts and gets: of them the buffer and the offset on one side are those of the peer.
Program program_of(const schedule::Schedule& schedule, schedule::Rank rank, bool accesses = false);

}  // namespace isthmus::runtime
