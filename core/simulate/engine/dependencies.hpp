// Dependencies still to come, packed so that freeing the next operations of a rank touches one cache line.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/pages.hpp"
#include "base/prefetch.hpp"
#include "schedule/schedule.hpp"

namespace isthmus::simulate {
using namespace schedule;

/// Properties of a whole schedule that a simulation needs.
struct Shape {
  std::uint32_t cpus = 1;               ///< CPU streams of a rank
  std::uint32_t nics = 1;               ///< interfaces of a rank
  bool receives_free_on_start = false;  ///< does anything wait for a receive to be posted?
  bool wildcards = false;               ///< is there a receive from any rank or of any tag?
  bool one_sided = false;               ///< is there a put or get?
  bool rendezvous = false;              ///< is a send by rendezvous whatever its size?
  std::uint64_t largest_send = 0;       ///< bytes, of those that are eager or not by their size
};

/// The dependencies of a schedule that have not been fulfilled yet. Operations are indices into Schedule::ops.
class Dependencies {
 public:
  explicit Dependencies(const Schedule& schedule);

  [[nodiscard]] const Shape& shape() const { return shape_; }

  enum Phase : unsigned { started = 1, done = 2 };

  /// Writes the dependants that the operation frees by the phases it has just reached, at most two; false where
  /// release() has to look them up in the schedule.
  bool release_few(std::uint64_t op, unsigned phases, std::uint64_t (&ready)[2], int& count) {
    const Work w = work_[op];
    count = 0;
    const unsigned dependants = w.bits >> count_at & 3U;
    if (dependants == 0) return true;
    if (dependants == many) return false;
    const std::uint64_t first = op + static_cast<std::uint64_t>(std::int64_t{w.first});
    if ((phases & w.bits >> first_phase_at) != 0 && fulfil(first)) ready[count++] = first;
    if (dependants == 1) return true;
    const std::uint64_t second = op + static_cast<std::uint64_t>(std::int64_t{w.second});
    if ((phases & w.bits >> second_phase_at) != 0 && fulfil(second)) ready[count++] = second;
    return true;
  }
  /// Calls ready(operation) for each dependant that the operation of `rank` frees by the phases it has just reached.
  template <class Callback>
  void release(Rank rank, std::uint64_t op, unsigned phases, Callback&& ready) {
    if ((work_[op].bits >> count_at & 3U) == many) {
      const auto index = static_cast<std::uint32_t>(op - schedule_->op_first[rank]);
      for (const Edge e : schedule_->dependants(rank, index))
        if ((phases & (e.on_start() ? started : done)) != 0 && fulfil(op - index + e.to())) ready(op - index + e.to());
      return;
    }
    std::uint64_t few[2];
    int found = 0;
    release_few(op, phases, few, found);
    for (int i = 0; i < found; ++i) ready(few[i]);
  }
  /// The same, first for those that it frees by having started: ready(operation, phase).
  template <class Callback>
  void release_by_phase(Rank rank, std::uint64_t op, unsigned phases, Callback&& ready) {
    const std::uint64_t first = schedule_->op_first[rank];
    for (const Phase phase : {started, done}) {
      if ((phases & phase) == 0) continue;
      for (const Edge e : schedule_->dependants(rank, static_cast<std::uint32_t>(op - first)))
        if (e.on_start() == (phase == started) && fulfil(first + e.to())) ready(first + e.to(), phase);
    }
  }
  /// Does it free one operation by starting and another by being done?
  [[nodiscard]] bool frees_by_both(std::uint64_t op) const {
    const std::uint16_t bits = work_[op].bits;
    return (bits >> count_at & 3U) == 2 && (bits >> first_phase_at & 3U) != (bits >> second_phase_at & 3U);
  }
  /// Does the operation wait for others?
  [[nodiscard]] bool waits(std::uint64_t op) const { return work_[op].needs != 0; }
  /// For how many operations it waits.
  [[nodiscard]] std::uint32_t needs(std::uint64_t op) const {
    return work_[op].needs == too_many ? more_needs_.at(op) : work_[op].needs;
  }
  [[nodiscard]] OpKind kind(std::uint64_t op) const { return static_cast<OpKind>(work_[op].bits & 15U); }
  void prefetch(std::uint64_t op) const { prefetch_line(work_.data() + op); }
  /// Does it set many operations free, which stand in the schedule?
  [[nodiscard]] bool has_many(std::uint64_t op) const { return (work_[op].bits >> count_at & 3U) == many; }

 private:
  static constexpr std::uint16_t too_many = 0xFFFF;  // needs: the number stands in more_needs_
  static constexpr unsigned many = 3;                // count: the dependants stand in the schedule
  static constexpr unsigned count_at = 4, first_phase_at = 6, second_phase_at = 8;

  struct Work {
    std::uint16_t needs;
    std::int16_t first;  // dependant, counted from the operation itself
    std::int16_t second;
    std::uint16_t bits;  // kind, number of dependants, the phase that frees each
  };

  bool fulfil(std::uint64_t op) {
    std::uint16_t& needs = work_[op].needs;
    return needs == too_many ? fulfil_one_of_many(op) : --needs == 0;
  }
  bool fulfil_one_of_many(std::uint64_t op);

  const Schedule* schedule_;
  Shape shape_;
  LargeVector<Work> work_;
  std::unordered_map<std::uint64_t, std::uint32_t> more_needs_;
};

}  // namespace isthmus::simulate
