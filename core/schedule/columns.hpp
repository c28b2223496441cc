// Schedules from columns: one element per operation in whatever order, and pairs of dependencies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace isthmus::schedule {

/// A column of numbers; one of a single element holds for all operations.
template <class T>
class Column {
 public:
  Column() = default;
  explicit Column(std::span<const T> values) : data_(values.data()), mask_(values.size() == 1 ? 0 : ~std::size_t{0}) {}
  T operator[](std::size_t index) const { return data_[index & mask_]; }

 private:
  const T* data_ = nullptr;
  std::size_t mask_ = 0;
};

/// The mode of operations for which none is given.
inline constexpr std::uint8_t standard_mode = 0;

/// Operations in any order of ranks; those of one rank keep the order in which they are given.
struct OperationColumns {
  std::uint64_t count = 0;
  Column<std::uint32_t> rank;
  Column<std::uint8_t> kind;
  Column<std::uint64_t> amount;
  std::span<const double> seconds;  ///< one element for all, or one each: replaces the amount of calc; empty: not given
  Column<std::uint32_t> peer;       ///< looked at for send, recv, put, get only
  Column<std::uint32_t> tag;        ///< looked at for send and recv only
  Column<std::uint32_t> comm;       ///< looked at for send, recv, put, get only
  Column<std::uint8_t> cpu;
  Column<std::uint8_t> nic;
  Column<std::uint8_t> mode{std::span(&standard_mode, 1)};  ///< looked at for send and reduce only
  std::span<const Slices> slices;                           ///< one each, or empty
};

/// Operation op[i] waits for operation on[i], numbered as in OperationColumns; until it has started where start[i] !=
/// 0, else until it is done.
struct DependencyColumns {
  std::span<const std::uint64_t> op;
  std::span<const std::uint64_t> on;
  Column<std::uint8_t> start;
};

/// Where things of ranks given in any order stand when sorted by rank.
struct RankOrder {
  std::vector<std::uint64_t> first;  ///< ranks + 1: the first one of each rank
  std::vector<std::int64_t> order;   ///< which one is first, second, ...; those of one rank keep their order
};

/// Sorts by rank, in linear time. Throws InvalidInput for a rank out of range.
RankOrder order_by_rank(Rank ranks, std::span<const Rank> rank);

/// A schedule of these operations, in time and memory proportional to them. Throws InvalidInput for a rank, peer, kind,
/// tag, time, buffer or dependency out of range; does not look for cycles, see validate().
Schedule schedule_of(Rank ranks, const OperationColumns& ops, const DependencyColumns& dependencies, Buffers buffers);

/// The schedule with rank r called to[r]; `to` is a permutation of the ranks, or InvalidInput is thrown.
Schedule relabel(const Schedule& schedule, std::span<const Rank> to);

}  // namespace isthmus::schedule
