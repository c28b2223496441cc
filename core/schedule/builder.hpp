// Building schedules rank by rank: memory stays at one rank's dependencies beside the schedule itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::schedule {

class ScheduleBuilder;

/// The operations of one rank while they are being written.
class RankBuilder {
 public:
  RankBuilder() = default;
  RankBuilder(RankBuilder&&) = default;
  RankBuilder& operator=(RankBuilder&&) = default;

  /// Appends an operation (its first_edge and needs are set later); returns its number within the rank.
  std::uint32_t add(const Operation& operation) {
    next() = operation;
    return size() - 1;
  }
  std::uint32_t add(const Operation& operation, const Slices& slices) {
    next() = operation;
    this->slices() = slices;
    return size() - 1;
  }
  /// Appends an operation that is still to be filled in: there and then, since to copy 16 bytes that were just written
  /// one by one takes longer than all the rest.
  Operation& next() {
    if (size_ == room_) grow();
    if (slices_ != nullptr) slices_[size_] = Slices{};
    return ops_[size_++] = Operation{};
  }
  /// Slices of the last operation.
  Slices& slices() {
    if (slices_ == nullptr) start_slices();
    return slices_[size_ - 1];
  }
  /// `op` starts only after `on` is done; both exist already. The order of the two does not matter, acyclicity is
  /// checked by validate().
  void require(std::uint32_t op, std::uint32_t on) { dependencies_.push_back({on, Edge(op, false)}); }
  /// On all from `first` to before `end`.
  void require(std::uint32_t op, std::uint32_t first, std::uint32_t end) {
    const std::size_t before = dependencies_.size();
    dependencies_.resize(before + (end - first));
    for (Dependency* out = dependencies_.data() + before; first < end; ++first) *out++ = {first, Edge(op, false)};
  }
  /// `op` starts only after `on` has started.
  void require_start(std::uint32_t op, std::uint32_t on) { dependencies_.push_back({on, Edge(op, true)}); }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }
  [[nodiscard]] const Operation& operator[](std::uint32_t op) const { return ops_[op]; }
  void set_mode(std::uint32_t op, std::uint8_t mode) { ops_[op].mode = mode; }
  /// `edge.to()` depends on `on`.
  struct Dependency {
    std::uint32_t on;
    Edge edge;
  };
  /// All so far, in the order in which they were written.
  [[nodiscard]] std::span<const Dependency> dependencies() const { return dependencies_; }
  /// Forgets everything but its memory.
  void clear();

 private:
  friend class ScheduleBuilder;
  /// Operations are written there as long as there is room; `slices` may be null.
  void place(Operation* ops, Slices* slices, std::uint64_t room);
  void grow();
  void start_slices();
  /// In first_edge and needs; throws InvalidInput as append() says.
  void count_dependants(Rank rank);

  Operation* ops_ = nullptr;  // in own_ops_, or where they were placed
  Slices* slices_ = nullptr;  // the same, or null
  std::uint64_t size_ = 0;
  std::uint64_t room_ = 0;
  std::vector<Operation> own_ops_;
  std::vector<Slices> own_slices_;
  UnsetVector<Dependency> dependencies_;
};

/// Puts ranks together in their order, or in parts whose lengths are known beforehand, each in its order; several
/// threads may each write other parts.
class ScheduleBuilder {
 public:
  struct Part {
    Rank ranks = 0;
    std::uint64_t ops = 0;
    std::uint64_t edges = 0;
  };

  ScheduleBuilder() = default;
  /// `slices`: operations name buffers.
  ScheduleBuilder(std::span<const Part> parts, bool slices);
  /// Room for so many operations and edges, where they are known beforehand.
  void reserve(std::uint64_t ops, std::uint64_t edges);
  void set_buffers(Buffers buffers) { schedule_.buffers = std::move(buffers); }
  /// Appends the next rank and clears `rank` for the one after it. Throws InvalidInput for a dependency on an operation
  /// that does not exist or on itself, and for more than max_rank_ops operations.
  void append(RankBuilder& rank);
  /// Operations written to an empty `rank` are the next rank of a part, to be appended there without a move.
  void begin(std::size_t part, RankBuilder& rank);
  /// Appends the next rank of a part; throws InvalidInput too if the part then is longer than was said.
  void append(std::size_t part, RankBuilder& rank);
  /// The schedule of all ranks appended; the builder is empty afterwards. Does not validate(). Throws InvalidInput for
  /// parts that are shorter than was said.
  Schedule build();

 private:
  struct Place {
    Rank rank = 0;
    std::uint64_t op = 0;
    std::uint64_t edge = 0;
  };
  /// The next rank and the end of the part; on a cache line of its own, as threads write them all the time.
  struct alignas(64) Progress {
    Place next;
    Place end;
  };
  void write(Place place, RankBuilder& rank);

  Schedule schedule_;
  std::vector<Progress> parts_;
};

}  // namespace isthmus::schedule
