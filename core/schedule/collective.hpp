// Input and output of a collective's generator. A generator answers for one rank at a time, by arithmetic
// on ranks only: it knows neither time nor the other ranks' operations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "schedule/builder.hpp"
#include "schedule/program.hpp"

namespace isthmus::schedule {

/// Options of an algorithm beside its call. The registry says which of these an algorithm takes, and puts in its
/// defaults; an algorithm that does not take one does not look at it.
struct AlgorithmOptions {
  std::uint32_t radix = 0;     ///< children of a node of a tree, base of numbers of ranks, ways of a barrier
  std::uint64_t segment = 0;   ///< bytes of a segment; 0: the whole at once
  std::uint32_t window = 0;    ///< messages under way at once; 0: all
  std::vector<Rank> dims;      ///< extents of a torus over which ranks lie, the last varying fastest
  std::vector<Rank> groups;    ///< one number: size of groups of consecutive ranks; else the group of every world rank
  std::uint64_t latency = 0;   ///< picoseconds, for what is best for given parameters of LogP
  std::uint64_t overhead = 0;  ///< picoseconds
  std::uint64_t gap = 0;       ///< picoseconds between two sends
};

/// Data that an algorithm computes once for all ranks of a call; each has its own.
struct Plan {
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  virtual ~Plan() = default;
};

/// One rank's view of one collective; see CollectiveKind for bytes and counts.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::barrier;
  Rank rank = 0;   ///< within the communicator
  Rank ranks = 1;  ///< of the communicator
  Rank root = 0;
  std::uint64_t bytes = 0;
  std::span<const std::int64_t> counts;  ///< empty: bytes everywhere
  /// Sums of the counts before each, and of all; of alltoall over both halves, of neighbor_alltoall none.
  std::span<const std::uint64_t> offsets;
  /// A rank's contribution is already in its output (MPI_IN_PLACE), see collectives/buffers.hpp.
  bool in_place = true;
  const AlgorithmOptions* options = nullptr;  ///< never null where a generator is called
  const Plan* plan = nullptr;                 ///< what the algorithm's Prepare returned
  std::span<const std::uint32_t> world;       ///< world ranks of the communicator's members; empty: the same numbers
};

/// Buffers of a collective: the same three on every rank.
enum CollectiveBuffer : std::uint32_t { input_buffer = 0, output_buffer = 1, scratch_buffer = 2 };
inline Slice at_input(std::uint64_t offset = 0) { return {input_buffer, 0, offset}; }
inline Slice at_output(std::uint64_t offset = 0) { return {output_buffer, 0, offset}; }
inline Slice at_scratch(std::uint64_t offset = 0) { return {scratch_buffer, 0, offset}; }
/// So many bytes further on.
inline Slice operator+(Slice slice, std::uint64_t bytes) {
  slice.offset += bytes;
  return slice;
}

/// Writes the operations of one rank of one collective into a RankBuilder: translates ranks of the communicator into
/// ranks of the world, and keeps the collective's messages apart from all others by communicator and tag.
class Emitter {
 public:
  /// `world`: world ranks of the communicator's members; empty means that both are the same. `buffers`: operations
  /// name them; otherwise slices are forgotten.
  Emitter(RankBuilder& out, std::span<const std::uint32_t> world, std::uint32_t comm, std::uint32_t tag,
          std::uint8_t cpu, bool buffers = false)
      : out_(&out), world_(world), comm_(comm), tag_(tag), cpu_(cpu), buffers_(buffers) {}
  /// Only counts.
  Emitter() = default;

  /// Appends an operation; returns its number on the rank.
  std::uint32_t send(Rank to, std::uint64_t bytes, Slice from = {}) {
    return out_ == nullptr ? count() : message(OpKind::send, to, bytes, from);
  }
  std::uint32_t recv(Rank from, std::uint64_t bytes, Slice to = {}) {
    return out_ == nullptr ? count() : message(OpKind::recv, from, bytes, to);
  }
  std::uint32_t copy(std::uint64_t bytes, Slice from = {}, Slice to = {}) { return copy(bytes, Slices{from, to}); }
  std::uint32_t copy(std::uint64_t bytes, const Slices& slices) {
    return out_ == nullptr ? count() : local(OpKind::copy, bytes, slices, ReduceOrder::after);
  }
  std::uint32_t reduce(std::uint64_t bytes, Slice from = {}, Slice to = {}, ReduceOrder order = ReduceOrder::after) {
    return out_ == nullptr ? count() : local(OpKind::reduce, bytes, {from, to}, order);
  }
  void require(std::uint32_t op, std::uint32_t on) {
    if (out_ != nullptr) out_->require(op, on);
    ++dependencies_;
  }
  /// On all from `first` to before `end`.
  void require(std::uint32_t op, std::uint32_t first, std::uint32_t end) {
    if (out_ != nullptr) out_->require(op, first, end);
    dependencies_ += end - first;
  }
  void require_start(std::uint32_t op, std::uint32_t on) {
    if (out_ != nullptr) out_->require_start(op, on);
    ++dependencies_;
  }

  /// Messages get this mode (a Flavour).
  void set_mode(std::uint8_t mode) { mode_ = mode; }

  /// Number of operations, of an emitter that only counts.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t dependencies() const { return dependencies_; }

  /// Bytes of scratch that operations have named so far; 0 without buffers.
  [[nodiscard]] std::uint64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  std::uint32_t count() { return static_cast<std::uint32_t>(operations_++); }
  std::uint32_t message(OpKind kind, Rank peer, std::uint64_t bytes, Slice slice);
  std::uint32_t local(OpKind kind, std::uint64_t bytes, const Slices& slices, ReduceOrder order);
  void use(const Slice& slice, std::uint64_t bytes);

  RankBuilder* out_ = nullptr;
  std::span<const std::uint32_t> world_;
  std::uint32_t comm_ = 0;
  std::uint32_t tag_ = 0;
  std::uint8_t cpu_ = 0;
  bool buffers_ = false;
  std::uint8_t mode_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t dependencies_ = 0;
  std::uint64_t scratch_bytes_ = 0;
};

/// Writes the operations of call.rank. Whatever it leaves without a dependant is what the collective ends with;
/// whatever it leaves without a dependency starts with the call.
using Generator = std::function<void(const CollectiveCall& call, Emitter& out)>;

/// Data that a generator needs besides rank arithmetic, such as a tree that is best for given parameters; call.rank and
/// call.counts are not to be looked at. May refuse the call with InvalidInput.
using Prepare = std::function<std::shared_ptr<const Plan>(const CollectiveCall& call)>;

/// A generator with its options.
struct Algorithm {
  Algorithm() = default;
  Algorithm(Generator written_by) : generate(std::move(written_by)) {}  // NOLINT(google-explicit-constructor)
  Algorithm(Generator written_by, Prepare prepared_by, AlgorithmOptions chosen)
      : generate(std::move(written_by)), prepare(std::move(prepared_by)), options(std::move(chosen)) {}

  Generator generate;
  Prepare prepare;  ///< empty: nothing to prepare
  AlgorithmOptions options;
  bool concurrent = false;  ///< the generator may be called from several threads at once

  /// The call with this algorithm's options; keep the plan as long as the call.
  [[nodiscard]] std::shared_ptr<const Plan> attach(CollectiveCall& call) const {
    call.options = &options;
    std::shared_ptr<const Plan> plan = prepare ? prepare(call) : nullptr;
    call.plan = plan.get();
    return plan;
  }
  /// The operations of one rank alone.
  void operator()(CollectiveCall call, Emitter& out) const {
    const std::shared_ptr<const Plan> plan = attach(call);
    generate(call, out);
  }
};

}  // namespace isthmus::schedule
