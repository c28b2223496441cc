// The Schedule: a DAG of operations per rank. Whatever produces communication ends here, whatever consumes it starts
// here.
//
// Operations of a rank are contiguous and numbered from 0 within it; independent ones are posted in this order. An edge
// leads from an operation to a dependant of the same rank; dependants of an operation are contiguous too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/pages.hpp"

namespace isthmus::schedule {

using Rank = std::uint32_t;

/// Kinds of operations. Numbers are those of binary GOAL files where GOAL has the operation.
enum class OpKind : std::uint8_t { send = 1, recv = 2, calc = 3, put = 4, get = 5, copy = 6, reduce = 7 };
inline constexpr int op_kinds = 8;  ///< one more than the largest OpKind

/// The name users spell.
const char* name_of(OpKind kind);

inline constexpr Rank any_rank = 0xFFFFFFFF;          ///< peer of a receive from whoever sends
inline constexpr std::uint32_t any_tag = 0xFFFFFFFF;  ///< tag of a receive of whatever tag

/// One operation; 32 bytes, so that two share a cache line.
struct Operation {
  std::uint64_t amount = 0;      ///< bytes; calc: picoseconds
  std::uint32_t peer = 0;        ///< the other rank of send, recv, put, get; otherwise 0
  std::uint32_t tag = 0;         ///< of send and recv
  std::uint32_t comm = 0;        ///< communicator: messages match within one only
  std::uint32_t first_edge = 0;  ///< its first dependant, counted from the first edge of the rank
  std::uint32_t needs = 0;       ///< number of operations (full and start dependencies) that it waits for
  OpKind kind = OpKind::calc;
  std::uint8_t cpu = 0;   ///< CPU stream of the rank
  std::uint8_t nic = 0;   ///< network interface
  std::uint8_t mode = 0;  ///< of a reduce a ReduceOrder, of a send a Protocol, otherwise 0
};
static_assert(sizeof(Operation) == 32);

/// Which operand of a reduction comes first; it matters where the operator does not commute.
enum class ReduceOrder : std::uint8_t {
  after = 0,   ///< to = to (+) from
  before = 1,  ///< to = from (+) to
};

/// How a message is sent.
enum class Protocol : std::uint8_t { by_size = 0, eager = 1, rendezvous = 2 };

/// One dependant: its number within the rank, and whether it may start when the operation has started (GOAL's
/// irequires) or only when it is done (requires).
class Edge {
 public:
  static constexpr std::uint32_t start_bit = 0x80000000;
  Edge() = default;
  Edge(std::uint32_t to, bool on_start) : bits_(to | (on_start ? start_bit : 0)) {}
  [[nodiscard]] std::uint32_t to() const { return bits_ & ~start_bit; }
  [[nodiscard]] bool on_start() const { return (bits_ & start_bit) != 0; }

 private:
  std::uint32_t bits_;
};
static_assert(sizeof(Edge) == 4);

/// Most operations of one rank.
inline constexpr std::uint32_t max_rank_ops = 0x7FFFFFFF;

/// A part of a buffer of the rank (of the target's for the far side of put and get); its length is the amount.
struct Slice {
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t buffer = none;
  std::int32_t stride = 0;   ///< of a copy in blocks: blocks from the beginning of one to that of the next; not 0
  std::uint64_t offset = 0;  ///< bytes; of the first block
};

/// Where the bytes of an operation come from and go to; one for every operation of a schedule, or none at all.
///
/// A copy may move its bytes in blocks of one size, but for a shorter last one, which are as far from each other on
/// each side as the stride there says (MPI_Type_vector): what packs a message or takes it apart is one operation.
struct Slices {
  Slice from;               ///< send, put, copy, reduce; get: on the peer
  Slice to;                 ///< recv, get, copy, reduce; put: on the peer
  std::uint64_t block = 0;  ///< bytes; 0: all in one piece
};

/// Calls f(offset, bytes) for the blocks on one side of an operation of so many bytes, in their order.
template <class F>
void each_block(const Slice& side, std::uint64_t block, std::uint64_t bytes, const F& f) {
  if (block == 0) return f(side.offset, bytes);
  const std::uint64_t step = static_cast<std::uint64_t>(std::int64_t{side.stride}) * block;  // modulo 2^64
  for (std::uint64_t offset = side.offset; bytes != 0; offset += step) {
    const std::uint64_t now = std::min(block, bytes);
    f(offset, now);
    bytes -= now;
  }
}

/// Buffers of a schedule: the same names on every rank, sizes of each rank's own.
struct Buffers {
  std::vector<std::string> names;
  std::vector<std::uint64_t> bytes;  ///< of buffer b on rank r at [r * names.size() + b]
};

/// A schedule as four arrays, and the slices where its operations name buffers.
struct Schedule {
  Rank ranks = 0;
  std::vector<std::uint64_t> op_first{0};    ///< ranks + 1: the first operation of each rank
  std::vector<std::uint64_t> edge_first{0};  ///< ranks + 1: the first edge of each rank
  UnsetVector<Operation> ops;
  UnsetVector<Edge> edges;
  Buffers buffers;
  UnsetVector<Slices> slices;  ///< as long as ops, or empty

  [[nodiscard]] std::span<const Operation> ops_of(Rank rank) const {
    return {ops.data() + op_first[rank], ops.data() + op_first[rank + 1]};
  }
  [[nodiscard]] std::uint32_t ops_in(Rank rank) const {
    return static_cast<std::uint32_t>(op_first[rank + 1] - op_first[rank]);
  }
  /// Dependants of operation `index` of `rank`.
  [[nodiscard]] std::span<const Edge> dependants(Rank rank, std::uint32_t index) const {
    const std::uint64_t at = op_first[rank] + index;
    const Edge* base = edges.data() + edge_first[rank];
    const Edge* end = at + 1 < op_first[rank + 1] ? base + ops[at + 1].first_edge : edges.data() + edge_first[rank + 1];
    return {base + ops[at].first_edge, end};
  }
};

}  // namespace isthmus::schedule
